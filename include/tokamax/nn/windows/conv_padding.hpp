// tokamax/nn/windows/conv_padding.hpp: what stands beyond the edges of an image, for layers of convolutions.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs without images pass it by)
// tested by tests/nn/windows/conv.cpp
#pragma once

#include <tokamax/lax/shapes/reshape.hpp>      // reshape
#include <tokamax/lax/windows/conv.hpp>        // padding, pad_axis
#include <tokamax/numpy/manipulation/pad.hpp>  // pad

namespace tokamax::nn {

/// What stands beyond the edges: as many zeros as give ceil(extent / stride) places, nothing, the other end, the mirror image, or
/// zeros before the first element alone, so that no place sees a later one.
enum class edges : std::uint8_t { same, valid, circular, reflect, causal };

/// The padding of a convolution: `.padding = nn::edges::circular`, or zeros on all sides, `.padding = 1`, or before and after each
/// axis, `.padding = {{1, 0}, {2, 0}}`.
struct conv_padding {
  edges kind = edges::same;
  bool counted = false;  ///< by `low` and `high`, or by `all`, in place of `kind`
  std::int64_t all = 0;
  shape low{}, high{};

  constexpr conv_padding() = default;
  constexpr conv_padding(edges k) : kind(k) {}                                                           // NOLINT
  constexpr conv_padding(tokamax::padding p) : kind(p == padding::same ? edges::same : edges::valid) {}  // NOLINT
  constexpr conv_padding(int zeros) : counted(true), all(zeros) {}                                       // NOLINT
  constexpr conv_padding(const shape& before, const shape& after) : counted(true), low(before), high(after) {}
  constexpr bool operator==(const conv_padding&) const = default;
  /// Are there as many amounts as axes?
  constexpr bool fits(int axes_of_window) const {
    return low.rank() == high.rank() && (low.rank() == 0 || low.rank() == axes_of_window) &&
           (kind != edges::causal || axes_of_window == 1);
  }
};

}  // namespace tokamax::nn
template <>
inline constexpr bool tokamax::is_static<tokamax::nn::conv_padding> = true;
namespace tokamax::nn {

namespace detail {
/// Zeros before and after each axis of a window over x, whose extents and strides are `span` (with dilation) and `steps`. Other
/// edges than zeros are added to x.
constexpr array padded(const array& x, const conv_padding& p, const shape& span, const shape& steps, shape& low,
                       shape& high, source_line l) {
  const int d = span.rank();
  const bool copies = !p.counted && (p.kind == edges::circular || p.kind == edges::reflect);
  vec<pad_width> around;
  around.push_back({});
  for (int i = 0; i < d; ++i) {
    around.push_back({(span[i] - 1) / 2, span[i] / 2});
    if (p.counted) {
      low.push_back(p.low.rank() ? p.low[i] : p.all);
      high.push_back(p.low.rank() ? p.high[i] : p.all);
    } else if (p.kind == edges::causal) {
      low.push_back(span[i] - 1);
      high.push_back(0);
    } else {
      tokamax::detail::pad_axis(low, high, p.kind == edges::same ? padding::same : padding::valid, x.extent(i + 1),
                                span[i], steps[i]);
    }
  }
  around.push_back({});
  if (!copies) return x;
  return pad(x, around, {.mode = p.kind == edges::circular ? pad_mode::wrap : pad_mode::reflect}, l);
}

/// f of x [batch..., space..., C] as [batch, space..., C], with `space` axes in the middle; the result has the batch axes of x.
template <class F>
constexpr array with_one_batch(const array& x, int space, const F& f, source_line l) {
  const int batches = x.rank() - space - 1;
  if (batches == 1) return f(x);
  shape all{1}, back;
  for (int i = 0; i < x.rank(); ++i) {
    if (i >= batches)
      all.push_back(x.extent(i));
    else
      all[0] = mul_extent(all[0], x.extent(i)), back.push_back(x.extent(i));
  }
  const array y = f(reshape(x, all, l));
  if (y.rank() != space + 2) return y;
  for (int i = 1; i < y.rank(); ++i) back.push_back(y.extent(i));
  return reshape(y, back, l);
}
}  // namespace detail

}  // namespace tokamax::nn
