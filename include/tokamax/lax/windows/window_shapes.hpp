// tokamax/lax/windows/window_shapes.hpp: the shapes that convolutions and windows give, without arrays.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (operators compute their shapes themselves)
// tested by tests/lax/windows/patches.cpp
#pragma once

#include <tokamax/lax/windows/conv.hpp>  // padding, pad_axis, window_places

#include <string_view>  // string_view

namespace tokamax {

/// The zeros before and after each axis.
struct window_padding {
  shape low{}, high{};
};

/// As many zeros as give ceil(extent / stride) places along each axis, of which the odd one comes last; or none.
///
/// errors  "padtype_to_pads: ranks" unless the three lists are equally long
/// source  jax.lax.padtype_to_pads
constexpr window_padding padtype_to_pads(const shape& extents, const shape& window, const shape& strides, padding p,
                                         source_line l = source_line::current()) {
  window_padding all;
  bool ok = extents.rank() == window.rank() && extents.rank() == strides.rank();
  for (std::int64_t s : strides) ok = ok && s > 0;
  if (!ok) {
    reject(nullptr, l, "padtype_to_pads: ranks", message() << extents << window << strides,
           "as many of each, with positive strides");
    return all;
  }
  for (int i = 0; i < extents.rank(); ++i) detail::pad_axis(all.low, all.high, p, extents[i], window[i], strides[i]);
  return all;
}

/// The number of places of a window along each axis.
///
///   (low + dilated extent + high - dilated window) / stride + 1
///
/// errors  "reduce_window_shape_tuple: ranks"
/// source  jax.lax.reduce_window_shape_tuple
constexpr shape reduce_window_shape_tuple(const shape& extents, const shape& window, const shape& strides,
                                          const window_padding& pads, const shape& base_dilation = {},
                                          const shape& window_dilation = {}, source_line l = source_line::current()) {
  const int rank = extents.rank();
  bool ok = window.rank() == rank && strides.rank() == rank && pads.low.rank() == rank && pads.high.rank() == rank;
  for (const shape* s : {&base_dilation, &window_dilation}) ok = ok && (s->rank() == 0 || s->rank() == rank);
  for (std::int64_t s : strides) ok = ok && s > 0;
  shape places;
  if (!ok) {
    reject(nullptr, l, "reduce_window_shape_tuple: ranks", message() << window << strides << pads.low << pads.high,
           message("as many of each as in ") << extents);
    return extents;
  }
  for (int i = 0; i < rank; ++i)
    places.push_back(
        detail::window_places(base_dilation.rank() ? detail::dilated(extents[i], base_dilation[i]) : extents[i],
                              window_dilation.rank() ? detail::dilated(window[i], window_dilation[i]) : window[i],
                              pads.low[i] + pads.high[i], strides[i]));
  return places;
}

/// Which axes are which, in letters: N and C of the operand and of the result, O and I of the window, any others in space.
struct conv_layout {
  std::string_view lhs = "NCHW", rhs = "OIHW", out = "NCHW";
};
/// For operand, window and result: the axes in the order N, C, space (O, I, space), where space is in the order of the window.
struct conv_permutations {
  axes lhs, rhs, out;
};
namespace detail {
constexpr bool permutation_of(std::string_view spec, std::string_view window, char first, char second, axes& order) {
  const auto place = [&](char c) { return static_cast<std::int64_t>(spec.find(c)); };
  if (spec.size() != window.size() || place(first) < 0 || place(second) < 0) return false;
  order.push_back(place(first));
  order.push_back(place(second));
  for (char c : window) {
    if (c == 'O' || c == 'I') continue;
    if (place(c) < 0 || c == first || c == second) return false;
    order.push_back(place(c));
  }
  for (int i = 0; i < order.rank(); ++i)
    for (int k = 0; k < i; ++k)
      if (order[i] == order[k]) return false;
  return order.rank() == static_cast<int>(spec.size());
}
}  // namespace detail
/// errors  "conv_general_permutations: layout" unless each has its two letters and the same others, once
/// source  jax.lax.conv_general_permutations
constexpr conv_permutations conv_general_permutations(const conv_layout& layout,
                                                      source_line l = source_line::current()) {
  conv_permutations p;
  if (!detail::permutation_of(layout.lhs, layout.rhs, 'N', 'C', p.lhs) ||
      !detail::permutation_of(layout.rhs, layout.rhs, 'O', 'I', p.rhs) ||
      !detail::permutation_of(layout.out, layout.rhs, 'N', 'C', p.out))
    reject(nullptr, l, "conv_general_permutations: layout",
           message(layout.lhs) << ", " << layout.rhs << ", " << layout.out, "such as NHWC, HWIO, NHWC");
  return p;
}

/// The shape of a convolution of lhs [N, C, space...] with a window [O, I, window...]: [N / batch_groups, O, places...].
///
/// errors  "reduce_window_shape_tuple: ranks"
/// source  jax.lax.conv_shape_tuple
constexpr shape conv_shape_tuple(const shape& lhs, const shape& rhs, const shape& strides, const window_padding& pads,
                                 std::int64_t batch_groups = 1, source_line l = source_line::current()) {
  shape space, window;
  for (int i = 2; i < lhs.rank(); ++i) space.push_back(lhs[i]);
  for (int i = 2; i < rhs.rank(); ++i) window.push_back(rhs[i]);
  if (lhs.rank() < 2 || rhs.rank() < 2) {
    reject(nullptr, l, "reduce_window_shape_tuple: ranks", message() << lhs << rhs, "two axes and those in space");
    return lhs;
  }
  shape out{lhs[0] / (batch_groups > 0 ? batch_groups : 1), rhs[0]};
  for (std::int64_t n : reduce_window_shape_tuple(space, window, strides, pads, {}, {}, l)) out.push_back(n);
  return out;
}

namespace detail {
constexpr shape in_order(const shape& s, const axes& order) {
  shape t;
  for (std::int64_t a : order) t.push_back(a < s.rank() ? s[static_cast<int>(a)] : 0);
  return t;
}
constexpr shape out_of_order(const shape& t, const axes& order) {
  shape s = t;
  for (int i = 0; i < order.rank() && i < t.rank(); ++i) s[static_cast<int>(order[i])] = t[i];
  return s;
}
}  // namespace detail
/// The same in any layout.
/// errors  "conv_general_permutations: layout", "reduce_window_shape_tuple: ranks"
/// source  jax.lax.conv_general_shape_tuple
constexpr shape conv_general_shape_tuple(const shape& lhs, const shape& rhs, const shape& strides,
                                         const window_padding& pads, const conv_layout& layout,
                                         source_line l = source_line::current()) {
  const conv_permutations p = conv_general_permutations(layout, l);
  const shape out = conv_shape_tuple(detail::in_order(lhs, p.lhs), detail::in_order(rhs, p.rhs), strides, pads, 1, l);
  return detail::out_of_order(out, p.out);
}
/// The shape of the transpose of a convolution, which enlarges an image: stride (n - 1) - window + 2 + low + high along each
/// spatial axis, for the zeros around the operand.
/// errors  "conv_general_permutations: layout", "reduce_window_shape_tuple: ranks"
/// source  jax.lax.conv_transpose_shape_tuple
constexpr shape conv_transpose_shape_tuple(const shape& lhs, const shape& rhs, const shape& strides,
                                           const window_padding& pads, const conv_layout& layout,
                                           source_line l = source_line::current()) {
  const conv_permutations p = conv_general_permutations(layout, l);
  const shape image = detail::in_order(lhs, p.lhs), window = detail::in_order(rhs, p.rhs);
  const int d = image.rank() - 2;
  if (d < 0 || window.rank() != d + 2 || strides.rank() != d || pads.low.rank() != d || pads.high.rank() != d) {
    reject(nullptr, l, "reduce_window_shape_tuple: ranks", message() << strides << pads.low << pads.high,
           message("as many as axes in space of ") << lhs);
    return lhs;
  }
  shape out{image[0], window[0]};
  for (int i = 0; i < d; ++i)
    out.push_back((image[i + 2] - 1) * strides[i] - window[i + 2] + 2 + pads.low[i] + pads.high[i]);
  return detail::out_of_order(out, p.out);
}

}  // namespace tokamax
