// tokamax/transforms/remat/policies.hpp: which values remat keeps: those of products, those with names, or some of both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/dot_general.hpp>                   // dot_dimensions
#include <tokamax/transforms/remat/checkpoint_name.hpp>  // checkpoint_name_attributes, checkpoint_name_p

#include <array>        // array
#include <string_view>  // string_view

namespace tokamax {

/// Keeps the results of products without batch axes, as those of layers have: there are few of them, and they cost most to
/// compute. Products with batch axes, as in attention, are computed again.
inline constexpr auto dots_with_no_batch_dims_saveable = [](const graph& g, const node& n) {
  return n.op == &described<dot_general_p>() && unpack<dot_dimensions>(g.words_of(n)).lhs_batch.rank() == 0;
};

namespace detail {
/// Some names of values.
template <std::size_t Count>
struct value_names {
  std::array<std::string_view, Count> names;

  /// Is the node a value with one of the names?
  constexpr bool has(const graph& g, const node& n) const {
    if (n.op != &described<checkpoint_name_p>()) return false;
    const auto said = unpack<checkpoint_name_attributes>(g.words_of(n));
    for (const std::string_view name : names)
      if (said.name.view() == name) return true;
    return false;
  }
  /// Does the node give its value to one of them?
  constexpr bool becomes(const graph& g, const node& n) const {
    const int id = static_cast<int>(&n - g.nodes.data());
    for (int i = id + 1; i < g.count(); ++i)
      if (has(g, g[i]) && g.operand(g[i], 0) == id) return true;
    return false;
  }
};
template <std::size_t Count>
struct only_these_names : value_names<Count> {
  constexpr bool operator()(const graph& g, const node& n) const { return this->has(g, n); }
};
template <std::size_t Count>
struct names_but_these : value_names<Count> {
  constexpr bool operator()(const graph& g, const node& n) const {
    return n.op == &described<checkpoint_name_p>() && !this->has(g, n);
  }
};
template <std::size_t Count>
struct anything_except_these_names : value_names<Count> {
  constexpr bool operator()(const graph& g, const node& n) const { return !this->has(g, n) && !this->becomes(g, n); }
};
template <class First, class Second>
struct both_policies {
  [[no_unique_address]] First first;
  [[no_unique_address]] Second second;
  constexpr bool operator()(const graph& g, const node& n) const { return first(g, n) || second(g, n); }
};
}  // namespace detail

/// Keeps the values that checkpoint_name has given one of these names, and no others.
///
///   remat(block, save_only_these_names("attention", "feed_forward"))
///
/// source  jax.checkpoint_policies.save_only_these_names
template <class... Names>
constexpr detail::only_these_names<sizeof...(Names)> save_only_these_names(const Names&... names) {
  return {{{std::string_view(names)...}}};
}
/// Keeps the values with any name but these.
/// source  jax.checkpoint_policies.save_any_names_but_these
template <class... Names>
constexpr detail::names_but_these<sizeof...(Names)> save_any_names_but_these(const Names&... names) {
  return {{{std::string_view(names)...}}};
}
/// Keeps all values but those with one of these names.
/// source  jax.checkpoint_policies.save_anything_except_these_names, where the value from which a name is made is kept
template <class... Names>
constexpr detail::anything_except_these_names<sizeof...(Names)> save_anything_except_these_names(
    const Names&... names) {
  return {{{std::string_view(names)...}}};
}
/// Keeps what one of two policies keeps.
/// source  jax.checkpoint_policies.save_from_both_policies
template <class First, class Second>
constexpr detail::both_policies<First, Second> save_from_both_policies(First first, Second second) {
  return {first, second};
}

}  // namespace tokamax
