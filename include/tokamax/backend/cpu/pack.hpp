// tokamax/backend/cpu/pack.hpp: a register of any element type, for those that 32-bit lanes do not hold.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/dtypes.cpp
#pragma once

#include <tokamax/backend/cpu/simd.hpp>  // width, mask
#include <tokamax/base/element.hpp>      // converted
#include <tokamax/base/modular.hpp>      // modular

namespace tokamax::simd {

/// `width` elements as a plain array. What ops compute on it, they compute lane by lane with their element functions: the
/// compiler makes vectors of that where it can. Correct for every type, fast for none in particular.
template <class T>
struct pack {
  using value_type = T;
  alignas(64) T lane[f32v::size];

  pack() = default;
  explicit pack(T v) noexcept {
    for (T& x : lane) x = v;
  }
};

namespace detail {
/// A lane as element functions take it: integers wrap around.
template <class T>
auto lane_value(T v) noexcept {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return modular<T>(v);
  else
    return v;
}
template <class T>
T plain_value(T v) noexcept {
  return v;
}
template <class T>
T plain_value(modular<T> v) noexcept {
  return v.value;
}

/// The lanes of any register as a plain array.
template <class T>
const pack<T>& lanes_of(const pack<T>& v) noexcept {
  return v;
}
template <class T>
pack<T> lanes_of(xsimd::batch<T> v) noexcept {
  pack<T> p;
  v.store_aligned(p.lane);
  return p;
}
inline pack<bool> lanes_of(mask m) noexcept {
  const pack<std::int32_t> flags = lanes_of(select_bits(m, i32v(1), i32v(0)));
  pack<bool> p;
  for (std::size_t i = 0; i < f32v::size; ++i) p.lane[i] = flags.lane[i] != 0;
  return p;
}
/// The register of a plain array.
template <class V, class T>
V from_lanes(const pack<T>& p) noexcept {
  if constexpr (std::is_same_v<V, pack<T>>) {
    return p;
  } else if constexpr (std::is_same_v<V, mask>) {
    pack<std::int32_t> flags;
    for (std::size_t i = 0; i < f32v::size; ++i) flags.lane[i] = p.lane[i];
    return to_mask(i32v::load_aligned(flags.lane) != i32v(0));
  } else {
    return V::load_aligned(p.lane);
  }
}

template <class V>
inline constexpr bool is_pack = false;
template <class T>
inline constexpr bool is_pack<pack<T>> = true;

/// F::apply on each lane.
template <class F, class... T>
auto apply_lanes(const pack<T>&... x) noexcept {
  using result = decltype(plain_value(F::apply(lane_value(x.lane[0])...)));
  if constexpr (std::is_same_v<result, bool>) {
    pack<bool> y;
    for (std::size_t i = 0; i < f32v::size; ++i) y.lane[i] = F::apply(lane_value(x.lane[i])...);
    return from_lanes<mask>(y);
  } else {
    pack<result> y;
    for (std::size_t i = 0; i < f32v::size; ++i) y.lane[i] = plain_value(F::apply(lane_value(x.lane[i])...));
    return y;
  }
}
}  // namespace detail

/// The values of a register converted to another type, lane by lane.
template <class To, class From>
To convert_lanes(const From& v) noexcept {
  const auto from = detail::lanes_of(v);
  using T = std::conditional_t<std::is_same_v<To, mask>, pack<bool>, pack<typename To::value_type>>;
  pack<typename T::value_type> to;
  for (std::size_t i = 0; i < f32v::size; ++i) to.lane[i] = converted<typename T::value_type>(from.lane[i]);
  return detail::from_lanes<To>(to);
}

}  // namespace tokamax::simd
