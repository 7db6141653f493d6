// tokamax/backend/cuda/text/numbers.hpp: device text: the dtypes in memory, and the numbers in which they are computed.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// Every compilation begins with this text, which opens a namespace, and ends with `numbers_end`. It needs no header of the
/// toolkit. `KERNEL(name, data)` stands before the body
/// of a kernel whose only parameter is the record `d`, all of whose fields take 8 bytes. A text whose kernels shall use few
/// registers defines BOUNDS anew, as __launch_bounds__ of its blocks.
inline constexpr std::string_view numbers = R"text(
#define KERNEL(name, data) extern "C" __global__ BOUNDS void name(const __grid_constant__ data d)
#define BOUNDS
namespace tokamax_text {

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

inline u32 bits(f32 x) { return __float_as_uint(x); }
inline f32 float_of(u32 x) { return __uint_as_float(x); }

// Single instructions of GPUs. The emulation of tests computes the same in another way.
#ifdef __CUDA_ARCH__
inline u32 bf16_pair(f32 low, f32 high) {  // two numbers rounded to bf16, side by side
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
inline u16 f16_of(f32 x) {
  u16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
inline f32 wide_f16(u16 x) {
  f32 r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
  return r;
}
inline f32 quick_exp2(f32 x) {  // within two units in the last place; subnormals become 0
  f32 r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
inline f32 quick_reciprocal(f32 x) {  // within one unit in the last place; subnormals become 0
  f32 r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
#else
inline u32 bf16_of(f32 x) {
  const u32 b = bits(x);
  return x != x ? b >> 16 | 0x40u : (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
}
inline u32 bf16_pair(f32 low, f32 high) { return bf16_of(low) | bf16_of(high) << 16; }
inline f32 quick_exp2(f32 x) { return exp2f(x); }
inline f32 quick_reciprocal(f32 x) { return 1.0f / x; }
#endif

// A float of few bits, as in base/small_float.hpp: rounded to nearest even; a Finite one has NaN in place of infinities.
template <class Word, int Exponent, int Fraction, bool Finite>
struct small_float {
  Word word;
  static constexpr u32 sign = 1u << (Exponent + Fraction), ones = sign - 1, infinity = ones >> Fraction << Fraction;
  static constexpr u32 nan = Finite ? ones : infinity | 1u << (Fraction - 1);
  static constexpr u32 largest = Finite ? ones - 1 : infinity - 1;
  static constexpr i32 bias = (1 << (Exponent - 1)) - 1;

  f32 wide() const {
#ifdef __CUDA_ARCH__
    if constexpr (Fraction == 10) return wide_f16(word);
#endif
    const u32 s = word & sign ? 0x80000000u : 0u, magnitude = word & ones;
    if (Finite ? magnitude == ones : magnitude > infinity)
      return float_of(s | 0x7fc00000u | (Finite ? 0u : (magnitude & (infinity ^ ones)) << (23 - Fraction)));
    if (!Finite && magnitude == infinity) return float_of(s | 0x7f800000u);
    if (magnitude >> Fraction) return float_of(s | ((magnitude << (23 - Fraction)) + ((127u - bias) << 23)));
    const f32 v = (f32)magnitude * float_of((127u - bias + 1 - Fraction) << 23);  // a multiple of the smallest number
    return s ? -v : v;
  }
  static small_float of(f32 value) {
#ifdef __CUDA_ARCH__
    if constexpr (Fraction == 10) return {f16_of(value)};
#endif
    const u32 s = bits(value) >> 31 ? sign : 0, magnitude = bits(value) & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return {(Word)(s | nan)};
    const i32 exponent = (i32)(magnitude >> 23) - 127 + bias;
    const u32 fraction = (magnitude & 0x7fffffu) | (magnitude >> 23 ? 0x800000u : 0u);
    const i32 dropped = 23 - Fraction + (exponent > 0 ? 0 : 1 - exponent);
    u32 kept = 0;
    if (dropped <= 24) {
      kept = fraction >> dropped;
      const u32 rest = fraction & ((1u << dropped) - 1u), half = 1u << (dropped - 1);
      kept += rest > half || (rest == half && (kept & 1u));
    }
    const i64 all = exponent > 0 ? ((i64)exponent - 1) * (1 << Fraction) + kept : (i64)kept;
    if (all > (i64)largest) return {(Word)(s | (Finite ? nan : infinity))};
    return {(Word)(s | (u32)all)};
  }
};
typedef small_float<u16, 5, 10, false> f16;
typedef small_float<u8, 5, 2, false> f8e5m2;
typedef small_float<u8, 4, 3, true> f8e4m3fn;
struct bf16 {
  u16 word;
  f32 wide() const { return float_of((u32)word << 16); }
  static bf16 of(f32 x) { return {(u16)bf16_pair(x, 0.0f)}; }
};
struct i4 { i8 value; };
struct u4 { u8 value; };

// number<T> is what dtype T is computed in; widen and narrow convert. narrow rounds floats and keeps the low bits of integers.
template <class T> struct number_of { typedef T type; };
template <> struct number_of<i4> { typedef i32 type; };
template <> struct number_of<i8> { typedef i32 type; };
template <> struct number_of<i16> { typedef i32 type; };
template <> struct number_of<u4> { typedef u32 type; };
template <> struct number_of<u8> { typedef u32 type; };
template <> struct number_of<u16> { typedef u32 type; };
template <> struct number_of<bf16> { typedef f32 type; };
template <> struct number_of<f16> { typedef f32 type; };
template <> struct number_of<f8e5m2> { typedef f32 type; };
template <> struct number_of<f8e4m3fn> { typedef f32 type; };
template <class T> using number = typename number_of<T>::type;

template <class A, class B> struct is_same { static constexpr bool value = false; };
template <class A> struct is_same<A, A> { static constexpr bool value = true; };
template <class A, class B> inline constexpr bool same = is_same<A, B>::value;
template <class T> inline constexpr bool is_float = same<T, f32> || same<T, f64>;
template <class T> inline constexpr bool is_small_float = same<T, bf16> || same<T, f16> || same<T, f8e5m2> || same<T, f8e4m3fn>;

template <class T> number<T> widen(T x) {
  if constexpr (is_small_float<T>) return x.wide();
  else if constexpr (same<T, i4> || same<T, u4>) return x.value;
  else return x;
}
template <class T> T narrow(number<T> x) {
  if constexpr (is_small_float<T>) return T::of(x);
  else if constexpr (same<T, i4>) return {(i8)((i32)((u32)x << 28) >> 28)};
  else if constexpr (same<T, u4>) return {(u8)(x & 15u)};
  else return (T)x;
}
// The least and the greatest number of an integer dtype.
template <class T> struct range {};
template <> struct range<i4> { static constexpr i64 low = -8, high = 7; };
template <> struct range<i8> { static constexpr i64 low = -128, high = 127; };
template <> struct range<i16> { static constexpr i64 low = -32768, high = 32767; };
template <> struct range<i32> { static constexpr i64 low = -2147483648ll, high = 2147483647ll; };
template <> struct range<i64> { static constexpr i64 low = -9223372036854775807ll - 1, high = 9223372036854775807ll; };
template <> struct range<u4> { static constexpr u64 low = 0, high = 15; };
template <> struct range<u8> { static constexpr u64 low = 0, high = 255; };
template <> struct range<u16> { static constexpr u64 low = 0, high = 65535; };
template <> struct range<u32> { static constexpr u64 low = 0, high = 4294967295ull; };
template <> struct range<u64> { static constexpr u64 low = 0, high = 18446744073709551615ull; };

// x rounded, wrapped or cut to dtype T, as convert_element_type does: floats to integers drop the fraction, become the ends of
// the range beyond it, and 0 for NaN.
template <class T, class N> number<T> converted(N x) {
  if constexpr (same<T, N>) return x;
  else if constexpr (same<T, bool>) return x != N(0);
  else if constexpr (is_float<N> && !is_float<number<T>>) {
    if (!(x == x)) return 0;
    if (x <= (N)range<T>::low) return (number<T>)range<T>::low;
    if (x >= (N)range<T>::high) return (number<T>)range<T>::high;
    return (number<T>)x;
  } else if constexpr (same<T, number<T>>) return (T)x;
  else return widen<T>(narrow<T>((number<T>)x));
}

// An element of a program's constants, which takes 64 bits.
template <class T> number<T> element_of(u64 v) {
  if constexpr (is_small_float<T>) return T{(decltype(T::word))v}.wide();
  else if constexpr (same<T, f32>) return float_of((u32)v);
  else if constexpr (same<T, f64>) return __longlong_as_double((i64)v);
  else if constexpr (same<T, bool>) return v != 0;
  else return widen<T>(narrow<T>((number<T>)v));
}
)text";
inline constexpr std::string_view numbers_end = "}\n";

}  // namespace tokamax::cuda_text
