// tokamax/runtime/tree_layout.hpp: the positions of the arrays and static values of a tree in an object of its type.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/static_program.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>   // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/tree/tree_walk.hpp>  // walk
#include <tokamax/core/array.hpp>           // array

#include <string>  // paths
#include <vector>  // vector

namespace tokamax {

/// The leaves and static values of trees of one type, in order, if the type determines the structure. A walk over a tree
/// needs code for every type and purpose. So there is one walk, which makes these lists, and programs use the lists.
struct tree_layout {
  struct place {
    std::intptr_t offset = 0;  ///< the offset of the value in the tree, or its address if it is outside
    bool inside = true;
    std::string path;  ///< only if asked for
    const void* in(const void* tree) const {
      return reinterpret_cast<const void*>(inside ? reinterpret_cast<std::intptr_t>(tree) + offset : offset);
    }
    const array& leaf(const void* tree) const { return *static_cast<const array*>(in(tree)); }
  };
  struct constant {
    place at;
    bool (*equal)(const void*, const void*) = nullptr;
  };
  std::vector<place> leaves;
  std::vector<constant> constants;

  /// The layout of trees like `tree`, with paths that begin with `root`.
  template <class Tree>
  static tree_layout of(const void* tree, const char* root);
};

namespace detail {

struct layout_visitor {
  tree_layout& to;
  const void* tree;
  std::size_t bytes;
  bool paths;

  void leaf(const text_path& path, const array& a);
  template <class T>
  void constant(const text_path& path, const T& value) {
    constant(path, &value, [](const void* a, const void* b) {
      return equal_static(*static_cast<const T*>(a), *static_cast<const T*>(b));
    });
  }
  bool same_structure(const text_path&, tree_kind, std::size_t) const { return true; }

 private:
  void constant(const text_path& path, const void* value, bool (*equal)(const void*, const void*));
  tree_layout::place place_of(const text_path& path, const void* value) const;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void layout_visitor::leaf(const text_path& path, const array& a) {
  to.leaves.push_back(place_of(path, &a));
}
TOKAMAX_COMPILED_ONCE void layout_visitor::constant(const text_path& path, const void* value,
                                                    bool (*equal)(const void*, const void*)) {
  to.constants.push_back({place_of(path, value), equal});
}
TOKAMAX_COMPILED_ONCE tree_layout::place layout_visitor::place_of(const text_path& path, const void* value) const {
  const auto from = reinterpret_cast<std::intptr_t>(tree), at = reinterpret_cast<std::intptr_t>(value);
  const bool inside = at >= from && at < from + static_cast<std::intptr_t>(bytes);
  return {inside ? at - from : at, inside, paths ? path.text() : std::string()};
}
#endif

}  // namespace detail

template <class Tree>
[[gnu::cold]] tree_layout tree_layout::of(const void* tree, const char* root) {
  tree_layout layout;
  detail::layout_visitor visitor{layout, tree, sizeof(Tree), root != nullptr};
  detail::walk(visitor, detail::text_path(root ? root : ""), *static_cast<const Tree*>(tree));
  return layout;
}

}  // namespace tokamax
