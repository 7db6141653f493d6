// tokamax/backend/cpu/vector/register_function.hpp: the functions of elementwise ops on SIMD registers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/compiled.cpp
#pragma once

#include <tokamax/backend/cpu/vector/elementary.hpp>  // exp, power, f32v
#include <tokamax/lax/elementwise/bitwise.hpp>        // shift_left_p
#include <tokamax/lax/elementwise/compare.hpp>        // element_of
#include <tokamax/lax/elementwise/logaddexp.hpp>      // logaddexp_p
#include <tokamax/lax/elementwise/special.hpp>        // fma_p
#include <tokamax/lax/elementwise/unary.hpp>          // tanh_p, neg_p
#include <tokamax/ops/activations.hpp>                // gelu_p

namespace tokamax::cpu_backend {

namespace detail {
/// Numbers without a sign as numbers with one, in the same order.
inline i32v in_signed_order(u32v v) noexcept { return bitcast<i32v>(v ^ u32v(0x80000000u)); }
#if defined(__AVX512F__)
inline __m512i shifted_left(__m512i v, __m512i by) noexcept { return _mm512_maskz_sllv_epi32(0xffff, v, by); }
inline __m512i shifted_right(__m512i v, __m512i by) noexcept { return _mm512_maskz_srlv_epi32(0xffff, v, by); }
#elif defined(__AVX2__)
inline __m256i shifted_left(__m256i v, __m256i by) noexcept { return _mm256_sllv_epi32(v, by); }
inline __m256i shifted_right(__m256i v, __m256i by) noexcept { return _mm256_srlv_epi32(v, by); }
#endif
}  // namespace detail

/// The function of an op on registers. It is the element function, unless a specialisation here is faster or more exact, or
/// avoids a function of xsimd that is wrong on registers of 512 bits: there -0 becomes 0 and fma rounds twice.
template <const op& Op>
struct register_function : element_of<Op> {};
template <>
struct register_function<tanh_p> {
  static f32v apply(f32v x) noexcept { return tanh_rational(x); }
};
template <>
struct register_function<neg_p> : element_of<neg_p> {
  using element_of<neg_p>::apply;
  static f32v apply(f32v x) noexcept { return bitcast<f32v>(bitcast<u32v>(x) ^ u32v(0x80000000u)); }
};
template <>
struct register_function<fma_p> {
  static f32v apply(f32v a, f32v b, f32v c) noexcept { return fma(a, b, c); }
};
template <>
struct register_function<exp_p> {
  static f32v apply(f32v x) noexcept { return exp(x); }
};
template <>
struct register_function<expm1_p> {
  static f32v apply(f32v x) noexcept { return expm1(x); }
};
template <>
struct register_function<log1p_p> {
  static f32v apply(f32v x) noexcept { return log1p(x); }
};
template <>
struct register_function<logistic_p> {
  static f32v apply(f32v x) noexcept { return logistic(x); }
};
template <>
struct register_function<logaddexp_p> {
  static f32v apply(f32v x, f32v y) noexcept { return logaddexp(x, y); }
};
template <>
struct register_function<pow_p> {
  static f32v apply(f32v x, f32v y) noexcept { return power(x, y); }
};
template <>
struct register_function<normal_cdf_p> {
  static f32v apply(f32v x) noexcept { return normal_cdf(x); }
};
template <>
struct register_function<gelu_p> {
  static f32v apply(f32v x) noexcept { return gelu(x); }
};
template <>
struct register_function<max_p> : element_of<max_p> {
  using element_of<max_p>::apply;
  static f32v apply(f32v a, f32v b) noexcept { return maximum(a, b); }
};
template <>
struct register_function<min_p> : element_of<min_p> {
  using element_of<min_p>::apply;
  static f32v apply(f32v a, f32v b) noexcept { return minimum(a, b); }
};

// Comparisons of u32: xsimd splits registers of 256 bits for them.
template <>
struct register_function<lt_p> : element_of<lt_p> {
  using element_of<lt_p>::apply;
  static auto apply(u32v a, u32v b) noexcept { return detail::in_signed_order(a) < detail::in_signed_order(b); }
};
template <>
struct register_function<le_p> : element_of<le_p> {
  using element_of<le_p>::apply;
  static auto apply(u32v a, u32v b) noexcept { return detail::in_signed_order(a) <= detail::in_signed_order(b); }
};
template <>
struct register_function<gt_p> : element_of<gt_p> {
  using element_of<gt_p>::apply;
  static auto apply(u32v a, u32v b) noexcept { return detail::in_signed_order(a) > detail::in_signed_order(b); }
};
template <>
struct register_function<ge_p> : element_of<ge_p> {
  using element_of<ge_p>::apply;
  static auto apply(u32v a, u32v b) noexcept { return detail::in_signed_order(a) >= detail::in_signed_order(b); }
};
#if defined(__AVX2__)
// Shifts: these instructions move every bit out by themselves if the amount is not below 32.
template <>
struct register_function<shift_left_p> : element_of<shift_left_p> {
  using element_of<shift_left_p>::apply;
  static i32v apply(i32v a, i32v s) noexcept { return i32v(detail::shifted_left(a.data, s.data)); }
  static u32v apply(u32v a, u32v s) noexcept { return u32v(detail::shifted_left(a.data, s.data)); }
};
template <>
struct register_function<shift_right_logical_p> : element_of<shift_right_logical_p> {
  using element_of<shift_right_logical_p>::apply;
  static u32v apply(u32v a, u32v s) noexcept { return u32v(detail::shifted_right(a.data, s.data)); }
};
#endif

}  // namespace tokamax::cpu_backend
