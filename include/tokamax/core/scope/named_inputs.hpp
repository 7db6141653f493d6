// tokamax/core/scope/named_inputs.hpp: the leaves of an argument as inputs of a graph, which know their paths.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/scope/layer_scope.cpp
#pragma once

#include <tokamax/base/tree.hpp>   // walk
#include <tokamax/core/array.hpp>  // array

namespace tokamax::detail {

/// The path of a walk, which becomes a name of a graph when a leaf asks for it. Numbers of the names around are kept by level,
/// because a constant expression cannot change a path.
class name_path {
 public:
  static constexpr bool named = true;
  constexpr name_path(name_table& names, vec<int>& numbers) : names_(names), numbers_(numbers) { start(0); }
  constexpr name_path field(std::string_view name) const { return {*this, name, -1}; }
  constexpr name_path element(std::size_t i) const { return {*this, {}, static_cast<std::int64_t>(i)}; }
  constexpr name_path key(std::string_view k) const { return {*this, k, of_key}; }
  constexpr int number() const {
    if (numbers_[level_] == unknown) {
      const int around = before_->number();
      numbers_[level_] = index_ >= 0        ? names_.element(around, index_)
                         : index_ == of_key ? names_.key(around, name_)
                                            : names_.field(around, name_);
    }
    return numbers_[level_];
  }

 private:
  static constexpr int unknown = -1;
  static constexpr std::int64_t of_key = -2;
  constexpr name_path(const name_path& before, std::string_view name, std::int64_t index)
      : names_(before.names_),
        numbers_(before.numbers_),
        before_(&before),
        level_(before.level_ + 1),
        name_(name),
        index_(index) {
    start(unknown);
  }
  constexpr void start(int number) {
    if (level_ < numbers_.count())
      numbers_[level_] = number;
    else
      numbers_.push_back(number);
  }
  name_table& names_;
  vec<int>& numbers_;  // of this path and of those around it, by level
  const name_path* before_ = nullptr;
  int level_ = 0;
  std::string_view name_;
  std::int64_t index_ = -1;  // of an element; of_key, or -1: a field
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
  vec<int> numbers;
  walk(visitor, name_path(g.names, numbers), tree);
}

}  // namespace tokamax::detail
