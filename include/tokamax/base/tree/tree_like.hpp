// tokamax/base/tree/tree_like.hpp: a tree with the structure of another tree, but with leaves of another type.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <tokamax/base/fixed_string.hpp>    // fixed_string
#include <tokamax/base/tree.hpp>            // for_each_leaf_with_path
#include <tokamax/base/tree/tree_path.hpp>  // call_on_leaf

#include <array>        // field names
#include <cstddef>      // size_t
#include <string_view>  // field names
#include <tuple>        // tuple, get, apply
#include <type_traits>  // is_same_v
#include <utility>      // index_sequence
#include <vector>       // a sequence

namespace tokamax {

/// Stands for a struct with the field names of `Record` and other types of fields. C++23 cannot declare such a struct.
template <class Record, class... Fields>
struct record_like {
  std::tuple<Fields...> values;  ///< the fields, in the order of their declaration

  static constexpr auto tokamax_fields(auto& self) {
    return std::apply([](auto&... each) { return std::tie(each...); }, self.values);
  }
  static constexpr auto tokamax_field_names = []<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::array<std::string_view, sizeof...(Index)>{field_name<Record, Index>...};
  }(std::index_sequence_for<Fields...>{});

  /// The field with this name: `axes.get<"kernel">()`.
  template <fixed_string Name>
  constexpr auto& get() {
    return std::get<place_of(Name.view())>(values);
  }
  template <fixed_string Name>
  constexpr const auto& get() const {
    return std::get<place_of(Name.view())>(values);
  }

 private:
  static consteval std::size_t place_of(std::string_view name) {
    for (std::size_t i = 0; i < sizeof...(Fields); ++i)
      if (tokamax_field_names[i] == name) return i;
    throw "tokamax: record_like: no field has this name";
  }
};

namespace detail {

template <class Leaf, class F, class Tree>
constexpr auto like(const F& leaf_of, const Tree& tree);

// A vector of bool packs its elements into bits, so that they are no objects one could refer to.
template <class T>
using element_like = std::conditional_t<std::is_same_v<T, bool>, char, T>;

template <class Leaf, class F, class Container>
constexpr auto sequence_like(const F& leaf_of, const Container& tree) {
  using element = decltype(like<Leaf>(leaf_of, tree[0]));
  if constexpr (std::is_bounded_array_v<Container> || requires { std::tuple_size<Container>::value; }) {
    std::array<element, sizeof(Container) / sizeof(tree[0])> out{};
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = like<Leaf>(leaf_of, tree[i]);
    return out;
  } else {
    std::vector<element_like<element>> out;
    for (const auto& each : tree) out.push_back(like<Leaf>(leaf_of, each));
    return out;
  }
}
template <class Leaf, class F, class A, class B>
constexpr auto record_of_kind(const F& leaf_of, const std::pair<A, B>& tree) {
  using first = decltype(like<Leaf>(leaf_of, tree.first));
  using second = decltype(like<Leaf>(leaf_of, tree.second));
  return std::pair<first, second>{like<Leaf>(leaf_of, tree.first), like<Leaf>(leaf_of, tree.second)};
}
template <class Leaf, class F, class... T>
constexpr auto record_of_kind(const F& leaf_of, const std::tuple<T...>& tree) {
  return std::apply(
      [&](const T&... each) {  // braces evaluate from left to right
        return std::tuple<decltype(like<Leaf>(leaf_of, each))...>{like<Leaf>(leaf_of, each)...};
      },
      tree);
}
template <class Leaf, class F, class Record>
constexpr auto record_of_kind(const F& leaf_of, const Record& tree) {
  return visit_fields(tree, [&](const auto&... each) {
    return record_like<Record, decltype(like<Leaf>(leaf_of, each))...>{{like<Leaf>(leaf_of, each)...}};
  });
}
template <class Leaf, class F, template <class...> class Optional, class T, class... Rest>
constexpr auto optional_like(const F& leaf_of, const Optional<T, Rest...>& tree) {
  using value = decltype(like<Leaf>(leaf_of, *tree));
  Optional<value> out;
  if constexpr (requires { out.emplace(like<Leaf>(leaf_of, *tree)); }) {
    if (tree) out.emplace(like<Leaf>(leaf_of, *tree));
  } else {
    if (tree) out.reset(new value(like<Leaf>(leaf_of, *tree)));
  }
  return out;
}
template <std::size_t Index, class Leaf, class F, class Variant, class Out>
constexpr void alternative_like(const F& leaf_of, const Variant& tree, Out& out) {
  if constexpr (Index < alternative_count<Variant>) {
    if (tree.index() == Index)
      out.template emplace<Index>(like<Leaf>(leaf_of, *get_if<Index>(&tree)));
    else
      alternative_like<Index + 1, Leaf>(leaf_of, tree, out);
  }
}
template <class Leaf, class F, template <class...> class Variant, class... T>
constexpr auto variant_like(const F& leaf_of, const Variant<T...>& tree) {
  Variant<decltype(like<Leaf>(leaf_of, std::declval<const T&>()))...> out;
  alternative_like<0, Leaf>(leaf_of, tree, out);
  return out;
}
template <class Leaf, class F, template <class...> class Map, class Key, class T, class... Rest>
auto map_like(const F& leaf_of, const Map<Key, T, Rest...>& tree) {
  Map<Key, decltype(like<Leaf>(leaf_of, std::declval<const T&>()))> out;
  for (const auto& [key, value] : tree) out.emplace(key, like<Leaf>(leaf_of, value));
  return out;
}

/// A tree like `tree` in which `leaf_of(leaf)` replaces each leaf.
template <class Leaf, class F, class Tree>
constexpr auto like(const F& leaf_of, const Tree& tree) {
  constexpr tree_kind kind = kind_of<Tree>;
  if constexpr (kind == tree_kind::leaf)
    return Leaf(leaf_of(tree));
  else if constexpr (kind == tree_kind::constant)
    return tree;
  else if constexpr (kind == tree_kind::sequence)
    return sequence_like<Leaf>(leaf_of, tree);
  else if constexpr (kind == tree_kind::record)
    return record_of_kind<Leaf>(leaf_of, tree);
  else if constexpr (kind == tree_kind::optional)
    return optional_like<Leaf>(leaf_of, tree);
  else if constexpr (kind == tree_kind::variant)
    return variant_like<Leaf>(leaf_of, tree);
  else if constexpr (kind == tree_kind::map)
    return map_like<Leaf>(leaf_of, tree);
  else
    return unsuitable_member<Tree>();
}

}  // namespace detail

/// A tree with the structure of `tree` whose leaves are `f(leaf)`, of type `Leaf`: `tree_map<int>(f, model)`. Pairs,
/// tuples, arrays, vectors and the standard's other containers stay what they are. A struct becomes a `record_like`, whose
/// fields have the same names and paths. The result can be a further argument beside the tree it is like:
/// `tree_map(g, model, tree_map<bool>(f, model))`. Alone, a tree of numbers or texts has no leaves, because numbers and
/// texts are static values.
///
/// errors  does not compile for a type that contains itself
/// source  jax.tree_util.tree_map
template <class Leaf, class F, class Tree>
constexpr auto tree_map(const F& f, const Tree& tree) {
  return detail::like<Leaf>(f, tree);
}
/// The same with `f(path, leaf)` or `f(path)`.
/// source  jax.tree_util.tree_map_with_path
template <class Leaf, class F, class Tree>
constexpr auto tree_map_with_path(const F& f, const Tree& tree) {
  auto result = detail::like<Leaf>([](const auto&) { return Leaf(); }, tree);
  for_each_leaf_with_path(
      [&](std::string_view path, const auto& leaf, auto& to) { to = Leaf(detail::call_on_leaf(f, path, leaf)); }, tree,
      result);
  return result;
}

}  // namespace tokamax
