// tokamax/lax/windows/conv.hpp: convolutions over any number of spatial axes; their derivatives are convolutions too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/elementwise/arithmetic.hpp>  // +
#include <tokamax/lax/shapes/reverse.hpp>          // reverse
#include <tokamax/lax/shapes/transpose.hpp>        // transpose

namespace tokamax {

/// Attributes of conv_general_dilated. The lists have one entry for each spatial axis.
struct conv_options {
  shape strides{}, low{}, high{};        ///< steps of the window; zeros added before and after (negative amounts cut)
  shape lhs_dilation{}, rhs_dilation{};  ///< 1 + number of zeros between the elements of the image, of the window
  int feature_groups = 1;  ///< groups into which channels are cut; each computes its own part of the output features
  int batch_groups = 1;    ///< groups into which the batch is cut; each computes its own part of the output features
};

constexpr array conv_general_dilated(const array& lhs, const array& rhs, const conv_options& options,
                                     source_line l = source_line::current());

namespace detail {
constexpr std::int64_t dilated(std::int64_t n, std::int64_t by) {
  if (is_dyn(n)) return by == 1 ? n : no_extent;
  return n > 0 ? (n - 1) * by + 1 : 0;
}
/// The number of places of a window along an axis of n entries. If n is dynamic, there must be a place for each entry.
constexpr std::int64_t window_places(std::int64_t n, std::int64_t window, std::int64_t padding, std::int64_t stride) {
  if (is_dyn(n)) return stride == 1 && padding == window - 1 ? n : no_extent;
  return n + padding < window ? 0 : (n + padding - window) / stride + 1;
}

/// Cuts axis `from` of x into [parts, rest] and moves the parts into axis `to`, where they are the slow part. Axes are
/// numbered as after the cut.
constexpr array move_parts(const array& x, int from, int to, std::int64_t parts) {
  shape cut;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == from) cut.push_back(parts);
    cut.push_back(i == from ? x.extent(i) / parts : x.extent(i));
  }
  axes order;  // of the cut axes: the parts come before axis `to`
  shape joined;
  for (int i = 0; i < x.rank(); ++i) {
    const int at = i > from ? i + 1 : i == from ? from + 1 : i;
    if (i == to) order.push_back(from);
    order.push_back(at);
    joined.push_back(cut[at] * (i == to ? parts : 1));
  }
  return reshape(transpose(reshape(x, cut), order), joined);
}

constexpr array conv_lhs_vjp(const call& c) {
  const auto o = c.attrs<conv_options>();
  const int d = o.strides.rank(), rank = d + 2;
  const std::int64_t groups = o.feature_groups > 1 ? o.feature_groups : o.batch_groups;
  array rhs = c[1];  // [window..., I, O] -> [window..., O / groups, groups * I]
  if (groups > 1) rhs = move_parts(rhs, rank - 1, rank - 2, groups);
  rhs = swapaxes(rhs, rank - 2, rank - 1);
  conv_options t{.strides = o.lhs_dilation,
                 .lhs_dilation = o.strides,
                 .rhs_dilation = o.rhs_dilation,
                 .feature_groups = static_cast<int>(groups)};
  axes window;
  for (int i = 0; i < d; ++i) {
    const std::int64_t n = dilated(c[0].extent(i + 1), o.lhs_dilation[i]),
                       k = dilated(c[1].extent(i), o.rhs_dilation[i]);
    t.low.push_back(k - o.low[i] - 1);
    t.high.push_back(n + k - 1 - dilated(c.ct().extent(i + 1), o.strides[i]) - t.low[i]);
    window.push_back(i);
  }
  const array g = conv_general_dilated(c.ct(), reverse(rhs, window), t);
  return o.batch_groups > 1 ? move_parts(g, rank - 1, 0, groups) : g;
}

/// The cotangent of a window with the extents `window`. It is a convolution whose batch are the channels of the image.
constexpr array conv_rhs_cotangent(const array& x, const array& ct, const shape& window, const conv_options& o) {
  const int d = o.strides.rank(), rank = d + 2;
  conv_options t{.strides = o.rhs_dilation,
                 .low = o.low,
                 .lhs_dilation = o.lhs_dilation,
                 .rhs_dilation = o.strides,
                 .feature_groups = o.batch_groups,
                 .batch_groups = o.feature_groups};
  axes window_first;  // [N, out..., O] -> [out..., N, O]
  for (int i = 0; i < d; ++i) {
    t.high.push_back(dilated(ct.extent(i + 1), o.strides[i]) - dilated(x.extent(i + 1), o.lhs_dilation[i]) +
                     dilated(window[i], o.rhs_dilation[i]) - o.low[i] - 1);
    window_first.push_back(i + 1);
  }
  window_first.push_back(0);
  window_first.push_back(rank - 1);
  const array g = conv_general_dilated(swapaxes(x, 0, rank - 1), transpose(ct, window_first), t);  // [I, window..., O]
  axes back;
  for (int i = 0; i < d; ++i) back.push_back(i + 1);
  back.push_back(0);
  back.push_back(rank - 1);
  return transpose(g, back);
}

constexpr array conv_rhs_vjp(const call& c);

/// Is this a stride or extent whose product with another one does not overflow?
constexpr bool is_step(std::int64_t n) { return n > 0 && n <= std::int64_t{1} << 31; }
constexpr bool is_padding(std::int64_t n) { return n <= std::int64_t{1} << 60 && n >= -(std::int64_t{1} << 60); }
/// Are steps and groups positive, and all numbers small enough to be added and multiplied?
constexpr bool conv_amounts_fit(const shape& x, const shape& w, const conv_options& o) {
  bool ok = o.feature_groups > 0 && o.batch_groups > 0;
  for (int i = 0; ok && i < o.strides.rank(); ++i)
    ok = o.strides[i] > 0 && is_step(o.lhs_dilation[i]) && is_step(o.rhs_dilation[i]) && x[i + 1] <= 1LL << 31 &&
         w[i] <= 1LL << 31 && is_padding(o.low[i]) && is_padding(o.high[i]);
  return ok;
}
/// The type of the convolution of an image x with a window w.
constexpr array_type conv_type(const call& c, const array_type& x, const array_type& w, const conv_options& o) {
  const int d = o.strides.rank();
  const std::int64_t groups = o.feature_groups;
  if (x.dtype != w.dtype || !is_floating(x.dtype)) return c.fail("conv: dtypes", w, message("floats, as in ") << x);
  bool ok = x.shape.rank() == d + 2 && w.shape.rank() == d + 2 && o.low.rank() == d && o.high.rank() == d &&
            o.lhs_dilation.rank() == d && o.rhs_dilation.rank() == d;
  if (!ok) return c.fail("conv: ranks", w, message() << d + 2 << " axes for " << d << " strides, beside " << x);
  if (!conv_amounts_fit(x.shape, w.shape, o))
    return c.fail("conv: options", message() << o.strides << o.low << o.high << o.lhs_dilation << o.rhs_dilation,
                  "strides, dilations and groups from 1 on");
  ok = x.shape[-1] == groups * w.shape[-2] && w.shape[-1] % (groups * o.batch_groups) == 0 &&
       x.shape[0] % o.batch_groups == 0 && (groups == 1 || o.batch_groups == 1);
  if (!ok) return c.fail("conv: channels", w, message("C / groups and O, of ") << x << " in " << groups << " groups");
  array_type t{x.dtype, false, {div_extent(x.shape[0], o.batch_groups)}};
  for (int i = 0; i < d; ++i)
    t.shape.push_back(window_places(dilated(x.shape[i + 1], o.lhs_dilation[i]), dilated(w.shape[i], o.rhs_dilation[i]),
                                    o.low[i] + o.high[i], o.strides[i]));
  t.shape.push_back(w.shape[-1]);
  return t;
}

/// The window of a batch as one with more features: [window..., I, features].
constexpr array conv_window_of_batch(const call& c, std::int64_t groups) {
  const int rank = c[1].type().shape.rank() - 1;
  const std::int64_t n = c.batch_size;
  array rhs = c[1];
  axes p;
  for (int i = 0; i < rank - 1; ++i) p.push_back(i + 1);
  shape s;
  for (int i = 1; i < rank; ++i) s.push_back(rhs.extent(i));
  s.push_back(mul_extent(n, rhs.extent(rank)));
  if (c.batched(0)) {  // [n, window..., I, O] -> [window..., I, n O]
    p.push_back(0);
    p.push_back(rank);
    return reshape(transpose(rhs, p), s);
  }
  shape cut;  // -> [window..., I, G, n, O / G], so that a group keeps its features together
  for (int i = 0; i < rank; ++i) cut.push_back(rhs.extent(i));
  cut.push_back(groups);
  cut.push_back(rhs.extent(rank) / groups);
  p.push_back(rank);
  p.push_back(0);
  p.push_back(rank + 1);
  return reshape(transpose(reshape(rhs, cut), p), s);
}

/// The image of a batch, next to a window of the batch: each entry becomes a group of the convolution.
constexpr array conv_image_of_batch(const call& c, conv_options& o) {
  const int rank = c[1].type().shape.rank() - 1;
  const array& lhs = c[0];
  const std::int64_t n = c.batch_size;
  if (o.batch_groups > 1) {  // [n, G N, ...] -> [n G N, ...]
    shape t{mul_extent(n, lhs.extent(1))};
    for (int i = 2; i <= rank; ++i) t.push_back(lhs.extent(i));
    o.batch_groups *= static_cast<int>(n);
    return reshape(lhs, t);
  }
  axes q;  // [n, N, ..., C] -> [N, ..., n C]
  shape t;
  for (int i = 1; i < rank; ++i) q.push_back(i), t.push_back(lhs.extent(i));
  q.push_back(0);
  q.push_back(rank);
  t.push_back(mul_extent(n, lhs.extent(rank)));
  o.feature_groups *= static_cast<int>(n);
  return reshape(transpose(lhs, q), t);
}

/// The batch rule. If both operands have the new axis, it becomes part of the groups. If only the image has it, it becomes
/// part of the batch axis, and if only the window has it, part of the output features.
constexpr arrays conv_batch(const call& c) {
  auto o = c.attrs<conv_options>();
  const int rank = o.strides.rank() + 2;
  const std::int64_t n = c.batch_size, groups = o.feature_groups * o.batch_groups;
  if (c.batched(1)) {
    const bool both = c.batched(0);
    const array rhs = conv_window_of_batch(c, groups);
    const array lhs = both ? conv_image_of_batch(c, o) : c[0];
    const array y = conv_general_dilated(lhs, rhs, o);  // [N, out..., features]
    shape cut, result{n};
    axes q{both ? rank - 1 : rank};
    for (int i = 0; i < rank - 1; ++i) cut.push_back(y.extent(i)), result.push_back(y.extent(i)), q.push_back(i);
    if (!both) cut.push_back(groups), q.push_back(rank - 1);
    cut.push_back(n);
    cut.push_back(y.extent(rank - 1) / n / (both ? 1 : groups));
    q.push_back(both ? rank : rank + 1);
    result.push_back(y.extent(rank - 1) / n);
    return reshape(transpose(reshape(y, cut), q), result);
  }
  // [n, G N, ...] -> [G n N, ...]
  array lhs = c[0];
  const std::int64_t g = o.batch_groups, each = lhs.extent(1) / g;
  shape s{g * n * each}, cut{n, g, each};
  axes p{1, 0, 2};
  for (int i = 2; i <= rank; ++i) s.push_back(lhs.extent(i)), cut.push_back(lhs.extent(i)), p.push_back(i + 1);
  if (g > 1) lhs = transpose(reshape(lhs, cut), p);
  const array y = conv_general_dilated(reshape(lhs, s), c[1], o);
  shape result{n, each};
  for (int i = 1; i < rank; ++i) result.push_back(y.extent(i));
  return reshape(y, result);
}
}  // namespace detail

/// Attributes of conv_rhs_vjp: the spatial extents of the window, and the attributes of a convolution without batch groups.
struct conv_rhs_vjp_options {
  shape window, strides, low, high, lhs_dilation, rhs_dilation;
  int feature_groups = 1;
  constexpr conv_options of_conv() const {
    return {.strides = strides,
            .low = low,
            .high = high,
            .lhs_dilation = lhs_dilation,
            .rhs_dilation = rhs_dilation,
            .feature_groups = feature_groups};
  }
};

/// The gradient of the window of a convolution: products of an image [N, space..., C] with the cotangent
/// [N, places..., O], summed over the places.
inline constexpr op conv_rhs_vjp_p{
    .name = "conv_rhs_vjp",
    .precision = {.kernels_in_f32 = true},
    .cost = {.operations = [](const call& c) -> op_cost {
      return {2.0 * static_cast<double>(c[1].size()) * static_cast<double>(size(c.type.shape)) /
              static_cast<double>(c.type.shape[-1])};
    }},
    .attributes = schema<conv_rhs_vjp_options>,
    .infer = [](const call& c) -> array_type {
      const auto o = c.attrs<conv_rhs_vjp_options>();
      const array_type &x = c[0].type(), &ct = c[1].type();
      array_type t{x.dtype, false, o.window};
      if (x.shape.rank() == t.shape.rank() + 2 && ct.shape.rank() == x.shape.rank() && o.feature_groups > 0) {
        t.shape.push_back(x.shape[-1] / o.feature_groups);
        t.shape.push_back(ct.shape[-1]);
      }
      const array_type y = detail::conv_type(c, x, t, o.of_conv());
      return ct == y ? t : c.fail("conv_rhs_vjp: cotangent", ct, message() << y);
    },
    .compose = [](const call& c) -> arrays {
      const auto o = c.attrs<conv_rhs_vjp_options>();
      return detail::conv_rhs_cotangent(c[0], c[1], o.window, o.of_conv());
    },
    .kernels = kernels_of<conv_rhs_vjp_p>,
};

inline constexpr op conv_general_dilated_p{
    .name = "conv_general_dilated",
    .stablehlo = "stablehlo.convolution",
    .cost = {.operations = [](const call& c) -> op_cost {
      return {2.0 * static_cast<double>(size(c.type.shape)) * static_cast<double>(c[1].size()) /
              static_cast<double>(c[1].extent(-1))};
    }},
    .attributes = schema<conv_options>,
    .infer = [](const call& c) -> array_type {
      return detail::conv_type(c, c[0].type(), c[1].type(), c.attrs<conv_options>());
    },
    .vjp = [](const call& c) -> arrays {
      return {c.needs(0) ? detail::conv_lhs_vjp(c) : array(), c.needs(1) ? detail::conv_rhs_vjp(c) : array()};
    },
    .jvp = [](const call& c) -> arrays {
      const auto o = c.attrs<conv_options>();
      const array &tx = c.tangents[0], &tw = c.tangents[1];
      if (!tw.exists()) return conv_general_dilated(tx, c[1], o);
      if (!tx.exists()) return conv_general_dilated(c[0], tw, o);
      return conv_general_dilated(tx, c[1], o) + conv_general_dilated(c[0], tw, o);
    },
    .batch = detail::conv_batch,
    .kernels = kernels_of<conv_general_dilated_p>,
};

namespace detail {
constexpr array conv_rhs_vjp(const call& c) {
  const auto o = c.attrs<conv_options>();
  shape window;
  for (int i = 0; i < o.strides.rank(); ++i) window.push_back(c[1].extent(i));
  if (o.batch_groups > 1) return conv_rhs_cotangent(c[0], c.ct(), window, o);
  return bind(described<conv_rhs_vjp_p>(), {c[0], c.ct()},
              conv_rhs_vjp_options{window, o.strides, o.low, o.high, o.lhs_dilation, o.rhs_dilation, o.feature_groups},
              c.where);
}
}  // namespace detail

/// The sum of products of a window with every part of an image. As in other libraries, this is a cross-correlation.
///
/// The zeros of padding and dilation are multiplied too, so an infinite weight that meets one gives NaN.
///
/// shapes  lhs [N, space..., C], rhs [window..., C / groups, O] -> [N, places..., O]
/// dtypes  any float, computed in f32
/// errors  "conv: dtypes", "conv: ranks", "conv: options", "conv: channels"
/// source  jax.lax.conv_general_dilated with NHWC, HWIO, NHWC
constexpr array conv_general_dilated(const array& lhs, const array& rhs, const conv_options& options, source_line l) {
  return bind(described<conv_general_dilated_p>(), {lhs, rhs}, options, l);
}

/// How many zeros are added around an image: none, or as many as give ceil(extent / stride) places.
enum class padding : std::uint8_t { same, valid };

struct conv2d_options {
  shape strides{1, 1};
  tokamax::padding padding = padding::same;
  shape dilation{1, 1};  ///< of the window
  int groups = 1;
};

namespace detail {
/// Zeros before and after one axis.
constexpr void pad_axis(shape& low, shape& high, padding p, std::int64_t n, std::int64_t window, std::int64_t stride) {
  const std::int64_t needed = ((n + stride - 1) / stride - 1) * stride + window - n;
  const std::int64_t total = p == padding::same && needed > 0 ? needed : 0;
  low.push_back(total / 2);
  high.push_back(total - total / 2);
}
}  // namespace detail

/// A convolution of images.
///
/// shapes  x [N, H, W, C], w [h, w, C / groups, O] -> [N, H', W', O]
/// dtypes  promoted to one
/// errors  "conv2d: options" for anything but two positive strides and dilations and two images of rank 4, and those of
///         conv_general_dilated
/// source  jax.lax.conv_general_dilated, flax.linen.Conv
constexpr array conv2d(const array& x, const array& w, const conv2d_options& o = {},
                       source_line l = source_line::current()) {
  bool ok = x.rank() == 4 && w.rank() == 4 && o.strides.rank() == 2 && o.dilation.rank() == 2;
  for (int i = 0; ok && i < 2; ++i)
    ok = detail::is_step(o.strides[i]) && detail::is_step(o.dilation[i]) && w.extent(i) <= 1LL << 31;
  if (!ok) {
    reject(x, l, "conv2d: options", message() << o.strides << o.dilation << " for " << x.type() << w.type(),
           "two strides and dilations from 1 on, and rank 4");
    return x;
  }
  const promoted p = promote({x.dtype(), x.type().weak}, {w.dtype(), w.type().weak});
  conv_options c{.strides = o.strides, .lhs_dilation = {1, 1}, .rhs_dilation = o.dilation, .feature_groups = o.groups};
  for (int i = 0; i < 2; ++i)
    detail::pad_axis(c.low, c.high, o.padding, x.extent(i + 1), detail::dilated(w.extent(i), o.dilation[i]),
                     o.strides[i]);
  return conv_general_dilated(convert_element_type(x, p.type, p.weak), convert_element_type(w, p.type, p.weak), c, l);
}

}  // namespace tokamax
