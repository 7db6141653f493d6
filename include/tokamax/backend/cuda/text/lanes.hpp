// tokamax/backend/cuda/text/lanes.hpp: device text: a few numbers that a thread computes together, and functions of them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/text.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <string_view>  // string_view

namespace tokamax::cuda_text {

/// The value type of loops: `lanes<T, N>` are N numbers that lie side by side in memory. The functions are those that printed
/// loops call (compiler/text/loop_text.hpp). Those of f32 use no double arithmetic; integers wrap around.
inline constexpr std::string_view lanes = R"text(
template <class T, int N>
struct lanes {
  T x[N];
  lanes() = default;
  explicit lanes(f64 v) {
#pragma unroll
    for (int i = 0; i < N; ++i) x[i] = (T)v;
  }
};
// Applies f to each number, or to each pair of numbers.
template <class R, class T, int N, class F> lanes<R, N> each(const lanes<T, N>& a, F f) {
  lanes<R, N> r;
#pragma unroll
  for (int i = 0; i < N; ++i) r.x[i] = f(a.x[i]);
  return r;
}
template <class R, class T, int N, class F> lanes<R, N> each(const lanes<T, N>& a, const lanes<T, N>& b, F f) {
  lanes<R, N> r;
#pragma unroll
  for (int i = 0; i < N; ++i) r.x[i] = f(a.x[i], b.x[i]);
  return r;
}

// Arithmetic of one number. Integers are computed without sign, because they wrap around.
template <class T> struct unsigned_of { typedef T type; };
template <> struct unsigned_of<i32> { typedef u32 type; };
template <> struct unsigned_of<i64> { typedef u64 type; };
template <> struct unsigned_of<bool> { typedef i32 type; };
template <class T> using wrapping = typename unsigned_of<T>::type;
namespace one {
template <class T> T add(T a, T b) { return (T)((wrapping<T>)a + (wrapping<T>)b); }
template <class T> T mul(T a, T b) { return (T)((wrapping<T>)a * (wrapping<T>)b); }
template <class T> T maximum(T a, T b) {
  if constexpr (is_float<T>) return a != a ? a : b != b ? b : a > b || (a == b && !signbit(a)) ? a : b;
  else return a > b ? a : b;
}
template <class T> T minimum(T a, T b) {
  if constexpr (is_float<T>) return a != a ? a : b != b ? b : a < b || (a == b && signbit(a)) ? a : b;
  else return a < b ? a : b;
}
// Division of integers: by zero it is -1, and the lowest number by -1 wraps around.
template <class T> T quotient(T a, T b) {
  if constexpr (is_float<T>) return a / b;
  else return b == 0 ? (T)-1 : T(-1) < T(0) && b == (T)-1 ? (T)(0 - (wrapping<T>)a) : (T)(a / b);
}
template <class T> T rem(T a, T b) {
  if constexpr (same<T, f32>) return fmodf(a, b);
  else if constexpr (same<T, f64>) return fmod(a, b);
  else return b == 0 ? a : T(-1) < T(0) && b == (T)-1 ? T(0) : (T)(a % b);
}
}  // namespace one

#define BINARY(op, R, value)                                                                  \
  template <class T, int N> lanes<R, N> operator op(const lanes<T, N>& a, const lanes<T, N>& b) { \
    return each<R>(a, b, [](T x, T y) -> R { return value; });                                \
  }
BINARY(+, T, one::add(x, y))
BINARY(-, T, (T)((wrapping<T>)x - (wrapping<T>)y))
BINARY(*, T, one::mul(x, y))
BINARY(/, T, one::quotient(x, y))
BINARY(&, T, (T)(x & y))
BINARY(|, T, (T)(x | y))
BINARY(^, T, (T)(x ^ y))
BINARY(<<, T, (T)((wrapping<T>)x << y))
BINARY(>>, T, (T)(x >> y))
BINARY(==, bool, x == y)
BINARY(!=, bool, x != y)
BINARY(<, bool, x < y)
BINARY(<=, bool, x <= y)
BINARY(>, bool, x > y)
BINARY(>=, bool, x >= y)
#undef BINARY
template <class T, int N> lanes<T, N> operator-(const lanes<T, N>& a) {
  return each<T>(a, [](T x) -> T {
    if constexpr (is_float<T>) return -x;
    else return (T)(0 - (wrapping<T>)x);
  });
}
template <class T, int N> lanes<bool, N> operator!(const lanes<T, N>& a) {
  return each<bool>(a, [](T x) { return !x; });
}
template <class T, int N> lanes<T, N> operator~(const lanes<T, N>& a) {
  return each<T>(a, [](T x) { return (T)~x; });
}
template <class T, int N> lanes<T, N> select(const lanes<bool, N>& c, const lanes<T, N>& a, const lanes<T, N>& b) {
  lanes<T, N> r;
#pragma unroll
  for (int i = 0; i < N; ++i) r.x[i] = c.x[i] ? a.x[i] : b.x[i];
  return r;
}
template <class T, int N> lanes<T, N> fma(const lanes<T, N>& a, const lanes<T, N>& b, const lanes<T, N>& c) {
  lanes<T, N> r;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if constexpr (same<T, f32>) r.x[i] = ::fmaf(a.x[i], b.x[i], c.x[i]);
    else if constexpr (same<T, f64>) r.x[i] = ::fma(a.x[i], b.x[i], c.x[i]);
    else r.x[i] = one::add(one::mul(a.x[i], b.x[i]), c.x[i]);
  }
  return r;
}
template <class T, int N> lanes<T, N> last_shift(const lanes<T, N>&) { return lanes<T, N>(8 * (int)sizeof(T) - 1); }
template <class T, int N> lanes<T, N> maximum(const lanes<T, N>& a, const lanes<T, N>& b) {
  return each<T>(a, b, [](T x, T y) { return one::maximum(x, y); });
}
template <class T, int N> lanes<T, N> minimum(const lanes<T, N>& a, const lanes<T, N>& b) {
  return each<T>(a, b, [](T x, T y) { return one::minimum(x, y); });
}
template <class T, int N> lanes<T, N> quotient(const lanes<T, N>& a, const lanes<T, N>& b) {
  return each<T>(a, b, [](T x, T y) { return one::quotient(x, y); });
}
template <class T, int N> lanes<T, N> rem(const lanes<T, N>& a, const lanes<T, N>& b) {
  return each<T>(a, b, [](T x, T y) { return one::rem(x, y); });
}
template <class T, int N> lanes<T, N> pow(const lanes<T, N>& a, const lanes<T, N>& b) {
  return each<T>(a, b, [](T x, T y) -> T {
    if constexpr (same<T, f32>) return ::powf(x, y);
    else return ::pow(x, y);
  });
}
template <class T, int N> lanes<T, N> abs(const lanes<T, N>& a) {
  return each<T>(a, [](T x) -> T {
    if constexpr (same<T, f32>) return ::fabsf(x);
    else if constexpr (same<T, f64>) return ::fabs(x);
    else return x < T(0) ? (T)(0 - (wrapping<T>)x) : x;
  });
}
#define FUNCTION(name, f32_name, f64_name)                            \
  template <class T, int N> lanes<T, N> name(const lanes<T, N>& a) {  \
    return each<T>(a, [](T x) -> T {                                  \
      if constexpr (same<T, f32>) return ::f32_name(x);               \
      else return ::f64_name(x);                                      \
    });                                                               \
  }
FUNCTION(ceil, ceilf, ceil)
FUNCTION(cos, cosf, cos)
FUNCTION(erf, erff, erf)
FUNCTION(erfc, erfcf, erfc)
FUNCTION(exp, expf, exp)
FUNCTION(expm1, expm1f, expm1)
FUNCTION(floor, floorf, floor)
FUNCTION(log, logf, log)
FUNCTION(log1p, log1pf, log1p)
FUNCTION(nearbyint, nearbyintf, nearbyint)
FUNCTION(sin, sinf, sin)
FUNCTION(sqrt, sqrtf, sqrt)
FUNCTION(tanh, tanhf, tanh)
#undef FUNCTION

// Numbers rounded, wrapped or cut to dtype T. Two numbers become bf16 in one instruction.
template <class T, class N, int Count> lanes<number<T>, Count> as(const lanes<N, Count>& a) {
  if constexpr (same<T, bf16> && same<N, f32> && Count % 2 == 0) {
    lanes<f32, Count> r;
#pragma unroll
    for (int i = 0; i < Count; i += 2) {
      const u32 both = bf16_pair(a.x[i], a.x[i + 1]);
      r.x[i] = float_of(both << 16);
      r.x[i + 1] = float_of(both & 0xffff0000u);
    }
    return r;
  } else {
    return each<number<T>>(a, [](N x) { return converted<T, N>(x); });
  }
}

// Functions of f32 for loops whose results are all of 16 bits: their errors are far below half a unit of those, and a few
// instructions take the place of tens. They are objects, which hide the functions of these names.
namespace quick {
struct exp_function {
  static f32 of(f32 x) { return quick_exp2(x * 1.44269504f); }
  template <class T, int N> lanes<T, N> operator()(const lanes<T, N>& a) const {
    if constexpr (same<T, f32>) return each<f32>(a, [](f32 x) { return of(x); });
    else return tokamax_text::exp(a);
  }
};
// 1 - 2 / (1 + exp(2 x)) is off by 2^-23, which is too much near 0, where tanh(x) is x but for x^3 / 3.
struct tanh_function {
  static f32 of(f32 x) {
    const f32 far = 1.0f - 2.0f * quick_reciprocal(1.0f + quick_exp2(x * 2.88539008f));
    return fabsf(x) < 0.001953125f ? x : far;
  }
  template <class T, int N> lanes<T, N> operator()(const lanes<T, N>& a) const {
    if constexpr (same<T, f32>) return each<f32>(a, [](f32 x) { return of(x); });
    else return tokamax_text::tanh(a);
  }
};
inline constexpr exp_function exp;
inline constexpr tanh_function tanh;
}  // namespace quick
)text";

}  // namespace tokamax::cuda_text
