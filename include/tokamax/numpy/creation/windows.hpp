// tokamax/numpy/creation/windows.hpp: window functions: bartlett, blackman, hamming, hanning.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (signals need it)
// tested by tests/numpy/creation.cpp
#pragma once

#include <tokamax/numpy/arange.hpp>                   // iota
#include <tokamax/numpy/elementwise/exponential.hpp>  // cos, pi

namespace tokamax {

namespace detail {
/// 2 pi i / (n - 1) for each of n points.
constexpr array window_angles(std::int64_t n, source_line l) {
  if (comes_of_extent(n)) return impossible(f32, "dynamic extent: window", "a dynamic extent", "a known number", l);
  return iota(f32, {n}, 0, l) * array(2 * pi / static_cast<double>(n - 1), {f32, false, {}});
}
}  // namespace detail

/// Weights of n points, which fall toward both ends; a single point has 1.
///
///   bartlett  1 - |2 i / (n - 1) - 1|
///   hanning   0.5 - 0.5 cos(2 pi i / (n - 1))
///   hamming   0.54 - 0.46 cos(2 pi i / (n - 1))
///   blackman  0.42 - 0.5 cos(2 pi i / (n - 1)) + 0.08 cos(4 pi i / (n - 1))
///
/// dtypes  f32
/// errors  "dynamic extent: window"
/// source  jax.numpy.bartlett, hanning, hamming, blackman
constexpr array bartlett(std::int64_t n, source_line l = source_line::current()) {
  if (n <= 1 && !detail::comes_of_extent(n)) return ones({n < 0 ? 0 : n}, f32, l);
  if (detail::comes_of_extent(n)) return detail::window_angles(n, l);  // which refuses it
  const double scale = 2 / static_cast<double>(n - 1);
  return 1.0 - abs(iota(f32, {n}, 0, l) * array(scale, {f32, false, {}}) - 1.0);
}
constexpr array hanning(std::int64_t n, source_line l = source_line::current()) {
  if (n <= 1 && !detail::comes_of_extent(n)) return ones({n < 0 ? 0 : n}, f32, l);
  return 0.5 - 0.5 * cos(detail::window_angles(n, l));
}
constexpr array hamming(std::int64_t n, source_line l = source_line::current()) {
  if (n <= 1 && !detail::comes_of_extent(n)) return ones({n < 0 ? 0 : n}, f32, l);
  return 0.54 - 0.46 * cos(detail::window_angles(n, l));
}
constexpr array blackman(std::int64_t n, source_line l = source_line::current()) {
  if (n <= 1 && !detail::comes_of_extent(n)) return ones({n < 0 ? 0 : n}, f32, l);
  const array angle = detail::window_angles(n, l);
  return 0.42 - 0.5 * cos(angle) + 0.08 * cos(2.0 * angle);
}

}  // namespace tokamax
