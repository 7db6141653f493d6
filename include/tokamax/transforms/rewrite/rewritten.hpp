// tokamax/transforms/rewrite/rewritten.hpp: an argument whose leaves a pass has replaced by others.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (few programs change what they take)
// tested by tests/transforms/rewrite/rewrite.cpp
#pragma once

#include <tokamax/core/array.hpp>  // array

#include <map>     // map
#include <string>  // string

namespace tokamax {

/// The structure of a tree: its static values, and the types of its leaves. It is a static value itself.
template <class Tree>
struct abstract_tree {
  Tree tree;

  abstract_tree() = default;
  explicit abstract_tree(const Tree& like) : tree(copy_tree(like)) {
    for_each_leaf([](auto& a) { static_cast<array&>(a) = array(a.type()); }, tree);
  }
  bool operator==(const abstract_tree& o) const {
    return same_static(tree, o.tree) &&
           tree_all([](const array& a, const array& b) { return a.type() == b.type(); }, tree, o.tree);
  }
};
template <class Tree>
inline constexpr bool is_static<abstract_tree<Tree>> = true;

/// What `rewrite(f, pass).prepare` makes of an argument of type Tree. It is a tree, so that it is saved, moved to devices, donated
/// and differentiated like any other. Leaves that the pass left alone have their paths in Tree.
template <class Tree>
struct rewritten {
  abstract_tree<Tree> like;
  std::map<std::string, array> leaves;  ///< by path: "blocks[0].up.kernel.qvalue"

  /// `tree` with the leaves that stand under their paths here, after the prefix `root`: a model into which adapters were
  /// merged, for example.
  /// errors  "rewritten: leaf" for a path or a type that is not here
  template <class Other>
  Other as(Other tree, std::string_view root = {}) const {
    for_each_leaf_with_path(
        [&](std::string_view path, auto& a) {
          const auto found = leaves.find(std::string(path));
          const std::string has = found == leaves.end() ? "none" : std::string(message(found->second.type()).view());
          if (found == leaves.end() || !(found->second.type() == a.type()))
            throw error("rewritten: leaf " + std::string(path), has, std::string(message(a.type()).view()));
          static_cast<array&>(a) = found->second;
        },
        tree, root);
    return tree;
  }
};

}  // namespace tokamax
