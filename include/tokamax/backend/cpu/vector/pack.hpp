// tokamax/backend/cpu/vector/pack.hpp: a register of any element type, for types that do not fit into 32-bit lanes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/dtypes.cpp
#pragma once

#include <tokamax/backend/cpu/vector/simd.hpp>  // width, mask
#include <tokamax/base/element.hpp>             // converted
#include <tokamax/base/modular.hpp>             // modular

namespace tokamax::cpu_backend {

/// `width` elements as a plain array. Ops apply their element functions lane by lane, and the compiler vectorises that
/// where it can. This is correct for every type, and not tuned for any.
template <class T>
struct pack {
  using value_type = T;
  T lane[f32v::size];

  pack() = default;
  explicit pack(T v) noexcept {
    for (T& x : lane) x = v;
  }
};

namespace detail {
/// A lane as an argument of element functions. Integers wrap around.
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
  v.store_unaligned(p.lane);
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
    return to_mask(i32v::load_unaligned(flags.lane) != i32v(0));
  } else {
    return V::load_unaligned(p.lane);
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
/// Loads n <= width floats of 8 or 16 bits; the other lanes are zero.
template <class T>
f32v load_floats(const T* p, std::int64_t n = width) noexcept {
#if defined(__F16C__)
  if constexpr (std::is_same_v<T, float16> && f32v::size == 8) {
    __m128i half{};
    std::memcpy(&half, p, static_cast<std::size_t>(n) * sizeof(T));
    return f32v(_mm256_cvtph_ps(half));
  }
#endif
  alignas(64) float lanes[f32v::size] = {};
  for (std::int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return f32v::load_aligned(lanes);
}
/// Stores n <= width lanes, rounded to the nearest float of 8 or 16 bits.
template <class T>
pack<T> store_floats(f32v v) noexcept {
  pack<T> p;
#if defined(__F16C__)
  if constexpr (std::is_same_v<T, float16> && f32v::size == 8) {
    const __m128i half = _mm256_cvtps_ph(v.data, _MM_FROUND_TO_NEAREST_INT);
    std::memcpy(static_cast<void*>(p.lane), &half, sizeof half);
    return p;
  }
#endif
  const pack<float> wide = lanes_of(v);
  for (std::size_t i = 0; i < f32v::size; ++i) p.lane[i] = T(wide.lane[i]);
  return p;
}
/// The built-in integer that holds an element of an integer dtype.
template <class T>
struct memory_of {
  using type = T;
};
template <int Bits, bool Signed>
struct memory_of<small_integer<Bits, Signed>> {
  using type = typename small_integer<Bits, Signed>::storage;
};
template <class T>
using memory_integer = typename memory_of<T>::type;

/// Loads n <= width integers of at most 16 bits, and stores them.
template <class V, class T>
V load_integers(const T* p, std::int64_t n) noexcept {
  static_assert(sizeof(memory_integer<T>) == sizeof(T));
  vector_t<memory_integer<T>, f32v::size> narrow{};
  std::memcpy(&narrow, p, static_cast<std::size_t>(n) * sizeof(T));
  return from_native<V>(__builtin_convertvector(narrow, native_t<V>));
}
template <class T, class V>
void store_integers(T* p, V v, std::int64_t n) noexcept {
  const auto narrow = __builtin_convertvector(native(v), vector_t<memory_integer<T>, f32v::size>);
  std::memcpy(static_cast<void*>(p), &narrow, static_cast<std::size_t>(n) * sizeof(T));
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

}  // namespace tokamax::cpu_backend
