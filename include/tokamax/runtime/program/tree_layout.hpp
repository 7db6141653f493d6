// tokamax/runtime/program/tree_layout.hpp: the positions of the arrays and static values of a tree.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/program/static_program.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>   // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/tree/tree_walk.hpp>  // walk
#include <tokamax/core/symbolic.hpp>        // declared_type

#include <memory>  // unique_ptr
#include <string>  // paths
#include <vector>  // vector

namespace tokamax {

/// The leaves and static values of a tree, in order. A walk over a tree needs code for every type and purpose. So there is one
/// walk, which makes these lists, and all programs use the lists: static ones and those traced at run time.
struct tree_layout {
  struct place {
    std::intptr_t offset = 0;  ///< the offset of the value in the tree, or its address if it is outside
    bool inside = true;
    const void* in(const void* tree) const {
      return reinterpret_cast<const void*>(inside ? reinterpret_cast<std::intptr_t>(tree) + offset : offset);
    }
  };
  struct leaf_place : place {
    /// For leaves that declare their type, with dynamic extents, beside the one that they have; else null.
    const array_type& (*declared)(const array&) = nullptr;
    const array& leaf(const void* tree) const { return *static_cast<const array*>(in(tree)); }
    const array_type& declared_type(const void* tree) const {
      return declared ? declared(leaf(tree)) : leaf(tree).type();
    }
  };
  struct constant {
    place at;
    bool (*equal)(const void*, const void*) = nullptr;
  };
  std::vector<leaf_place> leaves;
  std::vector<constant> constants;
  /// The lengths of vectors, the alternatives of variants, the keys of maps and so on, as numbers.
  std::vector<std::int64_t> structure;
  /// The paths of the leaves, then those of the constants, if asked for.
  std::vector<std::string> paths;
  /// Is the layout that of all trees of its type? Not if it has addresses outside of the tree.
  bool serves_all = true;

  /// The layout of `tree`, with paths that begin with `root` unless that is null.
  template <class Tree>
  static tree_layout of(const void* tree, const char* root);
};

namespace detail {

/// Does the type of a tree tell how many leaves it has and where they are? A vector does not.
template <class T>
consteval bool has_static_structure() {
  using U = std::remove_cvref_t<T>;
  if constexpr (kind_of<U> == tree_kind::leaf || kind_of<U> == tree_kind::constant)
    return true;
  else if constexpr (requires {
                       std::tuple_size<U>::value;
                       typename U::value_type;
                     })
    return has_static_structure<typename U::value_type>();
  else if constexpr (kind_of<U> == tree_kind::record)
    return []<class... Field>(std::type_identity<std::tuple<Field...>>) {
      return (has_static_structure<Field>() && ...);
    }(std::type_identity<decltype(fields(std::declval<U&>()))>{});
  else if constexpr (kind_of<U> == tree_kind::none)
    return unsuitable_member<U>();  // stops the compiler early, so that its message is short
  else
    return false;
}

/// Does a leaf of this type declare another type than that of its data?
template <class Leaf>
consteval bool declares_type() {
  if constexpr (requires { Leaf::static_type; }) return is_dynamic(Leaf::static_type.shape);
  return std::is_same_v<Leaf, symbolic_array>;
}

struct layout_visitor {
  tree_layout& to;
  const void* tree;
  std::size_t bytes;
  bool named;
  std::vector<std::string> constant_paths = {};

  template <class Leaf>
  void leaf(const text_path& path, const Leaf& a) {
    if constexpr (declares_type<Leaf>())
      add_leaf(path, a, [](const array& x) -> const array_type& { return declared_type(static_cast<const Leaf&>(x)); });
    else
      add_leaf(path, a, nullptr);
  }
  template <class T>
  void constant(const text_path& path, const T& value) {
    add_constant(path, &value, [](const void* a, const void* b) {
      return equal_static(*static_cast<const T*>(a), *static_cast<const T*>(b));
    });
  }
  bool same_structure(const text_path& path, tree_kind kind, std::size_t count);

 private:
  void add_leaf(const text_path& path, const array& a, const array_type& (*declared)(const array&));
  void add_constant(const text_path& path, const void* value, bool (*equal)(const void*, const void*));
  tree_layout::place place_of(const void* value) const;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE bool layout_visitor::same_structure(const text_path& path, tree_kind kind, std::size_t count) {
  to.structure.push_back(static_cast<std::int64_t>(count));
  if (kind == tree_kind::map)  // the path ends with the key
    for (const char c : path.text()) to.structure.push_back(c);
  return true;
}
TOKAMAX_COMPILED_ONCE void layout_visitor::add_leaf(const text_path& path, const array& a,
                                                    const array_type& (*declared)(const array&)) {
  to.leaves.push_back({place_of(&a), declared});
  if (named) to.paths.push_back(path.text());
}
TOKAMAX_COMPILED_ONCE void layout_visitor::add_constant(const text_path& path, const void* value,
                                                        bool (*equal)(const void*, const void*)) {
  to.constants.push_back({place_of(value), equal});
  if (named) constant_paths.push_back(path.text());
}
TOKAMAX_COMPILED_ONCE tree_layout::place layout_visitor::place_of(const void* value) const {
  const auto from = reinterpret_cast<std::intptr_t>(tree), at = reinterpret_cast<std::intptr_t>(value);
  const bool inside = at >= from && at < from + static_cast<std::intptr_t>(bytes);
  to.serves_all = to.serves_all && inside;
  return {inside ? at - from : at, inside};
}
#endif

/// The layout of `tree`: the one of its type if the type tells the structure, and else a new one, which is kept in `room`.
template <class Tree>
const tree_layout& layout_of(const Tree& tree, std::unique_ptr<tree_layout>& room) {
  if constexpr (has_static_structure<Tree>()) {
    static const tree_layout& one = *new tree_layout(tree_layout::of<Tree>(&tree, nullptr));  // never destroyed
    if (one.serves_all) return one;
  }
  room = std::make_unique<tree_layout>(tree_layout::of<Tree>(&tree, nullptr));
  return *room;
}

}  // namespace detail

template <class Tree>
[[gnu::cold]] tree_layout tree_layout::of(const void* tree, const char* root) {
  tree_layout layout;
  detail::layout_visitor visitor{layout, tree, sizeof(Tree), root != nullptr};
  detail::walk(visitor, detail::text_path(root ? root : ""), *static_cast<const Tree*>(tree));
  for (std::string& path : visitor.constant_paths) layout.paths.push_back(std::move(path));
  return layout;
}

}  // namespace tokamax
