// tokamax/backend/cpu/conv/convolution.hpp: convolution as products of the window with the rows of a padded image.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/kernels/conv.cpp
#pragma once

#include <tokamax/backend/cpu/conv/frame.hpp>      // conv_frame
#include <tokamax/backend/cpu/conv/tile.hpp>       // best_conv_kernels
#include <tokamax/backend/cpu/gemm/gemm.hpp>       // gemm
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch
#include <tokamax/lax/windows/conv.hpp>            // conv_options

#include <algorithm>  // min, max, clamp, copy_n, fill_n, all_of
#include <cmath>      // isfinite

namespace tokamax::cpu_backend::detail {

struct conv_block;
struct conv_padded;
struct conv_packed;

/// A convolution on dense f32 memory: an image [N, space..., C], a window [window..., C / groups, O] and a result
/// [N, places..., O]. A convolution with groups is several convolutions: feature group g reads the channels from
/// g * channels on, batch group g reads the images from g * N / groups on, and each writes its own `features` of O.
struct conv_problem {
  conv_frame frame;
  const float *image, *window;
  float* out;
  std::int64_t image_size;          // elements of one image of the batch
  std::int64_t channels, features;  // of one feature group
  std::int64_t feature_groups, batch_groups;
  std::int64_t all_features() const noexcept { return features * feature_groups * batch_groups; }  // O
  /// The terms of a sum.
  std::int64_t depth() const noexcept { return frame.row_window * frame.last.window * channels; }
  /// The first image of batch group `g`.
  const float* batch_group(std::int64_t g) const noexcept { return image + g * frame.lead[0].extent * image_size; }
};

/// The case of one channel in each group. The window moves over all channels at once. A matrix product would not help,
/// because no operand is used twice.
inline void conv_depthwise(const conv_problem& c) {
  const conv_frame& f = c.frame;
  const std::int64_t all = c.all_features(), row_size = f.last.extent * f.channels;
  // Zeros of padding and dilation must be multiplied too: if they meet infinity or NaN, the sum is NaN.
  const bool finite = std::all_of(c.window, c.window + c.depth() * all, [](float w) { return std::isfinite(w); });
  float* const zeros = scratch<conv_padded>(f.channels);
  std::fill_n(zeros, f.channels, 0.0f);
  parallel_for(f.row_places, [&](std::int64_t row) {
    float* const out = c.out + row * f.last.places * all;
    std::fill_n(out, f.last.places * all, 0.0f);
    for (std::int64_t k = 0; k < f.row_window; ++k) {
      const std::int64_t source = f.source_row(f.row_at(row) + f.row_of_window(k));
      if (source < 0 && finite) continue;
      for (std::int64_t p = 0; p < f.last.places; ++p)
        for (std::int64_t l = 0; l < f.last.window; ++l) {
          const std::int64_t column = f.last.source(p * f.last.stride + l * f.last.dilation);
          const bool outside = source < 0 || column < 0;
          if (outside && finite) continue;
          const float *from = outside ? zeros : c.image + source * row_size + column * f.channels,
                      *weight = c.window + (k * f.last.window + l) * all;
          float* const to = out + p * all;
          std::int64_t j = 0;
          if (c.features == 1)
            for (; j + width <= all; j += width) store(to + j, fma(load(from + j), load(weight + j), load(to + j)));
          for (; j < all; ++j) to[j] = __builtin_fmaf(from[j / c.features], weight[j], to[j]);
        }
    }
  });
}

/// The case of few places in a row: matrix products of the window with blocks of the unrolled image,
/// [places, window channels]. The blocks stay in the second-level cache. Register tiles that read the image itself would be
/// mostly empty here, because the places of a tile lie in one row.
inline void conv_unrolled(const conv_problem& c) {
  const conv_frame& f = c.frame;
  const std::int64_t rows = f.row_places * f.last.places, window = f.row_window * f.last.window;
  // A block has the elements under k_step places of the window, for m_step places of the result.
  const std::int64_t k_step = std::clamp<std::int64_t>(2048 / c.channels, 1, window);
  const std::int64_t m_step = std::clamp<std::int64_t>(262144 / (k_step * c.channels), 48, 768);
  const std::int64_t blocks = ceil_div(rows, m_step), row_size = f.last.extent * f.channels;
  parallel_for(c.feature_groups * c.batch_groups * blocks, [&](std::int64_t t) {
    const std::int64_t g = t / blocks, first = t % blocks * m_step, m = std::min(m_step, rows - first);
    const float* const image = c.batch_groups > 1 ? c.batch_group(g) : c.image + g * c.channels;
    float* const block = scratch<conv_block>(m_step * k_step * c.channels);
    for (std::int64_t k0 = 0; k0 < window; k0 += k_step) {
      const std::int64_t k1 = std::min(window, k0 + k_step), depth = (k1 - k0) * c.channels;
      // Copy the elements of the image that these places of the window cover, with zeros outside.
      float* to = block;
      for (std::int64_t r = first; r < first + m; ++r)
        for (std::int64_t k = k0; k < k1; ++k, to += c.channels) {
          const std::int64_t row = f.source_row(f.row_at(r / f.last.places) + f.row_of_window(k / f.last.window));
          const std::int64_t column =
              f.last.source(r % f.last.places * f.last.stride + k % f.last.window * f.last.dilation);
          if (row < 0 || column < 0)
            std::fill_n(to, c.channels, 0.0f);
          else
            std::copy_n(image + row * row_size + column * f.channels, c.channels, to);
        }
      gemm(m, c.features, depth, {block, depth, 1},
           {c.window + k0 * c.channels * c.all_features() + g * c.features, c.all_features(), 1},
           c.out + first * c.all_features() + g * c.features, c.all_features(),
           k0 == 0 ? gemm_mode::assign : gemm_mode::accumulate);
    }
  });
}

/// Copies the rows [first, last) of the padded image, [rows, columns, channels]. Tiles then read no row that needs a test.
inline void pad_rows(const conv_frame& f, const float* image, std::int64_t first, std::int64_t last,
                     float* to) noexcept {
  const std::int64_t columns = f.columns(), n = f.channels;
  for (std::int64_t r = first; r < last; ++r, to += columns * n) {
    const std::int64_t row = f.source_row(r);
    if (row < 0) {
      std::fill_n(to, columns * n, 0.0f);
      continue;
    }
    const float* const from = image + row * f.last.extent * n;
    // Without dilation, a row is zeros, a copy and zeros.
    if (f.last.spread == 1) {
      const std::int64_t begin = std::clamp<std::int64_t>(f.last.low, 0, columns),
                         end = std::clamp<std::int64_t>(f.last.low + f.last.extent, begin, columns);
      std::fill_n(to, begin * n, 0.0f);
      std::copy_n(from + (begin - f.last.low) * n, (end - begin) * n, to + begin * n);
      std::fill_n(to + end * n, (columns - end) * n, 0.0f);
      continue;
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::int64_t column = f.last.source(j);
      if (column < 0)
        std::fill_n(to + j * n, n, 0.0f);
      else
        std::copy_n(from + column * n, n, to + j * n);
    }
  }
}

/// The terms of a sum as runs of contiguous elements of the padded image. A few hundred terms are summed before they are
/// added to the result.
struct conv_terms {
  std::int64_t count, steps;     // the number of runs, and of elements in each
  std::int64_t together, depth;  // the runs and elements that are summed at once; if depth < steps, it is one run
  bool rows;                     // a run is a row of the window; otherwise it is one place

  explicit conv_terms(const conv_problem& c) noexcept {
    constexpr std::int64_t block = 384, most = 512;
    const conv_frame& f = c.frame;
    rows = f.last.dilation == 1 && c.channels == f.channels && f.last.window * c.channels <= most;
    count = f.row_window * (rows ? 1 : f.last.window);
    steps = c.channels * (rows ? f.last.window : 1);
    depth = steps <= most ? steps : ceil_div(steps, ceil_div(steps, block));
    together = std::clamp<std::int64_t>(block / depth, 1, count);
    together = ceil_div(count, ceil_div(count, together));
  }
};

/// The width of a panel that holds so many features.
inline std::int64_t width_of(const conv_kernels& kernels, std::int64_t features) noexcept {
  return features <= kernels.lanes ? kernels.lanes : 2 * kernels.lanes;
}

/// The window in panels of features, [panel][depth][wide]. The last panel of a group is half as wide if that is enough.
inline const float* pack_window(const conv_problem& c, const conv_kernels& kernels) {
  const std::int64_t wide = 2 * kernels.lanes, depth = c.depth(), group_panels = ceil_div(c.features, wide);
  const std::int64_t panels = c.batch_groups * c.feature_groups * group_panels;
  float* const packed = scratch<conv_packed>(panels * depth * wide);
  parallel_for(panels, [&](std::int64_t i) {
    const std::int64_t first = i % group_panels * wide, n = std::min(wide, c.features - first),
                       to_n = width_of(kernels, n);
    const float* from = c.window + i / group_panels * c.features + first;
    float* to = packed + i * depth * wide;
    for (std::int64_t k = 0; k < depth; ++k, from += c.all_features(), to += to_n) {
      std::copy_n(from, n, to);
      std::fill_n(to + n, to_n - n, 0.0f);
    }
  });
  return packed;
}

/// The case of many places in a row: register tiles of a few places and features read the padded image directly.
inline void conv_direct(const conv_problem& c) {
  const conv_frame& f = c.frame;
  const conv_kernels& kernels = best_conv_kernels();
  const std::int64_t wide = 2 * kernels.lanes, depth = c.depth(), all = c.all_features();
  const std::int64_t group_panels = ceil_div(c.features, wide);
  const std::int64_t panels = group_panels * c.feature_groups;  // of one group of the batch
  const float* const packed = pack_window(c, kernels);

  // Tasks are bands of rows whose part of the padded image stays in the second-level cache. They depend on shapes only.
  const std::int64_t pitch = f.columns() * f.channels, reach = f.row_of_window(f.row_window - 1) + 1;
  const std::int64_t tiles = ceil_div(f.last.places, conv_max_rows);  // a row
  const std::int64_t fit = (65536 / pitch - reach) / f.lead[f.leads - 1].stride + 1;
  const std::int64_t step = f.band(std::min(fit, std::max(ceil_div(8, tiles), f.row_places / 32)));
  const std::int64_t bands = ceil_div(f.row_places, step);
  const std::int64_t sets = std::min(panels, ceil_div(32, bands)), set = ceil_div(panels, sets);

  const conv_terms terms(c);
  const std::int64_t parts = ceil_div(f.last.places, kernels.rows), height = ceil_div(f.last.places, parts);
  parallel_for(c.batch_groups * bands * sets, [&](std::int64_t task) {
    const std::int64_t b = task / (bands * sets), row0 = task / sets % bands * step,
                       row1 = std::min(f.row_places, row0 + step);
    const std::int64_t panel0 = task % sets * set, panel1 = std::min(panels, panel0 + set);
    const std::int64_t first = f.row_at(row0), last = f.row_at(row1 - 1) + reach;
    const float* rows = c.batch_group(b) + first * pitch;
    if (!f.plain) {
      float* const padded = scratch<conv_padded>((last - first) * pitch);
      pad_rows(f, c.batch_group(b), first, last, padded);
      rows = padded;
    }
    // Some runs of terms at a time, for all panels of features and all rows of the band: the image stays in the cache.
    std::int64_t at[384];  // where the runs begin; conv_terms takes at most `block` of them together
    for (std::int64_t q = 0; q < terms.count; q += terms.together) {
      const std::int64_t count = std::min(terms.together, terms.count - q);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t k = q + i, row = terms.rows ? k : k / f.last.window,
                           column = terms.rows ? 0 : k % f.last.window * f.last.dilation;
        at[i] = f.row_of_window(row) * pitch + column * f.channels;
      }
      for (std::int64_t s = 0; s < terms.steps; s += terms.depth) {  // a run of many channels is cut
        const conv_runs runs{at, count, std::min(terms.depth, terms.steps - s), f.last.stride * f.channels};
        for (std::int64_t j = panel0; j < panel1; ++j) {
          const std::int64_t panel = b * panels + j, g = panel / group_panels, feature = j % group_panels * wide;
          const std::int64_t n = std::min(wide, c.features - feature), lanes = width_of(kernels, n);
          const auto* const tile = kernels.tile[lanes == wide];
          const float* const weights = packed + panel * depth * wide + (q * terms.steps + s) * lanes;
          const float* const from = rows + s + (c.feature_groups > 1 ? g * c.channels : 0);
          for (std::int64_t row = row0; row < row1; ++row)
            for (std::int64_t p = 0; p < f.last.places; p += height)
              tile[std::min(height, f.last.places - p)](
                  runs, from + (f.row_at(row) - first) * pitch + p * runs.row, weights,
                  c.out + (row * f.last.places + p) * all + g * c.features + feature, all, n, q + s > 0);
        }
      }
    }
  });
}

/// f64 in plain loops: each element of the result is the sum of one window.
inline void conv_f64(const conv_frame& f, const array_view& x, const array_view& w, const array_view& y,
                     const conv_options& o) {
  const auto *image = x.as<const double>(), *window = w.as<const double>();
  const std::int64_t channels = w.extent(-2), all = w.extent(-1), row_size = f.last.extent * f.channels;
  const std::int64_t features = all / o.feature_groups / o.batch_groups;
  const std::int64_t of_batch_group = o.batch_groups > 1 ? f.lead[0].extent * (x.size() / x.extent(0)) : 0;
  const std::int64_t of_feature_group = o.feature_groups > 1 ? channels : 0;
  parallel_for(f.row_places, [&](std::int64_t row) {
    double* const out = y.as<double>() + row * f.last.places * all;
    std::fill_n(out, f.last.places * all, 0.0);
    for (std::int64_t k = 0; k < f.row_window; ++k) {
      const std::int64_t source = f.source_row(f.row_at(row) + f.row_of_window(k));
      for (std::int64_t t = 0; t < f.last.places * f.last.window; ++t) {
        const std::int64_t p = t / f.last.window, l = t % f.last.window;
        const std::int64_t column = f.last.source(p * f.last.stride + l * f.last.dilation);
        const bool inside = source >= 0 && column >= 0;
        const double* const from = inside ? image + source * row_size + column * f.channels : nullptr;
        const double* const weight = window + (k * f.last.window + l) * channels * all;
        for (std::int64_t c = 0; c < channels; ++c)
          for (std::int64_t j = 0; j < all; ++j) {
            const std::int64_t g = j / features;
            const double v = inside ? from[g * (of_batch_group + of_feature_group) + c] : 0.0;
            out[p * all + j] += v * weight[c * all + j];
          }
      }
    }
  });
}

}  // namespace tokamax::cpu_backend::detail
