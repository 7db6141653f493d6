// tokamax/backend/cpu/vector/element.hpp: element functions on SIMD registers, and how registers are loaded and stored.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/compiled.cpp
#pragma once

#include <tokamax/backend/cpu/vector/narrow.hpp>             // load_bfloat16, load_int8
#include <tokamax/backend/cpu/vector/pack.hpp>               // pack
#include <tokamax/backend/cpu/vector/register_function.hpp>  // register_function
#include <tokamax/lax/convert.hpp>                           // element_of

#include <type_traits>  // conditional_t

namespace tokamax::cpu_backend {

namespace detail {
template <class T>
struct register_of {
  using type = std::conditional_t<sizeof(T) == 4, xsimd::batch<T>, pack<T>>;
};
template <>
struct register_of<bool> {
  using type = mask;
};
}  // namespace detail

/// The register that holds `width` elements of a dtype, in the type in which they are computed.
template <dtype T>
using register_t = typename detail::register_of<element_t<compute_dtype(T)>>::type;

/// The values of a register after rounding or wrapping to dtype T, as storing and loading them would give.
template <dtype T>
register_t<T> narrowed(register_t<T> v) noexcept {
  if constexpr (T == bf16) {
    return round_to_bfloat16(v);
  } else if constexpr (T == compute_dtype(T)) {
    return v;
  } else if constexpr (is_signed(T)) {
    return (v << (32 - bits_of(T))) >> (32 - bits_of(T));
  } else if constexpr (is_unsigned(T)) {
    return v & u32v((1u << bits_of(T)) - 1u);
  } else {
    return detail::load_floats<element_t<T>>(detail::store_floats<element_t<T>>(v).lane);
  }
}
/// Are registers wider than elements of dtype T?
template <dtype T>
inline constexpr bool is_narrow = T != compute_dtype(T);

namespace detail {
inline i32v mask_to_int(mask m) noexcept { return select_bits(m, i32v(1), i32v(0)); }
inline mask int_to_mask(i32v v) noexcept { return to_mask(v != i32v(0)); }

inline mask load_bool(const bool* p, std::int64_t n) noexcept {
  if (n == width) return int_to_mask(load_uint8(reinterpret_cast<const std::uint8_t*>(p)));
  std::uint8_t bytes[f32v::size] = {};
  std::memcpy(bytes, p, static_cast<std::size_t>(n));
  vector_t<std::uint8_t, f32v::size> b;
  std::memcpy(&b, bytes, sizeof b);
  return int_to_mask(from_native<i32v>(__builtin_convertvector(b, native_t<i32v>)));
}
inline void store_bool(bool* p, mask m, std::int64_t n) noexcept {
  const auto b = low_bytes(mask_to_int(m));
  std::memcpy(p, &b, static_cast<std::size_t>(n));
}
}  // namespace detail

/// Elements p[0], p[stride], ..., n <= width of them; Full promises n == width.
template <dtype T, bool Full>
register_t<T> read(const std::byte* p, std::int64_t n) noexcept {
  if constexpr (T == bool_) {
    return detail::load_bool(reinterpret_cast<const bool*>(p), Full ? width : n);
  } else if constexpr (T == bf16) {
    const auto* q = reinterpret_cast<const std::uint16_t*>(p);
    if constexpr (Full)
      return load_bfloat16(q);
    else
      return load_bfloat16_partial(q, n);
  } else if constexpr (T == i8) {
    return Full ? load_int8(reinterpret_cast<const std::int8_t*>(p))
                : load_int8(reinterpret_cast<const std::int8_t*>(p), n);
  } else if constexpr (detail::is_pack<register_t<T>>) {
    register_t<T> v{};
    std::memcpy(v.lane, p, static_cast<std::size_t>(Full ? width : n) * sizeof(element_t<T>));
    return v;
  } else if constexpr (is_narrow<T> && is_integer(T)) {
    return detail::load_integers<register_t<T>>(reinterpret_cast<const element_t<T>*>(p), Full ? width : n);
  } else if constexpr (is_narrow<T>) {
    return detail::load_floats(reinterpret_cast<const element_t<T>*>(p), Full ? width : n);
  } else {
    using V = register_t<T>;
    const auto* q = reinterpret_cast<const typename V::value_type*>(p);
    if constexpr (Full)
      return load<V>(q);
    else
      return load_partial<V>(q, n);
  }
}

/// The same with any stride, in elements.
template <dtype T>
register_t<T> read_strided(const std::byte* p, std::int64_t stride, std::int64_t n) noexcept {
  alignas(64) element_t<T> lanes[f32v::size] = {};
  const auto* q = reinterpret_cast<const element_t<T>*>(p);
  for (std::int64_t i = 0; i < n; ++i) lanes[i] = q[i * stride];
  return read<T, true>(reinterpret_cast<const std::byte*>(lanes), width);
}

template <dtype T, bool Full>
void write(std::byte* p, register_t<T> v, std::int64_t n) noexcept {
  if constexpr (T == bool_) {
    detail::store_bool(reinterpret_cast<bool*>(p), v, Full ? width : n);
  } else if constexpr (T == bf16) {
    auto* q = reinterpret_cast<std::uint16_t*>(p);
    store_upper_halves(q, v, Full ? width : n);  // narrowed() has rounded the register already
  } else if constexpr (T == i8) {
    store_int8(reinterpret_cast<std::int8_t*>(p), v, Full ? width : n);
  } else if constexpr (detail::is_pack<register_t<T>>) {
    std::memcpy(p, v.lane, static_cast<std::size_t>(Full ? width : n) * sizeof(element_t<T>));
  } else if constexpr (is_narrow<T> && is_integer(T)) {
    detail::store_integers(reinterpret_cast<element_t<T>*>(p), v, Full ? width : n);
  } else if constexpr (is_narrow<T>) {
    const auto narrow = detail::store_floats<element_t<T>>(v);
    std::memcpy(p, narrow.lane, static_cast<std::size_t>(Full ? width : n) * sizeof(element_t<T>));
  } else {
    auto* q = reinterpret_cast<typename register_t<T>::value_type*>(p);
    if constexpr (Full)
      store(q, v);
    else
      store_partial(q, v, n);
  }
}

/// One value in every lane.
template <dtype T>
register_t<T> splat(element_bits v) noexcept {
  const auto value = v.as<element_t<T>>();
  if constexpr (T == bool_)
    return value ? to_mask(i32v(0) == i32v(0)) : to_mask(i32v(0) != i32v(0));
  else
    return register_t<T>(static_cast<typename register_t<T>::value_type>(value));
}

namespace detail {
inline i32v counts(std::int64_t first, std::int64_t step) noexcept {
  return i32v(static_cast<std::int32_t>(first)) + iota() * i32v(static_cast<std::int32_t>(step));
}
/// Counts as elements of dtype T, which has at most 32 bits.
template <dtype T>
register_t<T> from_counts(i32v v) noexcept {
  if constexpr (is_signed(T))
    return narrowed<T>(v);
  else if constexpr (is_unsigned(T))
    return narrowed<T>(bitcast<u32v>(v));
  else if constexpr (T == bool_)
    return detail::int_to_mask(v);
  else
    return narrowed<T>(xsimd::to_float(v));
}
}  // namespace detail

/// first, first + step, ... as elements of dtype T.
template <dtype T>
register_t<T> count_from(std::int64_t first, std::int64_t step) noexcept {
  if constexpr (detail::is_pack<register_t<T>>) {
    register_t<T> p;
    for (std::size_t i = 0; i < f32v::size; ++i)
      p.lane[i] = static_cast<element_t<T>>(first + static_cast<std::int64_t>(i) * step);
    return p;
  } else {
    return detail::from_counts<T>(detail::counts(first, step));
  }
}

namespace detail {
/// u32 to f32: exact halves, then one rounding.
inline f32v unsigned_to_float(u32v v) noexcept {
  return from_native<f32v>(__builtin_convertvector(native(v), native_t<f32v>));
}
inline i32v float_to_int(f32v v) noexcept {  // toward zero; NaN is 0, out of range is the nearest end
  const f32v top(2147483648.0f);
  const i32v cut =
      from_native<i32v>(__builtin_convertvector(native(select(abs(v) < top, v, f32v(0.0f))), native_t<i32v>));
  const i32v high = select_bits(v >= top, i32v(std::numeric_limits<std::int32_t>::max()), cut);
  return select_bits(v <= -top, i32v(std::numeric_limits<std::int32_t>::min()), high);
}
inline u32v float_to_unsigned(f32v v) noexcept {
  const f32v half(2147483648.0f), top(4294967296.0f);
  const mask big = v >= half;
  const u32v low = bitcast<u32v>(float_to_int(select(big, v - half, v)));
  const u32v cut = select_bits(big, low + u32v(0x80000000u), low);
  return select_bits(v >= top, u32v(0xffffffffu), select_bits(v > f32v(0.0f), cut, u32v(0u)));
}
/// Conversions between the dtypes that registers hold.
template <dtype To, dtype From>
register_t<To> convert_words(register_t<From> v) noexcept {
  if constexpr (To == From)
    return v;
  else if constexpr (is_pack<register_t<To>> || is_pack<register_t<From>>)
    return convert_lanes<register_t<To>>(v);
  else if constexpr (From == bool_) {
    if constexpr (To == f32)
      return select(v, f32v(1.0f), f32v(0.0f));
    else
      return select_bits(v, register_t<To>(1), register_t<To>(0));
  } else if constexpr (To == bool_) {
    if constexpr (From == f32)
      return !(v == f32v(0.0f));
    else
      return to_mask(v != register_t<From>(0));
  } else if constexpr (To == f32) {
    if constexpr (From == i32)
      return xsimd::to_float(v);
    else
      return unsigned_to_float(v);
  } else if constexpr (From == f32) {
    if constexpr (To == i32)
      return float_to_int(v);
    else
      return float_to_unsigned(v);
  } else {
    return bitcast<register_t<To>>(v);
  }
}
/// Integers in a register that come from floats, limited to the range of a narrow dtype.
template <dtype T>
register_t<T> saturated(register_t<T> v) noexcept {
  using V = register_t<T>;
  using limits = std::numeric_limits<element_t<T>>;
  using lane = typename V::value_type;
  return max(min(v, V(static_cast<lane>(limits::max()))), V(static_cast<lane>(limits::lowest())));
}
}  // namespace detail

/// convert_element_type from register to register.
template <dtype To, dtype From>
register_t<To> convert(register_t<From> v) noexcept {
  if constexpr (To == From) {
    return v;
  } else {
    const auto word = detail::convert_words<compute_dtype(To), compute_dtype(From)>(v);
    if constexpr (!is_narrow<To>)
      return word;
    else if constexpr (is_integer(To) && is_floating(From))
      return detail::saturated<To>(word);
    else
      return narrowed<To>(word);
  }
}

namespace detail {
inline mask canonical(mask m) noexcept { return m; }
template <class T>
mask canonical(xsimd::batch_bool<T> m) noexcept {
  return to_mask(m);
}
template <class V>
V canonical(V v) noexcept {
  return v;
}

/// A predicate in the form that `select` needs for these values.
template <class V>
auto predicate_for(mask m) noexcept {
  if constexpr (std::is_same_v<V, i32v> || std::is_same_v<V, u32v>)
    return xsimd::batch_bool<typename V::value_type>(
        __builtin_bit_cast(typename xsimd::batch_bool<typename V::value_type>::register_type, m.data));
  else
    return m;
}
}  // namespace detail

/// Applies the element function of Op to registers. The result is a register of dtype Result.
template <const op& Op, dtype Result, class A, class... Rest>
auto apply_element(A a, Rest... rest) noexcept {
  using F = register_function<Op>;
  if constexpr (detail::is_pack<A> || (detail::is_pack<Rest> || ...)) {
    return detail::apply_lanes<element_of<Op>>(detail::lanes_of(a), detail::lanes_of(rest)...);
  } else if constexpr (sizeof...(Rest) == 2 && std::is_same_v<A, mask>) {
    using V = std::tuple_element_t<0, std::tuple<Rest...>>;
    if constexpr (std::is_same_v<V, mask>) {
      return [](mask m, mask x, mask y) { return (m & x) | (~m & y); }(a, rest...);
    } else {
      return F::apply(detail::predicate_for<V>(a), rest...);
    }
  } else if constexpr (is_narrow<Result>) {
    return narrowed<Result>(F::apply(a, rest...));
  } else {
    return detail::canonical(F::apply(a, rest...));
  }
}

}  // namespace tokamax::cpu_backend
