// tokamax/lax/fourier/fft.hpp: discrete Fourier transforms along the last axis: fft, ifft, rfft, irfft.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (a program of transforms includes it)
#pragma once

#include <tokamax/lax/fourier/transform.hpp>   // rfft_p
#include <tokamax/lax/indexing/slice.hpp>      // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>  // concatenate
#include <tokamax/lax/shapes/reverse.hpp>      // reverse

namespace tokamax {

namespace detail {

/// Rejects what has no last axis, or is no pair of equal types.
constexpr bool can_transform(const char* what, const complex_parts& x, source_line l) {
  const bool ok = x.re.type() == x.im.type() && x.re.rank() > 0 && (x.re.dtype() == f32 || x.re.dtype() == f64) &&
                  x.re.extent(x.re.rank() - 1) >= 0 && x.re.extent(x.re.rank() - 1) < (1 << 19);  // known
  if (!ok)
    reject(x.re.trace() ? x.re.trace() : x.im.trace(), l, what, x.im.type(),
           message("f32[..., n] or f64[..., n] like ") << x.re.type());
  return ok;
}

constexpr complex_parts transform_of(const complex_parts& x, source_line l) {
  const arrays y = bind_transform(x, l);
  return {y[0], y[1]};
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
  return detail::transform_of(x, l);
}
/// x_j = 1 / n sum X_k e^(2 pi i j k / n)
/// errors  "ifft: operand"
/// source  jax.numpy.fft.ifft
constexpr complex_parts ifft(const complex_parts& x, source_line l = source_line::current()) {
  if (!detail::can_transform("ifft: operand", x, l)) return x;
  const std::int64_t n = x.re.extent(x.re.rank() - 1);
  if (n <= 1) return x;
  const complex_parts y = detail::transform_of({x.im, x.re}, l);  // the conjugates, turned by a quarter
  return {y.im * (1.0 / static_cast<double>(n)), y.re * (1.0 / static_cast<double>(n))};
}
/// The first n / 2 + 1 elements of the transform of real numbers; the others are their conjugates.
///
/// shapes  x [..., n] -> [..., n / 2 + 1]
/// errors  "rfft: operand"
/// source  jax.numpy.fft.rfft
constexpr complex_parts rfft(const array& x, source_line l = source_line::current()) {
  if (!detail::can_transform("rfft: operand", {x, x}, l)) return {x, x};
  if (x.extent(-1) == 0) {
    reject(x, l, "rfft: operand", x.type(), "a last axis with elements");
    return {x, x};
  }
  const arrays y = bind_all(described<rfft_p>(), &x, 1, {}, l);
  return {y[0], y[1]};
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
