// tokamax/core/scope/named_inputs.hpp: the leaves of an argument as inputs of a graph, which know their paths.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/scope/layer_scope.cpp
#pragma once

#include <tokamax/base/tree.hpp>   // walk
#include <tokamax/core/array.hpp>  // array

namespace tokamax::detail {

/// The path of a walk, which becomes a name of a graph when a leaf asks for it.
class name_path {
 public:
  static constexpr bool named = true;
  constexpr explicit name_path(name_table& names) : names_(&names), number_(0) {}
  constexpr name_path field(std::string_view name) const { return {this, name, -1}; }
  constexpr name_path element(std::size_t i) const { return {this, {}, static_cast<std::int64_t>(i)}; }
  constexpr name_path key(std::string_view k) const { return {this, k, -2}; }
  constexpr int number() const {
    if (number_ >= 0) return number_;
    const int around = before_->number();
    if (index_ >= 0) return number_ = names_->element(around, index_);
    if (index_ == -1) return number_ = names_->field(around, name_);
    return number_ = names_->key(around, name_);
  }

 private:
  constexpr name_path(const name_path* before, std::string_view name, std::int64_t index)
      : names_(before->names_), before_(before), name_(name), index_(index) {}
  name_table* names_;
  const name_path* before_ = nullptr;
  std::string_view name_;
  std::int64_t index_ = -1;  // of an element; -1: a field, -2: a key
  mutable int number_ = -1;
};

struct input_maker {
  graph& g;
  bool keep_weak;
  constexpr void leaf(const name_path& path, auto& a) {
    const array_type type{a.dtype(), a.type().weak && keep_weak, a.shape()};
    static_cast<array&>(a) = array(&g, g.input(type, path.number()), type);
  }
  constexpr void constant(const auto&, auto&) {}
  constexpr bool same_structure(const auto&, tree_kind, std::size_t) { return true; }
};
/// Replaces each leaf of a tree by an input of `g` with the type of the leaf. `keep_weak`: also its weakness.
template <class Tree>
constexpr void make_inputs(graph& g, Tree& tree, bool keep_weak) {
  input_maker visitor{g, keep_weak};
  walk(visitor, name_path(g.names), tree);
}

}  // namespace tokamax::detail
