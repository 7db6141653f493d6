// tokamax/lax/fourier/fft.hpp: discrete Fourier transforms along the last axis: fft, ifft, rfft, irfft.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (a program of transforms includes it)
#pragma once

#include <tokamax/lax/concatenate.hpp>            // concatenate
#include <tokamax/lax/dot_general.hpp>            // dot_general
#include <tokamax/lax/elementwise/division.hpp>   // rem
#include <tokamax/lax/fourier/complex_parts.hpp>  // complex_parts
#include <tokamax/lax/reverse.hpp>                // reverse
#include <tokamax/lax/slice.hpp>                  // pad, slice_in_dim
#include <tokamax/lax/transpose.hpp>              // swapaxes

namespace tokamax {

namespace detail {

/// e^(-2 pi i p / n) for mirrored numbers p, which are reduced before they become angles.
constexpr complex_parts roots_of_one(const array& p, std::int64_t n, dtype type) {
  const array mirrored = rem(p, array(static_cast<double>(n), {i32, false, {}}));
  const array angle = astype(mirrored, type) * (-6.283185307179586476925 / static_cast<double>(n));
  return {cos(angle), sin(angle)};
}
/// x [..., r, m] with the matrix of the transform of length r applied to the axis before the last one.
constexpr complex_parts small_transform(const complex_parts& x, std::int64_t r, source_line l) {
  const array row = iota(i32, {r, r}, 0), column = iota(i32, {r, r}, 1);
  const complex_parts w = roots_of_one(row * column, r, x.re.dtype());
  const int axis = x.re.rank() - 2;
  const auto product = [&](const array& matrix, const array& v) {  // [..., m, r]
    dot_dimensions d;
    d.lhs_contracting = {axis};
    d.rhs_contracting = {0};
    return dot_general(v, matrix, d, l);
  };
  const array re = product(w.re, x.re) - product(w.im, x.im), im = product(w.re, x.im) + product(w.im, x.re);
  return {swapaxes(re, -1, -2, l), swapaxes(im, -1, -2, l)};
}
constexpr shape with_last(const array& x, std::initializer_list<std::int64_t> last) {
  shape s = leading(x);
  for (std::int64_t e : last) s.push_back(e);
  return s;
}
constexpr complex_parts reshaped(const complex_parts& x, const shape& s, source_line l) {
  return {reshape(x.re, s, l), reshape(x.im, s, l)};
}
/// A divisor of up to 64 that leaves as much, so that two products are enough, or else the largest one up to 32; 1 if n is a
/// larger prime.
constexpr std::int64_t radix_of(std::int64_t n) {
  for (std::int64_t r = 32; r <= 64; ++r)
    if (n % r == 0 && n / r <= 64) return r;
  for (std::int64_t r = n < 32 ? n : 32; r > 1; --r)
    if (n % r == 0) return r;
  return 1;
}
/// j^2 mod n for 0 <= j < n < 2^20, without numbers beyond i32: j^2 = j (1024 a + b).
constexpr array square_modulo(const array& j, std::int64_t n) {
  const array count(static_cast<double>(n), {i32, false, {}}), high = quotient(j, array(1024)),
                                                               low = j - high * array(1024);
  const array first = rem(rem(j * high, count) * array(1024), count);
  return rem(first + rem(j * low, count), count);
}
constexpr complex_parts transform(const complex_parts& x, source_line l);

/// Bluestein's way for a prime length n: with jk = (j^2 + k^2 - (j - k)^2) / 2 the transform is a convolution, whose length
/// may be a power of two from 2 n - 1 on.
constexpr complex_parts chirp_transform(const complex_parts& x, source_line l) {
  const std::int64_t n = x.re.extent(x.re.rank() - 1);
  std::int64_t length = 1;
  while (length < 2 * n - 1) length *= 2;
  const array j = iota(i32, {n}, 0);
  // e^(-pi i j^2 / n). The square is reduced as j (j mod 2 n), in two steps, so that it fits i32.
  const complex_parts chirp = roots_of_one(square_modulo(j, 2 * n), 2 * n, x.re.dtype());
  const auto padded = [&](const array& v) {
    shape low, high;
    for (int i = 0; i < v.rank(); ++i) {
      low.push_back(0);
      high.push_back(i + 1 == v.rank() ? length - n : 0);
    }
    return pad(v, array(0.0, {v.dtype(), false, {}}), low, high, {}, l);
  };
  const complex_parts turned = x * chirp;
  const complex_parts window = conj(chirp);
  const auto around = [&](const array& v) {  // v_|k| for k from -(n - 1) on: negative places stand at the end
    const array back = reverse(slice_in_dim(v, 1, n, 0, l), {0}, l);
    return concatenate({v, zeros({length - 2 * n + 1}, v.dtype()), back}, 0, l);
  };
  const complex_parts a = transform({padded(turned.re), padded(turned.im)}, l);
  const complex_parts b = transform({around(window.re), around(window.im)}, l);
  const complex_parts both = conj(transform(conj(a * b), l));
  const double share = 1.0 / static_cast<double>(length);
  const complex_parts y{slice_in_dim(both.re, 0, n, -1, l) * share, slice_in_dim(both.im, 0, n, -1, l) * share};
  return y * chirp;
}
/// Cooley and Tukey's way for n = r m: transforms of length r, a turn of each result, then transforms of length m.
constexpr complex_parts transform(const complex_parts& x, source_line l) {
  const std::int64_t n = x.re.extent(x.re.rank() - 1), r = n <= 64 ? n : radix_of(n);
  if (n <= 1) return x;
  if (r == 1) return chirp_transform(x, l);
  const std::int64_t m = n / r;
  const shape split = with_last(x.re, {r, m});
  complex_parts y = small_transform(reshaped(x, split, l), r, l);  // [..., r, m]
  if (m == 1) return reshaped(y, x.re.shape(), l);
  y = transform(y * roots_of_one(iota(i32, {r, m}, 0) * iota(i32, {r, m}, 1), n, x.re.dtype()), l);
  return reshaped({swapaxes(y.re, -1, -2, l), swapaxes(y.im, -1, -2, l)}, x.re.shape(), l);
}
/// Rejects what has no last axis, or is no pair of equal types.
constexpr bool can_transform(const char* what, const complex_parts& x, source_line l) {
  const bool ok = x.re.type() == x.im.type() && x.re.rank() > 0 && (x.re.dtype() == f32 || x.re.dtype() == f64) &&
                  x.re.extent(x.re.rank() - 1) < (1 << 19);
  if (!ok)
    reject(x.re.trace() ? x.re.trace() : x.im.trace(), l, what, x.im.type(),
           message("f32[..., n] or f64[..., n] like ") << x.re.type());
  return ok;
}

}  // namespace detail

/// X_k = sum x_j e^(-2 pi i j k / n), along the last axis. Lengths are divided into factors up to 64; lengths with a larger
/// prime factor are convolutions of a power of two.
///
/// shapes  x [..., n] -> [..., n]
/// dtypes  two f32 or two f64
/// errors  "fft: operand", also of 2^19 elements along the axis or more
/// source  Cooley and Tukey 1965; Bluestein 1970; jax.numpy.fft.fft
constexpr complex_parts fft(const complex_parts& x, source_line l = source_line::current()) {
  if (!detail::can_transform("fft: operand", x, l)) return x;
  return detail::transform(x, l);
}
/// x_j = 1 / n sum X_k e^(2 pi i j k / n)
/// errors  "ifft: operand"
/// source  jax.numpy.fft.ifft
constexpr complex_parts ifft(const complex_parts& x, source_line l = source_line::current()) {
  if (!detail::can_transform("ifft: operand", x, l)) return x;
  const std::int64_t n = x.re.extent(x.re.rank() - 1);
  if (n <= 1) return x;
  const complex_parts y = conj(detail::transform(conj(x), l));
  return {y.re * (1.0 / static_cast<double>(n)), y.im * (1.0 / static_cast<double>(n))};
}
/// The first n / 2 + 1 elements of the transform of real numbers; the others are their conjugates.
///
/// shapes  x [..., n] -> [..., n / 2 + 1]
/// errors  "rfft: operand"
/// source  jax.numpy.fft.rfft
constexpr complex_parts rfft(const array& x, source_line l = source_line::current()) {
  const complex_parts both{x, zeros_like(x)};
  if (!detail::can_transform("rfft: operand", both, l)) return both;
  const complex_parts y = detail::transform(both, l);
  const std::int64_t half = x.extent(x.rank() - 1) / 2 + 1;
  return {slice_in_dim(y.re, 0, half, -1, l), slice_in_dim(y.im, 0, half, -1, l)};
}
/// The n real numbers of which x is the rfft; n is 2 (m - 1) unless it is given.
///
/// shapes  x [..., m] -> [..., n], where m is n / 2 + 1
/// errors  "irfft: operand", "irfft: length"
/// source  jax.numpy.fft.irfft
constexpr array irfft(const complex_parts& x, std::int64_t n = -1, source_line l = source_line::current()) {
  if (!detail::can_transform("irfft: operand", x, l)) return x.re;
  const std::int64_t m = x.re.extent(x.re.rank() - 1);
  if (n < 0) n = 2 * (m - 1);
  if (n < 1 || n / 2 + 1 != m) {
    reject(x.re, l, "irfft: length", message() << n, message("one with n / 2 + 1 elements in ") << x.re.type());
    return x.re;
  }
  // The imaginary parts of the first element, and of the middle one of an even number, do not count.
  const array place = iota(i32, {m}, 0);
  const array counts =
      logical_and(place != array(0), place * array(2) != array(static_cast<double>(n), {i32, false, {}}));
  const array im = select(broadcast_to(counts, x.im.shape()), x.im, zeros_like(x.im));
  const auto mirrored = [&](const array& v, bool negative) {
    array back = reverse(slice_in_dim(v, 1, (n + 1) / 2, -1, l), {v.rank() - 1}, l);
    if (negative) back = -back;
    return concatenate({v, back}, -1, l);
  };
  return ifft({mirrored(x.re, false), mirrored(im, true)}, l).re;
}

}  // namespace tokamax
