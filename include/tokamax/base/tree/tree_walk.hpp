// tokamax/base/tree/tree_walk.hpp: the one recursion behind all tree functions.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/tree.cpp
#pragma once
#include <tokamax/base/tree/tree_node.hpp>  // kind_of
#include <tokamax/base/vec.hpp>             // vec

#include <cstddef>      // size_t
#include <iterator>     // size
#include <string>       // string
#include <string_view>  // field names
#include <type_traits>  // remove_cv_t, is_polymorphic_v
#include <utility>      // index_sequence

namespace tokamax {

namespace detail {
template <class T>
inline constexpr bool is_suitable = false;  // a name that depends on T
}  // namespace detail

/// Makes the compiler print one message for a type that cannot be part of a tree. It is a function of its own, so that
/// the message appears once for each type.
template <class T>
constexpr bool unsuitable_member() {
  static_assert(!std::is_polymorphic_v<T>,
                "tokamax: a class with virtual functions is no part of a tree; a field std::variant<A, B> holds one of "
                "several layers, and std::visit calls it");
  static_assert(
      detail::is_suitable<T> || std::is_polymorphic_v<T>,
      "tokamax: this type is no part of a tree; a tree is made of leaves (arrays), plain structs (with fields of their "
      "own or of a base class, not both), classes with tokamax_fields, std::array, vector, pair, tuple, optional, "
      "unique_ptr, variant, map<string, T>, and static values (numbers, enumerators, texts, function pointers, "
      "captureless lambdas)");
  return false;
}

}  // namespace tokamax

namespace tokamax::detail {

// The path from the root to the current node. It is a list of links on the stack of the walk, and becomes text only when
// somebody asks for it. A walk without paths carries an empty type, which costs nothing.
struct no_path {
  static constexpr bool named = false;
  constexpr no_path element(std::size_t) const { return {}; }
  constexpr no_path key(std::string_view) const { return {}; }
};
class text_path {
 public:
  static constexpr bool named = true;

  constexpr explicit text_path(std::string_view root) : name_(root) {}
  constexpr text_path field(std::string_view name) const { return {this, name, step::field, 0}; }
  constexpr text_path element(std::size_t i) const { return {this, {}, step::element, i}; }
  /// A key that is a valid name is written as a name, and any other key in quotes.
  constexpr text_path key(std::string_view k) const { return {this, k, is_name(k) ? step::field : step::quoted, 0}; }

  std::string text() const {
    const vec<char> s = chars();
    return {s.data(), s.size()};
  }
  /// The same in a constant expression, where clang 19 cannot evaluate std::string of libstdc++ 12.
  constexpr vec<char> chars() const {
    vec<char> s;
    append_to(s);
    return s;
  }

 private:
  enum class step : char { root, field, element, quoted };
  constexpr text_path(const text_path* before, std::string_view name, step kind, std::size_t index)
      : before_(before), name_(name), kind_(kind), index_(index) {}

  static constexpr bool is_name(std::string_view k) {
    for (const char c : k)
      if (c == '.' || c == '[' || c == ']' || c == '"' || c == '*' || c == ' ') return false;
    return !k.empty();
  }
  constexpr void append_to(vec<char>& s) const {
    if (before_) before_->append_to(s);
    if (kind_ == step::field && !s.empty()) s.push_back('.');
    if (kind_ == step::element || kind_ == step::quoted) s.push_back('[');
    if (kind_ == step::quoted) s.push_back('"');
    if (kind_ == step::element)
      append_number(s, index_);
    else
      for (const char c : name_) s.push_back(c);
    if (kind_ == step::quoted) s.push_back('"');
    if (kind_ == step::element || kind_ == step::quoted) s.push_back(']');
  }
  static constexpr void append_number(vec<char>& s, std::size_t n) {
    if (n >= 10) append_number(s, n / 10);
    s.push_back(static_cast<char>('0' + n % 10));
  }

  const text_path* before_ = nullptr;
  std::string_view name_;  // of a field, or a key
  step kind_ = step::root;
  std::size_t index_ = 0;  // of an element
};

template <class Visitor, class Path, class Tree, class... Rest>
constexpr void walk(Visitor& visitor, const Path& path, Tree& tree, Rest&... rest);

// A tuple of references. It compiles faster than std::tuple, and every walk over a record makes one.
template <std::size_t Index, class T>
struct reference_at {
  T& value;
};
template <class Indices, class... T>
struct references;
template <std::size_t... Index, class... T>
struct references<std::index_sequence<Index...>, T...> : reference_at<Index, T>... {};
template <std::size_t Index, class T>
constexpr T& get_reference(const reference_at<Index, T>& r) {
  return r.value;
}
template <class T>
constexpr auto references_to(T& it) {
  return visit_fields(it, [](auto&... field) {
    return references<std::make_index_sequence<sizeof...(field)>, std::remove_reference_t<decltype(field)>...>{
        {field}...};
  });
}
template <class Record, std::size_t Index, class Visitor, class Path, class... Fields>
constexpr void walk_field(Visitor& visitor, const Path& path, const Fields&... fields) {
  if constexpr (!Path::named)
    walk(visitor, path, get_reference<Index>(fields)...);
  else if constexpr (requires { fields_of<Record>::positional; })
    walk(visitor, path.element(Index), get_reference<Index>(fields)...);
  else
    walk(visitor, path.field(field_name<Record, Index>), get_reference<Index>(fields)...);
}
template <class Record, class Visitor, class Path, std::size_t... Index, class... Fields>
constexpr void walk_fields(Visitor& visitor, const Path& path, std::index_sequence<Index...>, const Fields&... fields) {
  (walk_field<Record, Index>(visitor, path, fields...), ...);
}

// The value in an optional or a unique_ptr, constant if the owner is constant: a unique_ptr would not pass that on.
template <class T>
constexpr auto& held(T& it) {
  return *it;
}
template <class T>
constexpr const auto& held(const T& it) {
  return *it;
}
template <class T>
inline constexpr std::size_t alternative_count = 0;
template <template <class...> class Variant, class... T>
inline constexpr std::size_t alternative_count<Variant<T...>> = sizeof...(T);

template <std::size_t Index, class Visitor, class Path, class Tree, class... Rest>
constexpr void walk_alternative(Visitor& visitor, const Path& path, Tree& tree, Rest&... rest) {
  if constexpr (Index < alternative_count<std::remove_cv_t<Tree>>) {
    if (tree.index() == Index)
      walk(visitor, path, *get_if<Index>(&tree), *get_if<Index>(&rest)...);
    else
      walk_alternative<Index + 1>(visitor, path, tree, rest...);
  }
}
// Do two maps have the same keys? Both are ordered, so they are compared element by element.
template <class Visitor, class Path, class Tree, class... Rest>
constexpr void walk_map(Visitor& visitor, const Path& path, Tree& tree, Rest&... rest) {
  for (auto& [key, value] : tree)
    if (!visitor.same_structure(path.key(key), tree_kind::map, 1, rest.count(key)...)) return;
  for (auto& [key, value] : tree) walk(visitor, path.key(key), value, rest.find(key)->second...);
}

template <class Visitor, class Path, class Tree, class... Rest>
constexpr void walk_container(Visitor& visitor, const Path& path, Tree& tree, Rest&... rest) {
  constexpr tree_kind kind = kind_of<Tree>;
  if constexpr (kind == tree_kind::sequence) {
    const std::size_t length = std::size(tree);
    if (!visitor.same_structure(path, kind, length, std::size(rest)...)) return;
    for (std::size_t i = 0; i < length; ++i) walk(visitor, path.element(i), tree[i], rest[i]...);
  } else if constexpr (kind == tree_kind::optional) {
    if (!visitor.same_structure(path, kind, tree ? 1 : 0, std::size_t(rest ? 1 : 0)...)) return;
    if (tree) walk(visitor, path, held(tree), held(rest)...);
  } else if constexpr (kind == tree_kind::variant) {
    if (!visitor.same_structure(path, kind, tree.index(), rest.index()...)) return;
    walk_alternative<0>(visitor, path, tree, rest...);
  } else {
    if (!visitor.same_structure(path, kind, tree.size(), rest.size()...)) return;
    walk_map(visitor, path, tree, rest...);
  }
}

template <class Visitor, class Path, class Tree, class... Rest>
constexpr void walk(Visitor& visitor, const Path& path, Tree& tree, Rest&... rest) {
  constexpr tree_kind kind = kind_of<Tree>;
  if constexpr (kind == tree_kind::leaf) {
    visitor.leaf(path, tree, rest...);
  } else if constexpr (kind == tree_kind::constant) {
    visitor.constant(path, tree, rest...);
  } else if constexpr (kind == tree_kind::record) {
    static_assert(((kind_of<Rest> == kind) && ...), "tokamax: the trees differ: one has a record, another has not");
    if constexpr (requires { visitor.record(path, tree); }) visitor.record(path, tree);
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
  } else if constexpr (kind != tree_kind::none) {
    static_assert(((kind_of<Rest> == kind) && ...), "tokamax: the trees differ: one has a container, another has not");
    if constexpr (((kind_of<Rest> == kind) && ...)) walk_container(visitor, path, tree, rest...);
  } else {
    static_cast<void>(unsuitable_member<std::remove_cv_t<Tree>>());
  }
}

/// Calls `f` with each child of a node: a field, an element, a value of a map, or the value of an optional.
template <class F, class Tree>
constexpr void for_each_child(const F& f, Tree& tree) {
  constexpr tree_kind kind = kind_of<Tree>;
  if constexpr (kind == tree_kind::record) {
    visit_fields(tree, [&](auto&... field) { (f(field), ...); });
  } else if constexpr (kind == tree_kind::sequence) {
    for (auto& element : tree) f(element);
  } else if constexpr (kind == tree_kind::map) {
    for (auto& [key, value] : tree) f(value);
  } else if constexpr (kind == tree_kind::optional) {
    if (tree) f(held(tree));
  } else if constexpr (kind == tree_kind::variant) {
    visit([&](auto& active) { f(active); }, tree);
  }
}

}  // namespace tokamax::detail
