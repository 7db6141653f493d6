// tokamax/base/field_count.hpp: how many fields a plain struct has, found by trying initialisers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/reflect.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <array>        // std::array is a sequence, not a record
#include <cstddef>      // size_t
#include <type_traits>  // is_aggregate_v, is_convertible_v
#include <utility>      // index_sequence

namespace tokamax {

inline constexpr std::size_t max_fields = 24;

namespace detail {

// Converts to whatever a field wants. `any_except<T>` finds types such as std::optional that already take everything
// through a constructor template: a second way into them would be ambiguous.
template <class T>
struct any_except {
  template <class U>
    requires(!std::is_same_v<U, T>)
  operator U() const;
};
struct any_value {
  template <class T>
    requires(!std::is_convertible_v<any_except<T>, T>)
  operator T() const;
};
template <std::size_t>
using any_at = any_value;

template <class Derived>
struct any_base_of {
  template <class T>
    requires(std::is_base_of_v<T, Derived> && !std::is_same_v<T, Derived>)
  operator T() const;
};

template <class T, std::size_t... I>
consteval bool takes(std::index_sequence<I...>) {
  return requires { T{any_at<I>{}...}; };
}
// Parentheses never spread one field over several initialisers. nvcc lets them.
template <class T, std::size_t... I>
consteval bool takes_unspread(std::index_sequence<I...>) {
  return requires { T(any_at<I>{}...); };
}
#if defined(__CUDACC__)
inline constexpr bool parentheses_spread = true;
#else
inline constexpr bool parentheses_spread = false;
#endif
template <class T, std::size_t... Before, std::size_t... After>
consteval bool takes_braces_between(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires { T{any_at<Before>{}..., {}, any_at<After>{}...}; };
}
template <class T, std::size_t... After>
consteval bool starts_with_base(std::index_sequence<After...>) {
  return requires { T{any_base_of<T>{}, any_at<After>{}...}; };
}

// The largest number of initialisers. Small numbers may fail too, when a later field has no default.
template <class T, std::size_t N = 0, bool Found = false>
consteval std::size_t initialiser_count() {
  constexpr bool ok = takes<T>(std::make_index_sequence<N>{});
  if constexpr (Found && !ok)
    return N - 1;
  else if constexpr (N > 8 * max_fields)
    return Found ? N : 0;
  else
    return initialiser_count<T, N + 1, ok>();
}

// The number of initialisers that initialiser I of Count shares its field with: an array member `int a[3]` takes three.
template <class T, std::size_t Count, std::size_t I, std::size_t Extent = 1>
consteval std::size_t spread() {
  if constexpr (I + Extent > Count)
    return 1;
  else if constexpr (takes_braces_between<T>(std::make_index_sequence<I>{},
                                             std::make_index_sequence<Count - I - Extent>{}))
    return Extent;
  else
    return spread<T, Count, I, Extent + 1>();
}
template <class T, std::size_t Count, std::size_t I = 0>
consteval std::size_t count_spread_fields() {
  if constexpr (I >= Count)
    return 0;
  else
    return 1 + count_spread_fields<T, Count, I + spread<T, Count, I>()>();
}

template <class T>
consteval std::size_t aggregate_size() {
  constexpr std::size_t n = initialiser_count<T>();
  if constexpr (n == 0 || (!parentheses_spread && takes_unspread<T>(std::make_index_sequence<n>{})))
    return n;
  else
    return count_spread_fields<T, n>();
}

template <class T>
inline constexpr bool is_array_like = false;
template <class T, std::size_t N>
inline constexpr bool is_array_like<std::array<T, N>> = true;

template <class T>
consteval bool is_plain_struct() {
  if constexpr (!std::is_class_v<T> || !std::is_aggregate_v<T> || is_array_like<T>)
    return false;
  else if constexpr (constexpr std::size_t n = initialiser_count<T>(); n == 0)
    return true;
  else
    return !starts_with_base<T>(std::make_index_sequence<n - 1>{});
}

}  // namespace detail

/// A plain struct: an aggregate class without base classes.
template <class T>
concept aggregate_record = detail::is_plain_struct<std::remove_cv_t<T>>();

}  // namespace tokamax
