// tokamax/nn/stacked.hpp: equal layers as one, with a leading axis on their arrays and a loop over it.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs with few layers pass it by)
#pragma once

#include <tokamax/core/leaf_kind.hpp>                // is_parameter
#include <tokamax/core/scope/leaf_path.hpp>          // leaf_path_in
#include <tokamax/nn/initializers/init.hpp>          // initialized
#include <tokamax/numpy/arange.hpp>                  // arange
#include <tokamax/transforms/control_flow/scan.hpp>  // scan
#include <tokamax/transforms/remat.hpp>              // remat
#include <tokamax/transforms/vmap.hpp>               // vmap

#include <vector>  // vector

namespace tokamax::nn {

namespace detail {
/// `tree` with `count` copies of each array along a new leading axis. Arrays without a value keep none.
template <class Tree>
constexpr Tree repeated(Tree tree, std::int64_t count) {
  for_each_leaf(
      [&](auto& leaf) {
        shape s{count};
        for (const std::int64_t e : leaf.shape()) s.push_back(e);
        array& a = leaf;
        if (a.is_abstract())
          a = array(array_type{a.dtype(), a.type().weak, s});
        else
          a = a.is_literal() ? a.reshaped(s) : broadcast_to(a, s);
      },
      tree);
  return tree;
}
/// The first entry of each array along its leading axis.
template <class Tree>
constexpr Tree first_entry(Tree tree) {
  for_each_leaf(
      [](auto& leaf) {
        shape s;
        for (int i = 1; i < leaf.rank(); ++i) s.push_back(leaf.extent(i));
        array& a = leaf;
        if (a.is_abstract())
          a = array(array_type{a.dtype(), a.type().weak, s});
        else
          a = a.is_literal() ? a.reshaped(s) : squeeze(slice_in_dim(a, 0, 1, 0), 0);
      },
      tree);
  return tree;
}

/// The arrays of some layers as a loop takes them. An array that an op with `in_product` computes enters as the operands of that op,
/// which each step applies again to its entries.
class loop_arrays {
 public:
  std::vector<array> values;

  template <class Layer>
  constexpr explicit loop_arrays(const Layer& layers) {
    for_each_leaf([&](const array& a) { append(a); }, layers);
  }
  template <class Layer>
  constexpr Layer entry(Layer like, const std::vector<array>& entries) const {
    std::size_t at = 0, k = 0;
    for_each_leaf(
        [&](auto& leaf) {
          const part& p = parts_[k++];
          for (std::size_t i = at; i < at + static_cast<std::size_t>(p.count); ++i) name(entries[i], values[i]);
          array& a = leaf;
          a = p.by ? bind_all(*p.by, entries.data() + at, p.count, p.attributes, {})[0] : entries[at];
          at += static_cast<std::size_t>(p.count);
        },
        like);
    return like;
  }

 private:
  struct part {
    const op* by = nullptr;
    int count = 1;
    words attributes;
  };
  std::vector<part> parts_;

  /// Gives an input of the body the path of the array of which it is an entry, so that the layer has its name there.
  static constexpr void name(const array& entry, const array& all) {
    graph* const body = entry.trace();
    if (body && !(*body)[entry.id()].op) body->nodes[entry.id()].scope.name = tokamax::detail::leaf_path_in(*body, all);
  }
  constexpr void append(const array& a) {
    part p;
    graph* const g = a.trace();
    if (g && (*g)[a.id()].op && (*g)[a.id()].op->in_product) {
      const node& n = (*g)[a.id()];
      p = {n.op, n.operand_count, words(g->words_of(n), static_cast<std::size_t>(n.word_count))};
      for (int k = 0; k < n.operand_count; ++k)
        values.push_back(array(g, g->operand(n, k), (*g)[g->operand(n, k)].type));
    } else {
      values.push_back(a);
    }
    parts_.push_back(std::move(p));
  }
};
}  // namespace detail

/// Layers of one type and size, applied one after the other. Arrays of `layers` have a leading axis of `count`, so one layer is
/// traced, whatever their number. `nn::stack(12, block{...})` makes one.
///
/// A call takes what a layer takes: x, whose type a layer keeps, and arguments that are the same for all layers. Layers that change
/// when they are called are changed.
///
/// shapes  arrays [count, ...]
/// init    layer i as element i of an array of layers
/// source  flax.nnx.scan over layers
template <class Layer>
struct stacked {
  int count = 0;
  bool recompute = false;  ///< is each layer computed again in the backward pass?
  Layer layers;

  constexpr stacked init(const random::key& key) const {
    const Layer like = detail::first_entry(copy_tree(layers));
    const auto made = [&](const array& i) {
      return tokamax::detail::initialized(copy_tree(like), random::fold_in(key, i), source_line::current());
    };
    return {count, recompute, vmap(made)(arange(count, u32))};
  }
  template <class X, class... Args>
    requires std::is_invocable_v<const Layer&, const X&, const Args&...>
  constexpr X operator()(const X& x, const Args&... args) const {
    return run(*this, x, args...);
  }
  template <class X, class... Args>
    requires(std::is_invocable_v<Layer&, const X&, const Args&...> &&
             !std::is_invocable_v<const Layer&, const X&, const Args&...>)
  constexpr X operator()(const X& x, const Args&... args) {
    return run(*this, x, args...);
  }

 private:
  /// What a layer changes: its leaves that are no parameters.
  static constexpr std::vector<array> changing(const Layer& layer) {
    std::vector<array> all;
    for_each_leaf(
        [&](const auto& leaf) {
          if (!is_parameter<decltype(leaf)>) all.push_back(leaf);
        },
        layer);
    return all;
  }
  template <class Self, class X, class... Args>
  static constexpr X run(Self& self, const X& x, const Args&... args) {
    constexpr bool changes = !std::is_const_v<Self>;
    const detail::loop_arrays arrays(self.layers);
    const auto step = [&](const X& h, const std::vector<array>& entries) {
      const auto apply = [&](const X& in) {
        std::conditional_t<changes, Layer, const Layer> layer = arrays.entry(copy_tree(self.layers), entries);
        X out = layer(in, args...);
        return std::pair{std::move(out), changes ? changing(layer) : std::vector<array>()};
      };
      return self.recompute ? remat(apply)(h) : apply(h);
    };
    auto [y, changed] = scan(step, x, arrays.values, {.length = self.count});
    if constexpr (changes) {
      std::size_t k = 0;
      for_each_leaf(
          [&](auto& leaf) {
            if constexpr (!is_parameter<decltype(leaf)>) static_cast<array&>(leaf) = changed[k++];
          },
          self.layers);
    }
    return y;
  }
};

/// `count` layers like `layer`, each with its own arrays: `nn::stacked<block> blocks = nn::stack(12, block{.width = 64});`
/// errors  "stack: count" below 1
template <class Layer>
constexpr stacked<Layer> stack(int count, const Layer& layer, bool recompute = false,
                               source_line l = source_line::current()) {
  if (count < 1) reject(nullptr, l, "stack: count", message() << count, "1 or more");
  return {count, recompute, detail::repeated(copy_tree(layer), count < 1 ? 1 : count)};
}

}  // namespace tokamax::nn
