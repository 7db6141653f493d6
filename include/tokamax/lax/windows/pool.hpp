// tokamax/lax/windows/pool.hpp: the largest element, the sum and the mean of the windows of an image.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/bitwise.hpp>  // bitwise_not
#include <tokamax/lax/indexing/slice.hpp>       // slice, pad
#include <tokamax/lax/windows/conv.hpp>         // padding

#include <limits>  // infinity

namespace tokamax {

struct pool_options {
  shape strides = {};  ///< one for each axis of the window; if empty, the extents of the window
  tokamax::padding padding = padding::valid;
  shape low{}, high{};            ///< how much is added before and after each axis; if given, in place of `padding`
  bool count_include_pad = true;  ///< does a mean count what was added as zeros?
};

/// Attributes of max_pool and its gradient, one entry an axis of the window.
struct max_pool_attributes {
  shape window{}, strides{}, low{}, high{};
};

namespace detail {
/// The strides and padding of a window over x, with defaults filled in. If they are invalid, a window of one element.
constexpr max_pool_attributes pool_attributes(const char* what, const array& x, const shape& window,
                                              const pool_options& o, std::int64_t most_places, source_line l) {
  max_pool_attributes a{.window = window, .strides = o.strides.rank() == 0 ? window : o.strides};
  const bool padded = o.low.rank() > 0;
  bool ok = x.rank() == window.rank() + 2 && a.strides.rank() == window.rank() && o.low.rank() == o.high.rank() &&
            (!padded || o.low.rank() == window.rank());
  for (int i = 0; ok && padded && i < window.rank(); ++i)
    ok = o.low[i] >= 0 && o.high[i] >= 0 && o.low[i] <= 2 * most_places && o.high[i] <= 2 * most_places;
  for (int i = 0; ok && i < window.rank(); ++i)
    ok = window[i] > 0 && window[i] <= most_places && a.strides[i] > 0 && a.strides[i] <= 2 * most_places;
  if (!ok || size(window) > most_places) {
    reject(x, l, what, message() << window << " by " << a.strides,
           message("1 to ") << most_places << " places on the axes of " << x.type());
    return {};
  }
  if (padded)
    a.low = o.low, a.high = o.high;
  else
    for (int i = 0; i < window.rank(); ++i)
      pad_axis(a.low, a.high, o.padding, x.extent(i + 1), window[i], a.strides[i]);
  return a;
}

// The most places that a window may have, and that it may have for a sum. A sum is traced place by place, as slices.
inline constexpr std::int64_t most_pool_places = 1 << 24, most_traced_places = 1 << 14;

/// Amounts for all axes of an image from those for the spatial axes. The batch and the channels get `other`.
constexpr shape of_image(const shape& space, std::int64_t other = 0) {
  shape s{other};
  for (std::int64_t v : space) s.push_back(v);
  s.push_back(other);
  return s;
}

constexpr array pool_pad(const array& x, const max_pool_attributes& a, double outside, source_line l) {
  bool padded = false;
  for (int i = 0; i < a.window.rank(); ++i) padded = padded || a.low[i] != 0 || a.high[i] != 0;
  if (!padded) return x;
  return pad(x, array(outside, {x.dtype(), false, {}}), of_image(a.low), of_image(a.high), {}, l);
}

/// The elements at place k of all windows: a strided slice of the padded image.
constexpr slice_options pool_slice(const array& wide, const max_pool_attributes& a, std::int64_t k) {
  const int d = a.window.rank();
  slice_options s{.start = of_image(a.window), .limit = wide.shape(), .stride = of_image(a.strides, 1)};
  for (int i = d; i > 0; --i) {
    const std::int64_t n = (wide.extent(i) - a.window[i - 1]) / a.strides[i - 1];  // last window
    s.start[i] = k % a.window[i - 1];
    s.limit[i] = s.start[i] + n * a.strides[i - 1] + 1;
    k /= a.window[i - 1];
  }
  return s;
}
constexpr array pool_place(const array& wide, const max_pool_attributes& a, std::int64_t k, source_line l) {
  const auto [start, limit, stride] = pool_slice(wide, a, k);
  return slice(wide, start, limit, stride, l);
}

/// Combines the places of all windows: join(place 0, place 1, ...). Each place is a strided slice, so one fused loop does
/// all the work.
template <class Join>
constexpr array pool(const array& x, const max_pool_attributes& a, double outside, Join join, source_line l) {
  const array wide = pool_pad(x, a, outside, l);
  array y = pool_place(wide, a, 0, l);
  for (std::int64_t k = 1; k < size(a.window); ++k) y = join(y, pool_place(wide, a, k, l));
  return y;
}

constexpr double lowest(dtype t) { return is_floating(t) ? -std::numeric_limits<double>::infinity() : lowest_of(t); }
/// Does b replace the largest element so far? NaN does.
constexpr array replaces(const array& b, const array& largest) { return logical_or(b > largest, logical_not(b == b)); }

/// The gradient in smaller ops: the cotangent of each window goes to its largest element.
constexpr array max_pool_cotangent(const array& x, const array& ct, const max_pool_attributes& a) {
  const array wide = pool_pad(x, a, lowest(x.dtype()), {});
  array largest = pool_place(wide, a, 0, {}), where = full(largest.shape(), 0, i32);
  for (std::int64_t k = 1; k < size(a.window); ++k) {
    const array b = pool_place(wide, a, k, {}), better = replaces(b, largest);
    largest = select(better, b, largest);
    where = select(better, array(static_cast<double>(k), {i32, false, {}}), where);
  }
  array g;
  for (std::int64_t k = 0; k < size(a.window); ++k) {
    const auto [start, limit, stride] = pool_slice(wide, a, k);
    shape high, interior;
    for (int i = 0; i < wide.rank(); ++i) {
      high.push_back(limit[i] == wide.extent(i) ? 0 : wide.extent(i) - limit[i]);
      interior.push_back(stride[i] - 1);
    }
    const array part = pad(select(where == array(static_cast<double>(k), {i32, false, {}}), ct, zeros_like(ct)),
                           array(0.0, {ct.dtype(), false, {}}), start, high, interior);
    g = g.exists() ? g + part : part;
  }
  shape low, high;
  for (int i = 0; i < a.low.rank(); ++i) low.push_back(-a.low[i]), high.push_back(-a.high[i]);
  return pool_pad(g, {.window = a.window, .low = low, .high = high}, 0, {});
}

/// A leading batch axis joins the images' own.
constexpr array join_batches(const call& c, int i) {
  const array x = with_batch_axis(c, i);
  shape s{mul_extent(x.extent(0), x.extent(1))};
  for (int k = 2; k < x.rank(); ++k) s.push_back(x.extent(k));
  return reshape(x, s);
}
constexpr array split_batches(const array& y, std::int64_t batches, std::int64_t each) {
  shape s{batches, each};
  for (int i = 1; i < y.rank(); ++i) s.push_back(y.extent(i));
  return reshape(y, s);
}
/// The type of max_pool of the first operand.
constexpr array_type max_pool_type(const call& c) {
  const auto [window, strides, low, high] = c.attrs<max_pool_attributes>();
  const int d = window.rank();
  array_type t = c[0].type();
  bool ok = t.shape.rank() == d + 2 && strides.rank() == d && t.dtype != bool_;
  for (int i = 0; ok && i < d; ++i) {
    const std::int64_t room = low[i] + t.shape[i + 1] + high[i] - window[i];
    ok = window[i] > 0 && strides[i] > 0 && room >= 0;
    t.shape[i + 1] = ok ? room / strides[i] + 1 : 0;
  }
  return ok ? t : c.fail("max_pool: window", message() << window, message("inside ") << c[0].type());
}
}  // namespace detail

/// The gradient of max_pool: of an image and the cotangent of its windows.
inline constexpr op max_pool_vjp_p{
    .name = "max_pool_vjp",
    .precision = {.kernels_in_f32 = true},
    .cost = {.operations = [](const call& c) -> op_cost {
      return {static_cast<double>(c[1].size() * size(c.attrs<max_pool_attributes>().window))};
    }},
    .attributes = schema<max_pool_attributes>,
    .infer = [](const call& c) -> array_type {
      const array_type y = detail::max_pool_type(c);
      return c[1].type() == y ? c[0].type() : c.fail("max_pool_vjp: cotangent", c[1].type(), message() << y);
    },
    .compose = [](const call& c) -> arrays {
      return detail::max_pool_cotangent(c[0], c[1], c.attrs<max_pool_attributes>());
    },
    .batch = [](const call& c) -> arrays {
      const array x = detail::join_batches(c, 0), ct = detail::join_batches(c, 1);
      const array g = bind(*c.self, {x, ct}, c.attrs<max_pool_attributes>(), c.where);
      return detail::split_batches(g, c.batch_size, c[0].extent(c.batched(0) ? 1 : 0));
    },
    .kernels = kernels_of<max_pool_vjp_p>,
};

inline constexpr op max_pool_p{
    .name = "max_pool",
    .cost = {.operations = [](const call& c) -> op_cost {
      return {static_cast<double>(size(c.type.shape) * (size(c.attrs<max_pool_attributes>().window) - 1))};
    }},
    .attributes = schema<max_pool_attributes>,
    .infer = [](const call& c) -> array_type { return detail::max_pool_type(c); },
    .compose = [](const call& c) -> arrays {
      const auto larger = [](const array& a, const array& b) { return select(detail::replaces(b, a), b, a); };
      return detail::pool(c[0], c.attrs<max_pool_attributes>(), detail::lowest(c[0].dtype()), larger, {});
    },
    .vjp = [](const call& c) -> arrays {
      return bind(described<max_pool_vjp_p>(), {c[0], c.ct()}, c.attrs<max_pool_attributes>(), c.where);
    },
    .batch = [](const call& c) -> arrays {
      const array y = bind(*c.self, {detail::join_batches(c, 0)}, c.attrs<max_pool_attributes>(), c.where);
      return detail::split_batches(y, c.batch_size, c[0].extent(1));
    },
    .kernels = kernels_of<max_pool_p>,
};

/// The largest element of each window; the gradient goes to the first one.
///
/// shapes  x [N, space..., C], window [...] -> [N, places..., C]
/// dtypes  numbers
/// errors  "max_pool: window", also beyond 2^24 places
/// source  flax.linen.max_pool
constexpr array max_pool(const array& x, const shape& window, const pool_options& o = {},
                         source_line l = source_line::current()) {
  return bind(described<max_pool_p>(), {x},
              detail::pool_attributes("max_pool: window", x, window, o, detail::most_pool_places, l), l);
}

/// The smallest element of each window; the gradient goes to the first one.
/// shapes, dtypes, errors  as max_pool
/// source  flax.linen.min_pool
constexpr array min_pool(const array& x, const shape& window, const pool_options& o = {},
                         source_line l = source_line::current()) {
  if (is_floating(x.dtype())) return -max_pool(-x, window, o, l);
  return bitwise_not(max_pool(bitwise_not(x, l), window, o, l), l);  // which turns the order of integers round, too
}

/// The sum of each window.
/// errors  "sum_pool: window", also beyond 2^14 places
/// source  jax.lax.reduce_window
constexpr array sum_pool(const array& x, const shape& window, const pool_options& o = {},
                         source_line l = source_line::current()) {
  const auto attributes = detail::pool_attributes("sum_pool: window", x, window, o, detail::most_traced_places, l);
  if (attributes.window.rank() + 2 != x.rank()) return x;
  return detail::pool(x, attributes, 0, [](const array& a, const array& b) { return a + b; }, l);
}

/// The mean of each window, computed in f32 at least and rounded once; zeros that pad the image count, if `count_include_pad`.
/// dtypes  any float; integers become f32
/// source  flax.linen.avg_pool
constexpr array avg_pool(const array& x, const shape& window, const pool_options& o = {},
                         source_line l = source_line::current()) {
  const std::int64_t n = size(window);
  const array wide = detail::carried(x), sums = sum_pool(wide, window, o, l);
  if (!o.count_include_pad) return astype(sums / sum_pool(ones_like(wide), window, o, l), floating_for(x.dtype()));
  return astype(sums / located(array(static_cast<double>(n > 0 ? n : 1)), l), floating_for(x.dtype()));
}

}  // namespace tokamax
