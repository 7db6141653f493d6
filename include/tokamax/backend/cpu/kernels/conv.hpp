// tokamax/backend/cpu/kernels/conv.hpp: convolution as products of the window with unrolled blocks of the image.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>         // cpu_tag
#include <tokamax/backend/cpu/gemm.hpp>           // gemm
#include <tokamax/backend/cpu/kernels/lanes.hpp>  // lanes
#include <tokamax/lax/conv.hpp>                   // conv_general_dilated_p
#include <tokamax/runtime/kernel.hpp>             // kernel_arguments

#include <algorithm>  // min, max
#include <vector>     // vector

namespace tokamax {

namespace simd::detail {

/// Where each place of the output meets each place of the window: an offset into the image, or -1 for padding.
struct conv_geometry {
  struct axis {
    std::int64_t places, window;       // extents of the output and of the window
    std::vector<std::int64_t> offset;  // [places, window], in elements
  };
  std::vector<axis> space;
  std::int64_t places = 1, window = 1;  // of all axes together

  conv_geometry(const array_view& x, const array_view& w, const array_view& y, const conv_options& o) {
    const int d = o.strides.rank();
    std::int64_t stride = x.extent(d + 1);
    space.resize(static_cast<std::size_t>(d));
    for (int i = d - 1; i >= 0; --i) {
      axis& a = space[static_cast<std::size_t>(i)];
      a.places = y.extent(i + 1);
      a.window = w.extent(i);
      for (std::int64_t p = 0; p < a.places; ++p)
        for (std::int64_t k = 0; k < a.window; ++k) {
          const std::int64_t at = p * o.strides[i] + k * o.rhs_dilation[i] - o.low[i], n = at / o.lhs_dilation[i];
          a.offset.push_back(at >= 0 && at % o.lhs_dilation[i] == 0 && n < x.extent(i + 1) ? n * stride : -1);
        }
      stride *= x.extent(i + 1);
      places *= a.places;
      window *= a.window;
    }
  }
  std::int64_t offset(std::int64_t place, std::int64_t k) const noexcept {
    std::int64_t at = 0;
    for (std::size_t i = space.size(); i-- > 0;) {
      const axis& a = space[i];
      const std::int64_t o = a.offset[static_cast<std::size_t>(place % a.places * a.window + k % a.window)];
      if (o < 0) return -1;
      at += o;
      place /= a.places;
      k /= a.window;
    }
    return at;
  }
};

struct conv_image;
struct conv_window;
struct conv_result;
struct conv_block;

/// One channel a group: the window moves over all channels at once, and there is nothing for a product to share.
inline void conv_depthwise(const conv_geometry& geometry, const float* x, std::int64_t image, const float* w, float* y,
                           std::int64_t batch, std::int64_t channels, std::int64_t features) noexcept {
  const std::int64_t multiplier = features / channels;
  constexpr std::int64_t grain = 64;
  const std::int64_t rows = batch * geometry.places;
  parallel_for((rows + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t r = chunk * grain; r < std::min(rows, (chunk + 1) * grain); ++r) {
      float* to = y + r * features;
      std::fill_n(to, features, 0.0f);
      for (std::int64_t k = 0; k < geometry.window; ++k) {
        const std::int64_t at = geometry.offset(r % geometry.places, k);
        if (at < 0) continue;
        const float *from = x + r / geometry.places * image + at, *row = w + k * features;
        std::int64_t f = 0;
        if (multiplier == 1)
          for (; f + width <= features; f += width) store(to + f, fma(load(from + f), load(row + f), load(to + f)));
        for (; f < features; ++f) to[f] = __builtin_fmaf(from[f / multiplier], row[f], to[f]);
      }
    }
  });
}

/// rows [first, first + m) of the unrolled image, window places [k0, k1): [m, (k1 - k0) channels]
inline void unroll(const conv_geometry& geometry, const float* x, std::int64_t image, std::int64_t channels,
                   std::int64_t first, std::int64_t m, std::int64_t k0, std::int64_t k1, float* to) noexcept {
  for (std::int64_t r = first; r < first + m; ++r) {
    const float* base = x + r / geometry.places * image;
    for (std::int64_t k = k0; k < k1; ++k, to += channels) {
      const std::int64_t at = geometry.offset(r % geometry.places, k);
      if (at < 0)
        std::fill_n(to, channels, 0.0f);
      else if (channels == 1)
        *to = base[at];
      else
        std::copy_n(base + at, channels, to);
    }
  }
}

inline void conv_f32(const array_view& x, const array_view& w, const array_view& y, const conv_options& o,
                     const float* image, const float* window, float* out) {
  const conv_geometry geometry(x, w, y, o);
  const int rank = x.rank();
  const std::int64_t channels = w.extent(rank - 2), features = w.extent(rank - 1), all_channels = x.extent(rank - 1);
  const std::int64_t groups = o.feature_groups * o.batch_groups, each = features / groups;
  const std::int64_t batch = y.extent(0), image_size = x.extent(0) ? x.size() / x.extent(0) : 0;
  if (y.size() == 0) return;
  if (channels == 1 && o.feature_groups > 1)
    return conv_depthwise(geometry, image, image_size, window, out, batch, all_channels, features);
  // Blocks of the unrolled image that stay in the second-level cache; shapes alone choose them.
  const std::int64_t rows = batch * geometry.places;
  const std::int64_t k_step = std::clamp<std::int64_t>(2048 / std::max<std::int64_t>(1, channels), 1, geometry.window);
  const std::int64_t m_step =
      std::clamp<std::int64_t>(262144 / (k_step * std::max<std::int64_t>(1, channels)), 48, 768);
  const std::int64_t blocks = (rows + m_step - 1) / m_step;
  parallel_for(groups * blocks, [&](std::int64_t t) {
    const std::int64_t g = t / blocks, first = t % blocks * m_step, m = std::min(m_step, rows - first);
    const float* from = image + (o.batch_groups > 1 ? g * batch * image_size : g * channels);
    float* to = out + first * features + g * each;
    float* block = scratch<conv_block>(m_step * k_step * channels);
    for (std::int64_t k = 0; k < geometry.window; k += k_step) {
      const std::int64_t last = std::min(geometry.window, k + k_step), depth = (last - k) * channels;
      unroll(geometry, from, image_size, channels, first, m, k, last, block);
      gemm(m, each, depth, {block, depth, 1}, {window + k * channels * features + g * each, features, 1}, to, features,
           k == 0 ? gemm_mode::assign : gemm_mode::accumulate);
    }
  });
}

template <class Tag>
const float* widened(const array_view& v) {
  if (v.type == f32) return v.as<float>();
  float* to = scratch<Tag>(v.size() + 1);
  for (std::int64_t i = 0; i < v.size(); ++i) to[i] = static_cast<float>(v.as<bfloat16>()[i]);
  return to;
}

}  // namespace simd::detail

inline void kernel(op_c<conv_general_dilated_p>, cpu_tag, const kernel_arguments& a) {
  using namespace simd::detail;
  const array_view& y = a.out[0];
  float* out = y.type == f32 ? y.as<float>() : simd::scratch<conv_result>(y.size() + 1);
  conv_f32(a.in[0], a.in[1], y, a.attrs<conv_options>(), widened<conv_image>(a.in[0]), widened<conv_window>(a.in[1]),
           out);
  if (y.type != f32)
    for (std::int64_t i = 0; i < y.size(); ++i) y.as<bfloat16>()[i] = bfloat16(out[i]);
}

}  // namespace tokamax
