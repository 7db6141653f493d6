// tokamax/lax/pool.hpp: largest, sum and mean of the windows of an image.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/conv.hpp>   // padding
#include <tokamax/lax/slice.hpp>  // slice, pad

#include <limits>  // infinity

namespace tokamax {

struct pool_options {
  shape strides = {};  ///< one an axis of the window; the window itself if empty
  tokamax::padding padding = padding::valid;
};

namespace detail {
/// join(place 0 of all windows, place 1, ...): one strided slice a place, so that one fused loop does the work.
template <class Join>
constexpr array pool(const array& x, const shape& window, pool_options o, double outside, Join join, source_line l) {
  if (o.strides.rank() == 0) o.strides = window;
  const int d = window.rank();
  shape low{0}, high{0};
  for (int i = 0; i < d; ++i) pad_axis(low, high, o.padding, x.extent(i + 1), window[i], o.strides[i]);
  low.push_back(0);
  high.push_back(0);
  bool padded = false;
  for (int i = 0; i < d + 2; ++i) padded = padded || low[i] != 0 || high[i] != 0;
  array wide = x;
  if (padded) wide = pad(x, array(outside, {x.dtype(), false, {}}), low, high, {}, l);
  std::int64_t places = 1;
  for (std::int64_t n : window) places *= n;
  array y;
  for (std::int64_t k = 0; k < places; ++k) {
    shape start{0}, limit{x.extent(0)}, stride{1};
    std::int64_t rest = k;
    shape at = window;
    for (int i = d - 1; i >= 0; --i) {
      at[i] = rest % window[i];
      rest /= window[i];
    }
    for (int i = 0; i < d; ++i) {
      const std::int64_t n = (wide.extent(i + 1) - window[i]) / o.strides[i];  // last window
      start.push_back(at[i]);
      limit.push_back(at[i] + n * o.strides[i] + 1);
      stride.push_back(o.strides[i]);
    }
    start.push_back(0);
    limit.push_back(x.extent(d + 1));
    stride.push_back(1);
    const array part = slice(wide, start, limit, stride, l);
    if (k == 0)
      y = part;
    else
      y = join(y, part);
  }
  return y;
}
}  // namespace detail

/// The largest element of each window; the gradient goes to the first one.
///
/// shapes  x [N, space..., C], window [...] -> [N, places..., C]
/// source  flax.linen.max_pool
constexpr array max_pool(const array& x, const shape& window, const pool_options& o = {},
                         source_line l = source_line::current()) {
  const double lowest = is_floating(x.dtype()) ? -std::numeric_limits<double>::infinity() : lowest_of(x.dtype());
  const auto larger = [l](const array& a, const array& b) {
    return select(logical_or(b > a, logical_not(b == b, l), l), b, a, l);
  };
  return detail::pool(x, window, o, lowest, larger, l);
}

/// The sum of each window.
/// source  jax.lax.reduce_window
constexpr array sum_pool(const array& x, const shape& window, const pool_options& o = {},
                         source_line l = source_line::current()) {
  return detail::pool(x, window, o, 0, [](const array& a, const array& b) { return a + b; }, l);
}

/// The mean of each window; zeros that pad the image count.
/// source  flax.linen.avg_pool
constexpr array avg_pool(const array& x, const shape& window, const pool_options& o = {},
                         source_line l = source_line::current()) {
  std::int64_t places = 1;
  for (std::int64_t n : window) places *= n;
  return sum_pool(x, window, o, l) * (1.0 / static_cast<double>(places));
}

}  // namespace tokamax
