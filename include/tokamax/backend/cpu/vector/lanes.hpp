// tokamax/backend/cpu/vector/lanes.hpp: how kernels read and write vectors of each element type.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/reduce.cpp
#pragma once

#include <tokamax/backend/cpu/vector/narrow.hpp>  // load_bfloat16, store_bfloat16, load_int8
#include <tokamax/backend/cpu/vector/pack.hpp>    // load_floats, load_integers
#include <tokamax/backend/cpu/vector/simd.hpp>    // f32v, load, store
#include <tokamax/base/element.hpp>               // bfloat16

namespace tokamax::cpu_backend {

/// How kernels handle vectors of T. `vector` is the type in which they compute, `scalar` is one lane of it (f32 for
/// bfloat16, i32 for i8), and `size` is the number of lanes.
///
/// load(p), store(p, v)        whole vectors, from and to addresses of any alignment
/// load(p, n, padding)         the first n lanes from memory, the others equal to `padding`; reads no element behind n
/// store(p, v, n)              the first n lanes only
/// all(v)                      a vector with v in every lane
template <class T>
struct lanes {
  using scalar = T;
  using vector = xsimd::batch<T>;
  static constexpr std::int64_t size = width;
  static vector load(const T* p) noexcept { return cpu_backend::load<vector>(p); }
  static vector load(const T* p, std::int64_t n, T padding) noexcept { return load_partial<vector>(p, n, padding); }
  static void store(T* p, vector v) noexcept { cpu_backend::store(p, v); }
  static void store(T* p, vector v, std::int64_t n) noexcept { store_partial(p, v, n); }
  static vector all(T v) noexcept { return vector(v); }
};

/// bfloat16 is loaded as its bits, which are the upper halves of f32.
template <>
struct lanes<bfloat16> {
  using scalar = float;
  using vector = f32v;
  static constexpr std::int64_t size = width;
  static_assert(sizeof(bfloat16) == sizeof(std::uint16_t));
  static vector load(const bfloat16* p) noexcept { return load_bfloat16(reinterpret_cast<const std::uint16_t*>(p)); }
  static vector load(const bfloat16* p, std::int64_t n, float padding) noexcept {
    return select(first_lanes(n), load_bfloat16_partial(reinterpret_cast<const std::uint16_t*>(p), n), f32v(padding));
  }
  static void store(bfloat16* p, vector v) noexcept { store_bfloat16(reinterpret_cast<std::uint16_t*>(p), v); }
  static void store(bfloat16* p, vector v, std::int64_t n) noexcept {
    store_bfloat16_partial(reinterpret_cast<std::uint16_t*>(p), v, n);
  }
  static vector all(float v) noexcept { return vector(v); }
};

/// int8 has its own instructions for loading and storing, so it does not use the general case below.
template <>
struct lanes<std::int8_t> {
  using scalar = std::int32_t;
  using vector = i32v;
  static constexpr std::int64_t size = width;
  static vector load(const std::int8_t* p) noexcept { return load_int8(p); }
  static vector load(const std::int8_t* p, std::int64_t n, std::int32_t padding) noexcept {
    return select_bits(first_lanes(n), load_int8(p, n), i32v(padding));
  }
  static void store(std::int8_t* p, vector v) noexcept { store_int8(p, v); }
  static void store(std::int8_t* p, vector v, std::int64_t n) noexcept { store_int8(p, v, n); }
  static vector all(std::int32_t v) noexcept { return vector(v); }
};

/// Floats of 8 and 16 bits are computed as f32, and narrow integers as 32-bit words.
template <class T>
  requires(sizeof(T) < 4)
struct lanes<T> {
  using scalar = element_t<compute_dtype(dtype_of<T>)>;
  using vector = xsimd::batch<scalar>;
  static constexpr std::int64_t size = width;
  static vector load(const T* p) noexcept { return first(p, width); }
  static vector load(const T* p, std::int64_t n, scalar padding) noexcept {
    if constexpr (std::is_same_v<scalar, float>)
      return select(first_lanes(n), first(p, n), vector(padding));
    else
      return select_bits(first_lanes(n), first(p, n), vector(padding));
  }
  static void store(T* p, vector v) noexcept { store(p, v, width); }
  static void store(T* p, vector v, std::int64_t n) noexcept {
    if constexpr (is_integer(dtype_of<T>)) {
      detail::store_integers(p, v, n);
    } else {
      const pack<T> narrow = detail::store_floats<T>(v);
      std::memcpy(p, narrow.lane, static_cast<std::size_t>(n) * sizeof(T));
    }
  }
  static vector all(scalar v) noexcept { return vector(v); }

 private:
  static vector first(const T* p, std::int64_t n) noexcept {
    if constexpr (is_integer(dtype_of<T>))
      return detail::load_integers<vector>(p, n);
    else
      return detail::load_floats(p, n);
  }
};

/// Numbers of 64 bits have half as many lanes. Their partial loads and stores take the way through a small buffer.
template <class T>
  requires(sizeof(T) == 8)
struct lanes<T> {
  using scalar = T;
  using vector = xsimd::batch<T>;
  static constexpr std::int64_t size = static_cast<std::int64_t>(vector::size);
  static vector load(const T* p) noexcept { return vector::load_unaligned(p); }
  static vector load(const T* p, std::int64_t n, T padding) noexcept {
    T whole[vector::size];
    for (T& v : whole) v = padding;
    std::memcpy(whole, p, static_cast<std::size_t>(n) * sizeof(T));
    return vector::load_unaligned(whole);
  }
  static void store(T* p, vector v) noexcept { v.store_unaligned(p); }
  static void store(T* p, vector v, std::int64_t n) noexcept {
    T whole[vector::size];
    v.store_unaligned(whole);
    std::memcpy(p, whole, static_cast<std::size_t>(n) * sizeof(T));
  }
  static vector all(T v) noexcept { return vector(v); }
};

/// Truth values are bytes that are 0 or 1. Eight of them lie in one word, on which bitwise logic works.
template <>
struct lanes<bool> {
  using scalar = bool;
  using vector = std::uint64_t;
  static constexpr std::int64_t size = 8;
  static vector load(const bool* p) noexcept {
    vector v;
    std::memcpy(&v, p, sizeof v);
    return v;
  }
  static vector load(const bool* p, std::int64_t n, bool padding) noexcept {
    vector v = all(padding);
    std::memcpy(&v, p, static_cast<std::size_t>(n));
    return v;
  }
  static void store(bool* p, vector v) noexcept { std::memcpy(p, &v, sizeof v); }
  static void store(bool* p, vector v, std::int64_t n) noexcept { std::memcpy(p, &v, static_cast<std::size_t>(n)); }
  static vector all(bool v) noexcept { return v ? 0x0101010101010101u : 0u; }
};

/// Calls f with a null pointer to an unsigned integer of the size of an element, for kernels that only move elements.
template <class F>
void dispatch_size(dtype t, F f) {
  switch (size_of(t)) {
    case 1:
      return f(static_cast<std::uint8_t*>(nullptr));
    case 2:
      return f(static_cast<std::uint16_t*>(nullptr));
    case 4:
      return f(static_cast<std::uint32_t*>(nullptr));
    case 8:
      return f(static_cast<std::uint64_t*>(nullptr));
  }
  throw error(error_kind::internal, "dtype", std::string(name(t)), "elements of 1, 2, 4 or 8 bytes");
}

}  // namespace tokamax::cpu_backend
