// tokamax/complex/fourier.hpp: Fourier transforms along any axis, of any length, with the scales of NumPy.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/complex/shapes.hpp>   // moveaxis
#include <tokamax/lax/fourier/fft.hpp>  // fft, ifft, rfft, irfft

namespace tokamax {

/// How transforms are divided by n: the inverse ones, both by the root of n, or the forward ones.
enum class fft_norm : std::uint8_t { backward, ortho, forward };
/// The options of a transform along one axis.
struct fft_options {
  std::int64_t n = -1;  ///< the length: operands are cut, or zeros are appended; -1: that of the operand
  int axis = -1;
  fft_norm norm = fft_norm::backward;
};

namespace detail {
/// The operand with `n` elements along its last axis.
constexpr array with_length(const array& x, std::int64_t n, source_line l) {
  const std::int64_t m = x.extent(x.rank() - 1);
  if (n < 0 || n == m) return x;
  if (n < m) return slice_in_dim(x, 0, n, -1, l);
  shape low, high;
  for (int i = 0; i < x.rank(); ++i) low.push_back(0), high.push_back(i + 1 == x.rank() ? n - m : 0);
  return pad(x, array(0.0, {x.dtype(), false, {}}), low, high, {}, l);
}
constexpr complex_parts with_length(const complex_parts& x, std::int64_t n, source_line l) {
  return {with_length(x.re, n, l), with_length(x.im, n, l)};
}
/// x times what a forward (inverse) transform of length n is multiplied with, beyond what `fft` (`ifft`) does.
template <class T>
constexpr T scaled_by(const T& x, bool inverse, std::int64_t n, fft_norm norm) {
  if (norm == fft_norm::backward) return x;
  const array length(static_cast<double>(n), {x.dtype(), false, {}});
  array factor = norm == fft_norm::ortho ? sqrt(length) : length;
  if (!inverse) factor = 1.0 / factor;
  return x * factor;
}
constexpr bool has_axis(const char* what, const array& x, int axis, std::int64_t n, source_line l) {
  const bool ok = axis >= -x.rank() && axis < x.rank() && n != 0 && n >= -1 && (n > 0 || x.extent(axis) > 0);
  if (!ok) reject(x, l, what, x.type(), message("an axis ") << axis << " with elements");
  return ok;
}
}  // namespace detail

/// The transforms of lax along any axis.
///
/// shapes  x [..., n, ...] -> the same, with the length n if one is given; rfft gives n / 2 + 1, irfft 2 (m - 1) or n
/// dtypes  f32 or f64
/// errors  "fft: axis" for an axis that x does not have, or of no elements; those of lax
/// source  jax.numpy.fft
constexpr complex_parts fft(const complex_parts& x, const fft_options& o, source_line l = source_line::current()) {
  if (!detail::has_axis("fft: axis", x.re, o.axis, o.n, l)) return x;
  const complex_parts in = detail::with_length(moveaxis(x, o.axis, -1, l), o.n, l), y = fft(in, l);
  return moveaxis(detail::scaled_by(y, false, in.extent(in.rank() - 1), o.norm), -1, o.axis, l);
}
constexpr complex_parts ifft(const complex_parts& x, const fft_options& o, source_line l = source_line::current()) {
  if (!detail::has_axis("fft: axis", x.re, o.axis, o.n, l)) return x;
  const complex_parts in = detail::with_length(moveaxis(x, o.axis, -1, l), o.n, l), y = ifft(in, l);
  return moveaxis(detail::scaled_by(y, true, in.extent(in.rank() - 1), o.norm), -1, o.axis, l);
}
constexpr complex_parts rfft(const array& x, const fft_options& o, source_line l = source_line::current()) {
  if (!detail::has_axis("fft: axis", x, o.axis, o.n, l)) return {x, x};
  const array in = detail::with_length(moveaxis(x, o.axis, -1, l), o.n, l);
  const complex_parts y = rfft(in, l);
  return moveaxis(detail::scaled_by(y, false, in.extent(in.rank() - 1), o.norm), -1, o.axis, l);
}
constexpr array irfft(const complex_parts& x, const fft_options& o, source_line l = source_line::current()) {
  if (!detail::has_axis("fft: axis", x.re, o.axis, o.n, l)) return x.re;
  const complex_parts last = moveaxis(x, o.axis, -1, l);
  const std::int64_t n = o.n > 0 ? o.n : 2 * (last.extent(last.rank() - 1) - 1);
  if (n < 1) {
    reject(x.re, l, "fft: length", message() << n, "1 or more");
    return x.re;
  }
  const array y = irfft(detail::with_length(last, n / 2 + 1, l), n, l);
  return moveaxis(detail::scaled_by(y, true, n, o.norm), -1, o.axis, l);
}
/// The transform of numbers whose transform is real, and its inverse: `hfft(x)` is n times the irfft of the conjugates.
/// source  jax.numpy.fft.hfft, ihfft
constexpr array hfft(const complex_parts& x, const fft_options& o = {}, source_line l = source_line::current()) {
  if (!detail::has_axis("fft: axis", x.re, o.axis, o.n, l)) return x.re;
  const std::int64_t n = o.n > 0 ? o.n : 2 * (x.extent(o.axis < 0 ? o.axis + x.rank() : o.axis) - 1);
  const array y = irfft(conj(x), {n, o.axis, fft_norm::forward}, l);
  return detail::scaled_by(y, false, n, o.norm);
}
constexpr complex_parts ihfft(const array& x, const fft_options& o = {}, source_line l = source_line::current()) {
  if (!detail::has_axis("fft: axis", x, o.axis, o.n, l)) return {x, x};
  const std::int64_t n = o.n > 0 ? o.n : x.extent(o.axis < 0 ? o.axis + x.rank() : o.axis);
  const complex_parts y = conj(rfft(x, {n, o.axis, fft_norm::forward}, l));
  return detail::scaled_by(y, true, n, o.norm);
}

}  // namespace tokamax
