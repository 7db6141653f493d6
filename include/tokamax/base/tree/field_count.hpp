// tokamax/base/tree/field_count.hpp: how many fields a plain struct has, found by trying initialisers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/base/tree/reflect.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <array>        // std::array is a sequence, not a record
#include <cstddef>      // size_t
#include <type_traits>  // is_aggregate_v, is_convertible_v
#include <utility>      // index_sequence

namespace tokamax {

inline constexpr std::size_t max_fields = 64;

namespace detail {

// C++20 has no reflection, but it does say whether `T{a, b, c}` compiles. So fields are counted by trying initialisers
// that convert to anything. `any_except<T>` detects types such as std::optional whose constructor template takes
// everything already: a conversion would be a second way into them, and hence ambiguous.
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

// Convert to any base class of `Derived`, and to any empty one.
template <class Derived>
struct any_base_of {
  template <class T>
    requires(std::is_base_of_v<T, Derived> && !std::is_same_v<T, Derived>)
  operator T() const;
};
template <class Derived>
struct any_empty_base_of {
  template <class T>
    requires(std::is_base_of_v<T, Derived> && !std::is_same_v<T, Derived> && std::is_empty_v<T>)
  operator T() const;
};

// The fields of T are its own, or all of them are in its only base class. In that case their initialisers stand in a
// second pair of braces: T{{...}}.
enum class fields_lie { in_struct, in_base };

template <class T, fields_lie Where, std::size_t... Index>
consteval bool takes(std::index_sequence<Index...>) {
  if constexpr (Where == fields_lie::in_struct)
    return requires { T{any_at<Index>{}...}; };
  else
    return requires { T{{any_at<Index>{}...}}; };
}
// In braces an array member may take several initialisers: S{1, 2, 3} fills `int a[3]`. In parentheses it may not, so
// S(a, b) tells the number of fields directly. nvcc accepts it for arrays too, and is therefore not asked.
template <class T, std::size_t... Index>
consteval bool takes_unspread(std::index_sequence<Index...>) {
  return requires { T(any_at<Index>{}...); };
}
// The usual struct: each initialiser is a field of its own.
template <class T>
struct any_field_of {
  template <class U>
    requires(!std::is_base_of_v<U, T> && !std::is_convertible_v<any_except<U>, U>)
  operator U() const;
};
template <class T, std::size_t... Index>
consteval bool takes_own_fields(std::index_sequence<Index...>) {
  return requires { T((static_cast<void>(Index), any_field_of<T>{})...); };
}
#if defined(__CUDACC__)
inline constexpr bool parentheses_spread = true;
#else
inline constexpr bool parentheses_spread = false;
#endif
template <class T, fields_lie Where, std::size_t... Before, std::size_t... After>
consteval bool takes_braces_between(std::index_sequence<Before...>, std::index_sequence<After...>) {
  if constexpr (Where == fields_lie::in_struct)
    return requires { T{any_at<Before>{}..., {}, any_at<After>{}...}; };
  else
    return requires { T{{any_at<Before>{}..., {}, any_at<After>{}...}}; };
}

// If T takes n initialisers, it usually takes fewer too. Only a field without default (a reference) needs all before it,
// so the smallest number may be above 0. The largest number is found by growing a bound and then bisecting. Few attempts
// keep compiling cheap.
template <class T, fields_lie Where, std::size_t N = 0>
consteval std::size_t fewest_initialisers() {
  if constexpr (N > 4 * max_fields)
    return N;
  else if constexpr (takes<T, Where>(std::make_index_sequence<N>{}))
    return N;
  else
    return fewest_initialisers<T, Where, N + 1>();
}
template <class T, fields_lie Where, std::size_t Taken, std::size_t Refused>
consteval std::size_t most_between() {
  constexpr std::size_t middle = (Taken + Refused) / 2;
  if constexpr (middle == Taken)
    return Taken;
  else if constexpr (takes<T, Where>(std::make_index_sequence<middle>{}))
    return most_between<T, Where, middle, Refused>();
  else
    return most_between<T, Where, Taken, middle>();
}
template <class T, fields_lie Where, std::size_t Taken>
consteval std::size_t most_from() {
  constexpr std::size_t next = Taken < 4 ? 4 : 2 * Taken;
  if constexpr (Taken > 4 * max_fields)
    return Taken;
  else if constexpr (takes<T, Where>(std::make_index_sequence<next>{}))
    return most_from<T, Where, next>();
  else
    return most_between<T, Where, Taken, next>();
}
template <class T, fields_lie Where = fields_lie::in_struct>
consteval std::size_t initialiser_count() {
  constexpr std::size_t fewest = fewest_initialisers<T, Where>();
  if constexpr (fewest > 4 * max_fields)
    return 0;
  else
    return most_from<T, Where, fewest>();
}

// How many initialisers the field takes that initialiser I of Count belongs to: an array member `int a[3]` takes three.
// It is the largest number that can be replaced by one `{}`.
template <class T, fields_lie Where, std::size_t Count, std::size_t Index, std::size_t Extent = 1>
consteval std::size_t spread() {
  if constexpr (Index + Extent > Count)
    return 1;
  else if constexpr (takes_braces_between<T, Where>(std::make_index_sequence<Index>{},
                                                    std::make_index_sequence<Count - Index - Extent>{}))
    return Extent;
  else
    return spread<T, Where, Count, Index, Extent + 1>();
}
template <class T, fields_lie Where, std::size_t Count, std::size_t Index = 0>
consteval std::size_t count_spread_fields() {
  if constexpr (Index >= Count)
    return 0;
  else
    return 1 + count_spread_fields<T, Where, Count, Index + spread<T, Where, Count, Index>()>();
}

// How many of the Count initialisers are for base classes. These come first.
template <class T, class AnyBase, std::size_t... Base, std::size_t... After>
consteval bool starts_with_bases(std::index_sequence<Base...>, std::index_sequence<After...>) {
  return requires { T{(static_cast<void>(Base), AnyBase{})..., any_at<After>{}...}; };
}
template <class T, class AnyBase, std::size_t Count, std::size_t N = 0>
consteval std::size_t count_bases() {
  if constexpr (N == Count)
    return N;
  else if constexpr (starts_with_bases<T, AnyBase>(std::make_index_sequence<N + 1>{},
                                                   std::make_index_sequence<Count - N - 1>{}))
    return count_bases<T, AnyBase, Count, N + 1>();
  else
    return N;
}

template <class T>
consteval bool has_own_fields() {
  return !parentheses_spread && takes_own_fields<T>(std::make_index_sequence<initialiser_count<T>()>{});
}
template <class T>
consteval std::size_t odd_aggregate_size() {
  constexpr std::size_t n = initialiser_count<T>(), bases = count_bases<T, any_base_of<T>, n>();
  if constexpr (n == 1 && bases == 1)
    return count_spread_fields<T, fields_lie::in_base, initialiser_count<T, fields_lie::in_base>()>();
  else if constexpr (n == 0 || (!parentheses_spread && takes_unspread<T>(std::make_index_sequence<n>{})))
    return n - bases;
  else
    return count_spread_fields<T, fields_lie::in_struct, n, bases>();
}
template <class T>
consteval std::size_t aggregate_size() {
  if constexpr (has_own_fields<T>())
    return initialiser_count<T>();
  else
    return odd_aggregate_size<T>();
}

template <class T>
inline constexpr bool is_array_like = false;
template <class T, std::size_t N>
inline constexpr bool is_array_like<std::array<T, N>> = true;

template <class T>
consteval bool is_plain_struct() {
  if constexpr (!std::is_class_v<T> || !std::is_aggregate_v<T> || is_array_like<T>) {
    return false;
  } else if constexpr (has_own_fields<T>()) {
    return true;
  } else {
    constexpr std::size_t n = initialiser_count<T>(), bases = count_bases<T, any_base_of<T>, n>();
    if constexpr (bases == 1 && n == 1)  // the fields of a base are named in one go, unless it has a base itself
      return !requires { T{{any_base_of<T>{}}}; };
    else
      return count_bases<T, any_empty_base_of<T>, n>() == bases;
  }
}

}  // namespace detail

/// A plain struct: an aggregate class whose fields are all its own, or all those of its only base class. A struct with
/// both is a `described_record`.
template <class T>
concept aggregate_record = detail::is_plain_struct<std::remove_cv_t<T>>();

}  // namespace tokamax
