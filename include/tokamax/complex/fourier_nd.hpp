// tokamax/complex/fourier_nd.hpp: Fourier transforms along several axes, and the frequencies of their elements.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/complex/complex.cpp
#pragma once

#include <tokamax/complex/fourier.hpp>  // fft

namespace tokamax {

/// The options of a transform along several axes.
struct fftn_options {
  shape s;    ///< the lengths, one for each axis; without: those of the operand
  axes axis;  ///< without: the last ones, as many as there are lengths, or all
  fft_norm norm = fft_norm::backward;
};

namespace detail {
constexpr axes fft_axes(int rank, const fftn_options& o) {
  if (o.axis.rank() > 0) return o.axis;
  const int count = o.s.rank() > 0 ? o.s.rank() : rank;
  axes all;
  for (int k = 0; k < count; ++k) all.push_back(k - count);
  return all;
}
constexpr std::int64_t fft_length(const fftn_options& o, int k) { return k < o.s.rank() ? o.s[k] : -1; }
constexpr fftn_options plane(fftn_options o) {
  if (o.axis.rank() == 0) o.axis = {-2, -1};
  return o;
}
}  // namespace detail

/// One transform after the other along each axis, the last one first; of rfftn it is real, of irfftn it comes last.
/// errors  "fft: axis" and those of lax
/// source  jax.numpy.fft.fftn, ifftn, rfftn, irfftn, fft2, ifft2, rfft2, irfft2
constexpr complex_parts fftn(complex_parts x, const fftn_options& o = {}, source_line l = source_line::current()) {
  const axes a = detail::fft_axes(x.rank(), o);
  for (int k = a.rank() - 1; k >= 0; --k) x = fft(x, {detail::fft_length(o, k), static_cast<int>(a[k]), o.norm}, l);
  return x;
}
constexpr complex_parts ifftn(complex_parts x, const fftn_options& o = {}, source_line l = source_line::current()) {
  const axes a = detail::fft_axes(x.rank(), o);
  for (int k = a.rank() - 1; k >= 0; --k) x = ifft(x, {detail::fft_length(o, k), static_cast<int>(a[k]), o.norm}, l);
  return x;
}
constexpr complex_parts rfftn(const array& x, const fftn_options& o = {}, source_line l = source_line::current()) {
  const axes a = detail::fft_axes(x.rank(), o);
  const int last = a.rank() - 1;
  complex_parts y = rfft(x, {detail::fft_length(o, last), static_cast<int>(a[last]), o.norm}, l);
  for (int k = last - 1; k >= 0; --k) y = fft(y, {detail::fft_length(o, k), static_cast<int>(a[k]), o.norm}, l);
  return y;
}
constexpr array irfftn(complex_parts x, const fftn_options& o = {}, source_line l = source_line::current()) {
  const axes a = detail::fft_axes(x.rank(), o);
  const int last = a.rank() - 1;
  for (int k = 0; k < last; ++k) x = ifft(x, {detail::fft_length(o, k), static_cast<int>(a[k]), o.norm}, l);
  return irfft(x, {detail::fft_length(o, last), static_cast<int>(a[last]), o.norm}, l);
}
/// The same along two axes, the last ones unless others are given.
constexpr complex_parts fft2(const complex_parts& x, const fftn_options& o = {},
                             source_line l = source_line::current()) {
  return fftn(x, detail::plane(o), l);
}
constexpr complex_parts ifft2(const complex_parts& x, const fftn_options& o = {},
                              source_line l = source_line::current()) {
  return ifftn(x, detail::plane(o), l);
}
constexpr complex_parts rfft2(const array& x, const fftn_options& o = {}, source_line l = source_line::current()) {
  return rfftn(x, detail::plane(o), l);
}
constexpr array irfft2(const complex_parts& x, const fftn_options& o = {}, source_line l = source_line::current()) {
  return irfftn(x, detail::plane(o), l);
}

/// The frequencies of the elements of a transform of length n, whose samples are `d` apart: 0, 1, ..., -2, -1 over n d; those
/// of an rfft: 0, 1, ..., n / 2.
/// errors  "fftfreq: length" of less than 1
/// source  jax.numpy.fft.fftfreq, rfftfreq
constexpr array fftfreq(std::int64_t n, double d = 1, dtype type = f32, source_line l = source_line::current()) {
  if (n < 1) return detail::impossible(type, "fftfreq: length", message() << n, "1 or more", l);
  const array k = iota(i32, {n}, 0, l), count(n, {i32, false, {}});
  const array half((n - 1) / 2, {i32, false, {}});
  return astype(select(k > half, k - count, k), type) * (1 / (static_cast<double>(n) * d));
}
constexpr array rfftfreq(std::int64_t n, double d = 1, dtype type = f32, source_line l = source_line::current()) {
  if (n < 1) return detail::impossible(type, "fftfreq: length", message() << n, "1 or more", l);
  return iota(type, {n / 2 + 1}, 0, l) * (1 / (static_cast<double>(n) * d));
}
/// The element of frequency 0 in the middle, along some axes or all of them, and back.
/// errors  those of roll
/// source  jax.numpy.fft.fftshift, ifftshift
constexpr array fftshift(array x, axes axis = {}, source_line l = source_line::current()) {
  if (axis.rank() == 0) axis = iota_axes(x.rank());
  for (const std::int64_t a : axis) {
    const int at = checked_axis("roll: axis", static_cast<int>(a), x, l);
    x = roll(x, x.extent(at) / 2, at, l);
  }
  return x;
}
constexpr array ifftshift(array x, axes axis = {}, source_line l = source_line::current()) {
  if (axis.rank() == 0) axis = iota_axes(x.rank());
  for (const std::int64_t a : axis) {
    const int at = checked_axis("roll: axis", static_cast<int>(a), x, l);
    x = roll(x, -(x.extent(at) / 2), at, l);
  }
  return x;
}
constexpr complex_parts fftshift(const complex_parts& x, const axes& axis = {},
                                 source_line l = source_line::current()) {
  return {fftshift(x.re, axis, l), fftshift(x.im, axis, l)};
}
constexpr complex_parts ifftshift(const complex_parts& x, const axes& axis = {},
                                  source_line l = source_line::current()) {
  return {ifftshift(x.re, axis, l), ifftshift(x.im, axis, l)};
}

}  // namespace tokamax
