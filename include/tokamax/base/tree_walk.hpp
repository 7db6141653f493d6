// tokamax/base/tree_walk.hpp: the one recursion behind all tree functions.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/tree.cpp
#pragma once
#include <tokamax/base/tree_node.hpp>  // kind_of

#include <cstddef>      // size_t
#include <iterator>     // size
#include <string>       // paths
#include <string_view>  // field names
#include <type_traits>  // remove_cv_t
#include <utility>      // index_sequence

namespace tokamax {

namespace detail {
template <class T>
inline constexpr bool is_suitable = false;  // a name that depends on T
}  // namespace detail

/// Printed by the compiler for a type that is no part of a tree: by a function of its own, so that it is printed once.
template <class T>
constexpr bool unsuitable_member() {
  static_assert(
      detail::is_suitable<T>,
      "tokamax: this type is no part of a tree; a tree is made of leaves (arrays), plain structs without base "
      "classes, classes with tokamax_fields, std::array, std::vector, std::pair, std::tuple, and static values "
      "(numbers, enumerators, texts, function pointers, captureless lambdas)");
  return false;
}

}  // namespace tokamax

namespace tokamax::detail {

// The way from the root to the current node: links on the stack of the walk, made into text where it is asked for. Walks
// that need no paths carry one that is empty and costs nothing.
struct no_path {
  static constexpr bool named = false;
  constexpr no_path element(std::size_t) const { return {}; }
};
class text_path {
 public:
  static constexpr bool named = true;

  explicit text_path(std::string_view root) : name_(root) {}
  text_path field(std::string_view name) const { return {this, name, 0}; }
  text_path element(std::size_t i) const { return {this, {}, i}; }

  std::string text() const {
    if (!before_) return std::string(name_);
    std::string s = before_->text();
    if (name_.empty()) return s.append("[").append(std::to_string(index_)).append("]");
    if (!s.empty()) s += '.';
    return s.append(name_);
  }

 private:
  text_path(const text_path* before, std::string_view name, std::size_t index)
      : before_(before), name_(name), index_(index) {}
  const text_path* before_ = nullptr;
  std::string_view name_;  // of a field; empty: an element
  std::size_t index_ = 0;
};

template <class Visitor, class Path, class Tree, class... Rest>
constexpr void walk(Visitor& visitor, const Path& path, Tree& tree, Rest&... rest);

// A tuple of references that is cheap to compile.
template <std::size_t I, class T>
struct reference_at {
  T& value;
};
template <class Indices, class... T>
struct references;
template <std::size_t... I, class... T>
struct references<std::index_sequence<I...>, T...> : reference_at<I, T>... {};
template <std::size_t I, class T>
constexpr T& get_reference(const reference_at<I, T>& r) {
  return r.value;
}
template <class T>
constexpr auto references_to(T& it) {
  return visit_fields(it, [](auto&... field) {
    return references<std::make_index_sequence<sizeof...(field)>, std::remove_reference_t<decltype(field)>...>{
        {field}...};
  });
}
template <class Record, std::size_t I, class Visitor, class Path, class... Fields>
constexpr void walk_field(Visitor& visitor, const Path& path, const Fields&... fields) {
  if constexpr (!Path::named)
    walk(visitor, path, get_reference<I>(fields)...);
  else if constexpr (requires { fields_of<Record>::positional; })
    walk(visitor, path.element(I), get_reference<I>(fields)...);
  else
    walk(visitor, path.field(field_name<Record, I>), get_reference<I>(fields)...);
}
template <class Record, class Visitor, class Path, std::size_t... I, class... Fields>
constexpr void walk_fields(Visitor& visitor, const Path& path, std::index_sequence<I...>, const Fields&... fields) {
  (walk_field<Record, I>(visitor, path, fields...), ...);
}

template <class Visitor, class Path, class Tree, class... Rest>
constexpr void walk(Visitor& visitor, const Path& path, Tree& tree, Rest&... rest) {
  constexpr tree_kind kind = kind_of<Tree>;
  if constexpr (kind == tree_kind::leaf) {
    visitor.leaf(path, tree, rest...);
  } else if constexpr (kind == tree_kind::constant) {
    visitor.constant(path, tree, rest...);
  } else if constexpr (kind == tree_kind::sequence) {
    static_assert(((kind_of<Rest> == kind) && ...), "tokamax: the trees differ: one has a sequence, another has not");
    const std::size_t length = std::size(tree);
    if (!visitor.same_length(path, length, std::size(rest)...)) return;
    for (std::size_t i = 0; i < length; ++i) walk(visitor, path.element(i), tree[i], rest[i]...);
  } else if constexpr (kind == tree_kind::record) {
    static_assert(((kind_of<Rest> == kind) && ...), "tokamax: the trees differ: one has a record, another has not");
    if constexpr (((kind_of<Rest> == kind) && ...)) {
      static_assert(((field_count<Rest> == field_count<Tree>) && ...),
                    "tokamax: the trees differ in their field counts");
      if constexpr (!Path::named && sizeof...(Rest) == 0) {
        visit_fields(tree, [&](auto&... field) { (walk(visitor, path, field), ...); });
      } else {
        walk_fields<std::remove_cv_t<Tree>>(visitor, path, std::make_index_sequence<field_count<Tree>>{},
                                            references_to(tree), references_to(rest)...);
      }
    }
  } else {
    static_cast<void>(unsuitable_member<std::remove_cv_t<Tree>>());
  }
}

}  // namespace tokamax::detail
