// tokamax/core/leaf_filter.hpp: filters that choose leaves of a tree by kind, layer or path, joined by &&, || and !.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree.hpp>            // for_each_record_with_path
#include <tokamax/base/tree/tree_path.hpp>  // matching, call_on_leaf
#include <tokamax/core/leaf_kind.hpp>       // is_parameter

#include <string_view>  // string_view
#include <type_traits>  // is_base_of_v
#include <utility>      // move

namespace tokamax {

/// Extension point: is T a filter, so that &&, || and ! join it? Functions of path and leaf, of the leaf or of the path choose
/// leaves too, and join a filter, but not one another.
template <class T>
inline constexpr bool is_leaf_filter = false;
template <>
inline constexpr bool is_leaf_filter<matching> = true;

/// `chosen` as a filter of the leaves of `tree`: a filter by layers has to see the tree once.
template <class Filter, class Tree>
constexpr auto filter_in(const Filter& chosen, const Tree& tree) {
  if constexpr (requires { chosen.in(tree); })
    return chosen.in(tree);
  else
    return chosen;
}

/// Chooses the leaves below some nodes of a tree. What `of_layer` is once it has seen the tree.
struct below_paths {
  vec<vec<char>> roots;
  constexpr bool operator()(std::string_view path) const {
    for (const vec<char>& r : roots) {
      const std::string_view root(r.data(), r.size());
      if (root.empty() || path == root) return true;
      if (path.starts_with(root) && (path[root.size()] == '.' || path[root.size()] == '[')) return true;
    }
    return false;
  }
};

/// What `of_layer`, `of_kind` and `trainable` are, and what joined filters become.
template <class Layer>
struct layer_filter {
  template <class Tree>
  constexpr below_paths in(const Tree& tree) const {
    below_paths found;
    for_each_record_with_path(
        [&]<class Record>(std::string_view path, const Record&) {
          if constexpr (std::is_base_of_v<Layer, Record>) found.roots.push_back(vec<char>(path.data(), path.size()));
        },
        tree);
    return found;
  }
};
template <class Kind>
struct kind_filter {
  template <class Leaf>
    requires std::is_base_of_v<array, Leaf>
  constexpr bool operator()(const Leaf&) const {
    return std::is_base_of_v<Kind, Leaf>;
  }
};
struct parameter_filter {
  template <class Leaf>
    requires std::is_base_of_v<array, Leaf>
  constexpr bool operator()(const Leaf&) const {
    return is_parameter<Leaf>;
  }
};
template <class A, class B>
struct both_filter {
  A a;
  B b;
  template <class Tree>
  constexpr auto in(const Tree& tree) const {
    return joined(filter_in(a, tree), filter_in(b, tree));
  }
  template <class Leaf>
  constexpr bool operator()(std::string_view path, const Leaf& leaf) const {
    return detail::call_on_leaf(a, path, leaf) && detail::call_on_leaf(b, path, leaf);
  }

 private:
  template <class C, class D>
  static constexpr both_filter<C, D> joined(C c, D d) {
    return {std::move(c), std::move(d)};
  }
};
template <class A, class B>
struct either_filter {
  A a;
  B b;
  template <class Tree>
  constexpr auto in(const Tree& tree) const {
    return joined(filter_in(a, tree), filter_in(b, tree));
  }
  template <class Leaf>
  constexpr bool operator()(std::string_view path, const Leaf& leaf) const {
    return detail::call_on_leaf(a, path, leaf) || detail::call_on_leaf(b, path, leaf);
  }

 private:
  template <class C, class D>
  static constexpr either_filter<C, D> joined(C c, D d) {
    return {std::move(c), std::move(d)};
  }
};
template <class A>
struct not_filter {
  A a;
  template <class Tree>
  constexpr auto in(const Tree& tree) const {
    return negated(filter_in(a, tree));
  }
  template <class Leaf>
  constexpr bool operator()(std::string_view path, const Leaf& leaf) const {
    return !detail::call_on_leaf(a, path, leaf);
  }

 private:
  template <class B>
  static constexpr not_filter<B> negated(B b) {
    return {std::move(b)};
  }
};

namespace detail {
template <class A, class B>
concept joined_filters = std::is_class_v<A> && std::is_class_v<B> && !std::is_base_of_v<array, A> &&
                         !std::is_base_of_v<array, B> && (is_leaf_filter<A> || is_leaf_filter<B>);
}  // namespace detail

template <>
inline constexpr bool is_leaf_filter<below_paths> = true;
template <class Layer>
inline constexpr bool is_leaf_filter<layer_filter<Layer>> = true;
template <class Kind>
inline constexpr bool is_leaf_filter<kind_filter<Kind>> = true;
template <>
inline constexpr bool is_leaf_filter<parameter_filter> = true;
template <class A, class B>
inline constexpr bool is_leaf_filter<both_filter<A, B>> = true;
template <class A, class B>
inline constexpr bool is_leaf_filter<either_filter<A, B>> = true;
template <class A>
inline constexpr bool is_leaf_filter<not_filter<A>> = true;

/// Chooses the leaves of a kind, or of one derived from it: `partition(model, of_kind<nn::statistic>)`.
/// source  flax.nnx.filterlib.OfType
template <class Kind>
inline constexpr kind_filter<Kind> of_kind{};
/// Chooses the leaves of layers of a type, or of one derived from it: `partition(model, of_layer<nn::linear>)`.
/// source  the traversal by types of flax.nnx.iter_modules
template <class Layer>
inline constexpr layer_filter<Layer> of_layer{};
/// Chooses the leaves that are trained.
inline constexpr parameter_filter trainable{};

/// Filters are joined: `matching("blocks") && !matching("*.bias")`, `of_kind<adapter> || [](const array& a) { return a.rank() == 1; }`.
/// source  flax.nnx.filterlib.All, Any, Not
template <class A, class B>
  requires detail::joined_filters<A, B>
constexpr both_filter<A, B> operator&&(const A& a, const B& b) {
  return {a, b};
}
template <class A, class B>
  requires detail::joined_filters<A, B>
constexpr either_filter<A, B> operator||(const A& a, const B& b) {
  return {a, b};
}
template <class A>
  requires is_leaf_filter<A>
constexpr not_filter<A> operator!(const A& a) {
  return {a};
}

}  // namespace tokamax
