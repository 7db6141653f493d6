// tokamax/backend/cpu/loop/tile.hpp: elements in the memory of an interpreted loop, and the tile loop of an elementwise op.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/interpreted.cpp
#pragma once

#include <tokamax/backend/cpu/vector/element.hpp>  // apply_element, read, write

namespace tokamax::cpu_backend {

/// A function over the tiles of a line's operands: n elements, and those that fill the last vector.
using tile_function = void (*)(void* out, const void* const* in, std::int64_t n);

namespace detail {

/// The bytes of an element in a tile, which holds elements as they are computed: 4, or 8 for 64-bit dtypes. A bool has 4
/// bytes, whose bits are all equal.
template <dtype T>
inline constexpr std::int64_t tile_bytes = T == bool_ ? 4 : size_of(compute_dtype(T));

/// A predicate as the bits of a 32-bit element: all of them are set where it is true.
inline i32v bits_of_mask(mask m) noexcept {
  if constexpr (sizeof(mask::register_type) == sizeof(i32v::register_type))
    return i32v(__builtin_bit_cast(i32v::register_type, m.data));
  else
    return select_bits(m, i32v(-1), i32v(0));
}
inline mask mask_of_bits(i32v v) noexcept {
  if constexpr (sizeof(mask::register_type) == sizeof(i32v::register_type))
    return mask(__builtin_bit_cast(mask::register_type, v.data));
  else
    return int_to_mask(v);
}

template <dtype T>
register_t<T> from_tile(const void* p) noexcept {
  if constexpr (T == bool_)
    return mask_of_bits(load<i32v>(static_cast<const std::int32_t*>(p)));
  else if constexpr (is_pack<register_t<T>>)
    return read<T, true>(static_cast<const std::byte*>(p), width);
  else
    return load<register_t<T>>(static_cast<const typename register_t<T>::value_type*>(p));
}
inline void to_tile(void* p, f32v v) noexcept { store(static_cast<float*>(p), v); }
inline void to_tile(void* p, i32v v) noexcept { store(static_cast<std::int32_t*>(p), v); }
inline void to_tile(void* p, u32v v) noexcept { store(static_cast<std::uint32_t*>(p), v); }
inline void to_tile(void* p, mask m) noexcept { to_tile(p, bits_of_mask(m)); }
template <class T>
void to_tile(void* p, const pack<T>& v) noexcept {
  std::memcpy(p, v.lane, sizeof v.lane);
}

/// Calls f with the number of the first element of each vector.
template <class F>
void each_vector(std::int64_t n, F f) noexcept {
  for (std::int64_t i = 0; i < n; i += width) f(i);
}
/// Reads and writes the vector that begins with element `at` of a tile of dtype T.
template <dtype T>
register_t<T> tile_at(const void* p, std::int64_t at) noexcept {
  return from_tile<T>(static_cast<const std::byte*>(p) + at * tile_bytes<T>);
}
template <dtype T, class V>
void set_tile(void* p, std::int64_t at, const V& v) noexcept {
  to_tile(static_cast<std::byte*>(p) + at * tile_bytes<T>, v);
}

/// The dtype of operand number `k` of an op on operands of dtype T.
template <const op& Op, dtype T>
constexpr dtype operand_dtype(int k) {
  return &Op == &select_p && k == 0 ? bool_ : T;
}

// Applies the element function of Op to n elements of tiles: the same function that compiled loops use, so that both give the
// same bits.
template <const op& Op, dtype T, int Arity>
void tile_loop(void* out, const void* const* in, std::int64_t n) {
  const auto put = [out](std::int64_t at, const auto& v) {  // truth values take 4 bytes
    constexpr std::int64_t bytes = std::is_same_v<decltype(v), const mask&> ? 4 : tile_bytes<T>;
    to_tile(static_cast<std::byte*>(out) + at * bytes, v);
  };
  each_vector(n, [&](std::int64_t at) {
    if constexpr (Arity == 1)
      put(at, apply_element<Op, f32>(tile_at<T>(in[0], at)));
    else if constexpr (Arity == 2)
      put(at, apply_element<Op, f32>(tile_at<T>(in[0], at), tile_at<T>(in[1], at)));
    else
      put(at, apply_element<Op, f32>(tile_at<operand_dtype<Op, T>(0)>(in[0], at), tile_at<T>(in[1], at),
                                     tile_at<T>(in[2], at)));
  });
}

template <dtype To, dtype From>
void convert_loop(void* out, const void* const* in, std::int64_t n) {
  each_vector(n, [&](std::int64_t at) { set_tile<To>(out, at, convert<To, From>(tile_at<From>(in[0], at))); });
}
/// Rounds or wraps elements that are in the type in which T is computed, or limits them to the range of T.
template <dtype T>
void narrow_loop(void* out, const void* const* in, std::int64_t n) {
  each_vector(n, [&](std::int64_t at) { set_tile<T>(out, at, narrowed<T>(tile_at<T>(in[0], at))); });
}
template <dtype T>
void saturate_loop(void* out, const void* const* in, std::int64_t n) {
  each_vector(n, [&](std::int64_t at) { set_tile<T>(out, at, saturated<T>(tile_at<T>(in[0], at))); });
}
/// Reads elements of an array of dtype T, and writes them.
template <dtype T>
void load_loop(void* out, const void* const* in, std::int64_t n) {
  const auto* from = static_cast<const std::byte*>(in[0]);
  each_vector(n, [&](std::int64_t at) { set_tile<T>(out, at, read<T, true>(from + at * tokamax::size_of(T), width)); });
}
template <dtype T>
void store_loop(void* out, const void* const* in, std::int64_t n) {
  auto* to = static_cast<std::byte*>(out);
  each_vector(n, [&](std::int64_t at) { write<T, true>(to + at * tokamax::size_of(T), tile_at<T>(in[0], at), width); });
}

// Is the op defined for operands of this dtype?
constexpr bool takes(const op& o, dtype t) {
  if (t == bool_) return o.dtypes == accepts::all || o.dtypes == accepts::booleans;
  return o.dtypes == accepts::all || o.dtypes == accepts::numbers ||
         o.dtypes == (is_integer(t) ? accepts::integers : accepts::floating);
}

template <const op& Op>
constexpr int arity() {
  if constexpr (requires(double x) { element_of<Op>::apply(x); })
    return 1;
  else if constexpr (requires(double x) { element_of<Op>::apply(x, x); })
    return 2;
  else
    return 3;
}

}  // namespace detail

}  // namespace tokamax::cpu_backend
