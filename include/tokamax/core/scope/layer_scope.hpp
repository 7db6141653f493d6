// tokamax/core/scope/layer_scope.hpp: names the nodes of a layer by the path of the layer in its model.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>  // trace_of

namespace tokamax {

namespace detail {
/// Finds the first leaf of a tree, and in `levels` the number of parts of its path. False if there is none. (Pointers to members
/// of temporary objects are no constant expressions for g++ 13 when they are compared.)
template <class Tree>
constexpr bool first_leaf(const Tree& tree, array& leaf, int& levels) {
  constexpr tree_kind kind = kind_of<Tree>;
  bool found = false;
  if constexpr (kind == tree_kind::leaf) {
    leaf = tree;
    found = true;
  } else {
    for_each_child(
        [&](const auto& child) {
          if constexpr (kind_of<std::remove_cvref_t<decltype(child)>> != tree_kind::constant)
            if (!found) found = first_leaf(child, leaf, levels);
        },
        tree);
    if (found && (kind == tree_kind::record || kind == tree_kind::sequence || kind == tree_kind::map)) ++levels;
  }
  return found;
}
}  // namespace detail

/// Gives the nodes that are traced during its lifetime the path of a layer in the model that is being traced, such as
/// `blocks[3].attend`. A layer makes one at the beginning of its call:
///
///   constexpr array operator()(const array& x) const {
///     const layer_scope scope(*this, x);
///     ...
///
/// The path is that of the arrays of the layer among the arguments of the traced function, so nobody writes it down. It follows
/// the name of a `named_scope` around the outermost layer. A layer without arrays, or with arrays that are no arguments,
/// leaves the scope as it is. Layers of this library do this themselves, and so only layers with operations of their own need
/// it. Eager calls ignore it.
/// source  flax.nnx: module paths in jax.named_scope
class layer_scope {
 public:
  template <class Layer, class... Trees>
  constexpr explicit layer_scope(const Layer& it, const Trees&... arrays) {
    int levels = 0;
    array leaf;
    if (!detail::first_leaf(it, leaf, levels) || !leaf.trace()) return;
    graph* const g = trace_of(leaf, arrays...);
    if (!g || g->floating) return;
    const int path = detail::leaf_path_in(*g, leaf);
    if (!path) return;
    graph_ = g;
    before_ = g->scope;
    root_before_ = g->around_layers;
    if (g->around_layers < 0) g->around_layers = g->scope.name;
    g->scope.name = g->names.join(g->around_layers, g->names.around(path, levels));
  }
  constexpr ~layer_scope() {
    if (!graph_) return;
    graph_->scope = before_;
    graph_->around_layers = root_before_;
  }
  layer_scope(const layer_scope&) = delete;

 private:
  graph* graph_ = nullptr;
  node_scope before_;
  int root_before_ = -1;
};

}  // namespace tokamax
