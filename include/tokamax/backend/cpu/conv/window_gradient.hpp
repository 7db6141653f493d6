// tokamax/backend/cpu/conv/window_gradient.hpp: the gradient of a convolution's window.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/kernels/conv.cpp
#pragma once

#include <tokamax/backend/cpu/conv/frame.hpp>      // conv_frame
#include <tokamax/backend/cpu/gemm/gemm.hpp>       // microkernel_set
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch

#include <algorithm>  // min, clamp, copy_n, fill_n

namespace tokamax::cpu_backend::detail {

struct conv_rhs_rows;
struct conv_rhs_parts;

/// The operands and the result of the gradient, on dense f32 memory: products of elements of the image and of the cotangent,
/// summed over the places of the convolution.
struct conv_rhs_problem {
  conv_frame frame;
  const float *image, *ct;
  float* out;                               // [window..., channels, all features]
  std::int64_t channels, features, groups;  // channels and features are those of one group

  std::int64_t all_features() const noexcept { return features * groups; }
};

/// Copies the rows [first, last) of the padded image for each column of the window, for some channels: [rows, places, window,
/// channels]. In this layout the elements under any row of the window are contiguous.
inline void unroll_rows(const conv_frame& f, const float* image, std::int64_t first, std::int64_t last,
                        std::int64_t channel, std::int64_t channels, float* to) noexcept {
  const conv_axis& a = f.last;
  const std::int64_t n = a.window * channels;
  for (std::int64_t r = first; r < last; ++r) {
    const std::int64_t row = f.source_row(r);
    if (row < 0) {
      std::fill_n(to, a.places * n, 0.0f);
      to += a.places * n;
      continue;
    }
    const float* const from = image + row * a.extent * f.channels + channel;
    for (std::int64_t p = 0; p < a.places; ++p, to += n) {
      const std::int64_t start = p * a.stride - a.low;
      if (a.spread == 1 && a.dilation == 1 && channels == f.channels && start >= 0 && start + a.window <= a.extent) {
        std::copy_n(from + start * channels, n, to);
        continue;
      }
      for (std::int64_t k = 0; k < a.window; ++k) {
        const std::int64_t column = a.source(p * a.stride + k * a.dilation);
        if (column < 0)
          std::fill_n(to + k * channels, channels, 0.0f);
        else
          std::copy_n(from + column * f.channels, channels, to + k * channels);
      }
    }
  }
}

/// How the sum is cut into tasks, which depends on shapes only: groups, slices of their channels, and parts of the rows. Each
/// part of the rows has its own sum, and these are added at the end in a fixed order.
struct conv_rhs_cut {
  std::int64_t channels, slices;  // the channels of a slice, and the slices of a group
  std::int64_t band, bands;       // rows whose part of the image stays in the second-level cache
  std::int64_t parts, part;       // the parts of the rows, and the bands of a part
  std::int64_t sums;              // the floats of the sum of a task

  explicit conv_rhs_cut(const conv_rhs_problem& c, std::int64_t reach) noexcept {
    const conv_frame& f = c.frame;
    const std::int64_t places = f.row_window * f.last.window, fit = 65536 / (places * c.features);
    slices = ceil_div(c.channels, std::clamp(fit, ceil_div(12, f.last.window), c.channels + 12));
    channels = ceil_div(c.channels, slices);
    sums = places * channels * c.features;
    band = f.band((32768 / (f.last.places * f.last.window * channels) - reach) / f.lead[f.leads - 1].stride + 1);
    bands = ceil_div(f.row_places, band);
    part = ceil_div(bands, std::min(bands, ceil_div(16, slices * c.groups)));
    parts = ceil_div(bands, part);
  }
};

/// Adds the rows [row0, row1) of one task to `sums` [window rows, window columns, channels, features].
inline void conv_rhs_band(const conv_rhs_problem& c, const microkernel_set& kernels, std::int64_t row0,
                          std::int64_t row1, std::int64_t group, std::int64_t channel, std::int64_t channels,
                          std::int64_t reach, bool first_band, float* sums) {
  const conv_frame& f = c.frame;
  const std::int64_t first = f.row_at(row0), last = f.row_at(row1 - 1) + reach;
  const std::int64_t n = f.last.window * channels, pitch = f.last.places * n, all = c.all_features();
  float* const rows = scratch<conv_rhs_rows>((last - first) * pitch);
  unroll_rows(f, c.image, first, last, group * c.channels + channel, channels, rows);
  const std::int64_t height = ceil_div(n, ceil_div(n, kernels.rows));
  const tile_scope tiles(kernels);
  for (std::int64_t k = 0; k < f.row_window; ++k) {
    const float* const under = rows + (f.row_of_window(k) - first) * pitch;
    for (std::int64_t j = 0; j < c.features; j += kernels.columns)
      for (std::int64_t i = 0; i < n; i += height) {
        tile_mode mode = first_band ? tile_mode::assign : tile_mode::add;
        for (std::int64_t row = row0; row < row1;) {  // rows that are neighbours in the image share one product
          const std::int64_t begin = row, at = f.row_at(row);
          while (++row < row1 && f.row_at(row) == at + row - begin) continue;
          kernels.tile[std::min(height, n - i)]({.k = (row - begin) * f.last.places,
                                                 .a = under + at * pitch + i,
                                                 .a_row = 1,
                                                 .a_step = n,
                                                 .b = c.ct + begin * f.last.places * all + group * c.features + j,
                                                 .b_step = all,
                                                 .c = sums + (k * n + i) * c.features + j,
                                                 .ldc = c.features,
                                                 .columns = std::min<std::int64_t>(kernels.columns, c.features - j),
                                                 .mode = mode});
          mode = tile_mode::add;
        }
      }
  }
}

/// The case of one channel in each group: sums of products, feature by feature.
inline void conv_rhs_depthwise(const conv_rhs_problem& c, std::int64_t row0, std::int64_t row1, float* sums) {
  const conv_frame& f = c.frame;
  const std::int64_t all = c.all_features(), row_size = f.last.extent * f.channels;
  std::fill_n(sums, f.row_window * f.last.window * all, 0.0f);
  float* const zeros = scratch<struct conv_rhs_zeros>(f.channels);  // padding, which is multiplied like other elements
  std::fill_n(zeros, f.channels, 0.0f);
  for (std::int64_t row = row0; row < row1; ++row)
    for (std::int64_t k = 0; k < f.row_window; ++k) {
      const std::int64_t source = f.source_row(f.row_at(row) + f.row_of_window(k));
      for (std::int64_t p = 0; p < f.last.places; ++p)
        for (std::int64_t l = 0; l < f.last.window; ++l) {
          const std::int64_t column = f.last.source(p * f.last.stride + l * f.last.dilation);
          const float *from = source < 0 || column < 0 ? zeros : c.image + source * row_size + column * f.channels,
                      *ct = c.ct + (row * f.last.places + p) * all;
          float* const to = sums + (k * f.last.window + l) * all;
          std::int64_t j = 0;
          if (c.features == 1)
            for (; j + width <= all; j += width) store(to + j, fma(load(from + j), load(ct + j), load(to + j)));
          for (; j < all; ++j) to[j] = __builtin_fmaf(from[j / c.features], ct[j], to[j]);
        }
    }
}

/// to = the sum of `parts` runs of n floats, which are `step` apart, in their order.
inline void add_parts(const float* from, std::int64_t parts, std::int64_t step, std::int64_t n, float* to) noexcept {
  std::copy_n(from, n, to);
  for (std::int64_t p = 1; p < parts; ++p) {
    from += step;
    std::int64_t j = 0;
    for (; j + width <= n; j += width) store(to + j, load(to + j) + load(from + j));
    for (; j < n; ++j) to[j] += from[j];
  }
}

inline void conv_rhs_vjp(const conv_rhs_problem& c) {
  const conv_frame& f = c.frame;
  const std::int64_t window = f.row_window * f.last.window, all = c.all_features();
  if (c.channels == 1 && c.groups > 1) {
    const std::int64_t parts = std::min<std::int64_t>(16, f.row_places), part = ceil_div(f.row_places, parts);
    float* const sums = scratch<conv_rhs_parts>(parts * window * all);
    parallel_for(parts, [&](std::int64_t i) {
      conv_rhs_depthwise(c, std::min(f.row_places, i * part), std::min(f.row_places, (i + 1) * part),
                         sums + i * window * all);
    });
    return add_parts(sums, parts, window * all, window * all, c.out);
  }
  const std::int64_t reach = f.row_of_window(f.row_window - 1) + 1;
  const conv_rhs_cut cut(c, reach);
  const microkernel_set& kernels = microkernels_for(best_gemm_machine());
  float* const sums = scratch<conv_rhs_parts>(c.groups * cut.slices * cut.parts * cut.sums);
  parallel_for(c.groups * cut.slices * cut.parts, [&](std::int64_t task) {
    const std::int64_t channel = task / cut.parts % cut.slices * cut.channels;
    const std::int64_t row0 = task % cut.parts * cut.part * cut.band,
                       row1 = std::min(f.row_places, row0 + cut.part * cut.band);
    for (std::int64_t row = row0; row < row1; row += cut.band)
      conv_rhs_band(c, kernels, row, std::min(row1, row + cut.band), task / cut.parts / cut.slices, channel,
                    std::min(cut.channels, c.channels - channel), reach, row == row0, sums + task * cut.sums);
  });
  parallel_for(c.groups * window * c.channels, [&](std::int64_t i) {
    const std::int64_t g = i % c.groups, channel = i / c.groups % c.channels, place = i / c.groups / c.channels;
    const std::int64_t slice = channel / cut.channels, in_slice = channel % cut.channels,
                       channels = std::min(cut.channels, c.channels - slice * cut.channels);
    add_parts(sums + (g * cut.slices + slice) * cut.parts * cut.sums + (place * channels + in_slice) * c.features,
              cut.parts, cut.sums, c.features, c.out + (place * c.channels + channel) * all + g * c.features);
  });
}

}  // namespace tokamax::cpu_backend::detail
