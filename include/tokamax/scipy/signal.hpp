// tokamax/scipy/signal.hpp: convolutions of signals, and signals without their trend: convolve, correlate, detrend.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/scipy/signal.cpp
#pragma once

#include <tokamax/lax/shapes/reverse.hpp>  // reverse
#include <tokamax/lax/windows/conv.hpp>    // conv_general_dilated
#include <tokamax/numpy/statistics.hpp>    // mean

namespace tokamax::scipy::signal {

/// Which part of a convolution is wanted: all places where the signals overlap, as many as the first one has, or those where
/// one lies within the other.
enum class convolution_mode : std::uint8_t { full, same, valid };

namespace detail {
constexpr array flipped(const array& x) { return reverse(x, iota_axes(x.rank())); }

/// The sum of products of x with w in reverse order. The smaller one is the window of a convolution of images, which have one
/// channel.
constexpr array convolved(const char* what, array x, array w, convolution_mode mode, source_line l) {
  const int rank = x.rank();
  bool larger = rank == w.rank(), smaller = larger, empty = false;
  for (int i = 0; i < rank && rank == w.rank(); ++i) {
    larger = larger && x.extent(i) >= w.extent(i);
    smaller = smaller && x.extent(i) <= w.extent(i);
    empty = empty || x.extent(i) == 0 || w.extent(i) == 0;
  }
  if (rank == 0 || rank != w.rank() || empty || !(larger || smaller)) {
    reject(x.trace() ? x.trace() : w.trace(), l, what, w.type(),
           message("as many axes, none of them empty, and no extents above those of ") << x.type());
    return x;
  }
  const shape second = w.shape();
  if (!larger) {
    const array first = x;
    x = w;
    w = first;
  }
  conv_options o;
  shape image{1}, window;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t n = w.extent(i), half = (second[i] - 1) / 2;
    const bool same = mode == convolution_mode::same;
    o.low.push_back(mode == convolution_mode::valid ? 0 : same ? n - 1 - half : n - 1);
    o.high.push_back(mode == convolution_mode::valid ? 0 : same ? n - second[i] + half : n - 1);
    o.strides.push_back(1);
    o.lhs_dilation.push_back(1);
    o.rhs_dilation.push_back(1);
    image.push_back(x.extent(i));
    window.push_back(n);
  }
  image.push_back(1);
  window.push_back(1);
  window.push_back(1);
  const array y = conv_general_dilated(reshape(x, image, l), reshape(flipped(w), window, l), o, l);
  shape extents;
  for (int i = 0; i < rank; ++i) extents.push_back(y.extent(i + 1));
  return reshape(y, extents, l);
}
/// Both in the floating dtype that they promote to.
struct two_signals {
  array x, y;
  constexpr two_signals(const array& a, const array& b) {
    const promoted both = promote({a.dtype(), a.type().weak}, {b.dtype(), b.type().weak});
    x = astype(a, floating_for(both.type));
    y = astype(b, floating_for(both.type));
  }
};
}  // namespace detail

/// y_n = sum x_k w_(n - k), along all axes.
///
/// shapes  x, w with as many axes, one of them at most as large as the other along each -> x + w - 1 (full), x (same), or
///         larger - smaller + 1 (valid)
/// dtypes  any float, computed in f32; integers become f32
/// errors  "convolve: shapes"
/// source  jax.scipy.signal.convolve
constexpr array convolve(const array& x, const array& w, convolution_mode mode = convolution_mode::full,
                         source_line l = source_line::current()) {
  const detail::two_signals s(x, w);
  return detail::convolved("convolve: shapes", s.x, s.y, mode, l);
}
/// The same with w in the other order: y_n = sum x_(n + k) w_k.
/// source  jax.scipy.signal.correlate
constexpr array correlate(const array& x, const array& w, convolution_mode mode = convolution_mode::full,
                          source_line l = source_line::current()) {
  const detail::two_signals s(x, w);
  return detail::convolved("correlate: shapes", s.x, detail::flipped(s.y), mode, l);
}
/// The convolution of two images.
///
/// shapes  x [m, n], w [k, l]; otherwise as convolve
/// errors  "convolve2d: shapes"
/// source  jax.scipy.signal.convolve2d with zeros around the image
constexpr array convolve2d(const array& x, const array& w, convolution_mode mode = convolution_mode::full,
                           source_line l = source_line::current()) {
  if (x.rank() != 2) {
    reject(x, l, "convolve2d: shapes", x.type(), "[m, n]");
    return x;
  }
  const detail::two_signals s(x, w);
  return detail::convolved("convolve2d: shapes", s.x, s.y, mode, l);
}
/// The correlation of two images. With `same`, the window's middle is the later element where it has two.
///
/// errors  "correlate2d: shapes"
/// source  jax.scipy.signal.correlate2d for a window that is not larger than the image
constexpr array correlate2d(const array& x, const array& w, convolution_mode mode = convolution_mode::full,
                            source_line l = source_line::current()) {
  if (x.rank() != 2) {
    reject(x, l, "correlate2d: shapes", x.type(), "[m, n]");
    return x;
  }
  const detail::two_signals s(x, w);
  if (mode == convolution_mode::same)
    return detail::flipped(detail::convolved("correlate2d: shapes", detail::flipped(s.x), s.y, mode, l));
  return detail::convolved("correlate2d: shapes", s.x, detail::flipped(s.y), mode, l);
}

/// What detrend takes away: the mean, or the straight line with the least squares.
enum class trend : std::uint8_t { linear, constant };
/// `x` without its trend along an axis.
///
/// shapes  any -> the same
/// dtypes  any float, sums in f32; integers become f32
/// errors  "detrend: axis"
/// source  jax.scipy.signal.detrend without breakpoints
constexpr array detrend(const array& given, int axis = -1, trend type = trend::linear,
                        source_line l = source_line::current()) {
  axis = checked_axis("detrend: axis", axis, given, l);
  if (given.rank() == 0) return tokamax::detail::in_floats(given);
  if (type != trend::constant && is_dyn(given.extent(axis)) && !is_known("detrend", given, l)) return given;
  return tokamax::detail::rounded_once(tokamax::detail::in_floats(given), [&](const array& x) {
    const array centred = x - located(mean(x, {{axis}, true}, l), l);
    if (type == trend::constant || x.extent(axis) < 2) return centred;
    const double n = static_cast<double>(x.extent(axis));
    const array time = iota(x.dtype(), x.shape(), axis, l) - (n - 1) / 2;
    const array slope = sum(centred * located(time, l), {{axis}, true}, l) / (n * (n * n - 1) / 12);
    return centred - located(slope * time, l);
  });
}

}  // namespace tokamax::scipy::signal
