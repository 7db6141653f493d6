// tokamax/backend/cpu/row_ops/norm.hpp: layer_norm and rms_norm over the rows of a matrix, forward and backward.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/vector/rows.hpp>     // for_vectors, sum_row
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch

#include <algorithm>  // min, max, fill_n
#include <cmath>      // isfinite, sqrt
#include <cstdint>    // int64_t

namespace tokamax::cpu_backend {

namespace detail {

struct row_statistics {
  float mean, rstd;
  float rest;  // the mean less its float, times -rstd: (x - mean) * rstd + rest loses no digit far from zero
};

// Joins the moments of two parts of a row: d is the difference of their means, n and m are the numbers of their columns.
struct joined {
  double d, n, m;
  double mean() const noexcept { return d * (n / (n + m)); }               // the change of the mean of the m columns
  double squares() const noexcept { return d * d * (n * (m / (n + m))); }  // to be added to the squares of both parts
};

// The mean of a part of a row. Far from zero a float has too few digits for it, so the sum is that of the differences from an
// element, and the mean of the differences from the float is kept, too.
struct part_mean {
  float near;
  double exact;
  double rest() const noexcept { return exact - static_cast<double>(near); }
};
template <class T>
[[gnu::always_inline]] inline part_mean mean_of(const T* x, std::int64_t cols) noexcept {
  const double part = 1.0 / static_cast<double>(cols);  // does not wait for the row
  const float origin = static_cast<float>(x[0]);
  const f32v from(origin);
  const float sum = sum_row(cols, [=](std::int64_t j, auto lanes) { return lanes(x + j, origin) - from; });
  const double mean = static_cast<double>(origin) + static_cast<double>(sum) * part;
  return {static_cast<float>(mean), mean};
}

inline row_statistics statistics_from(double mean, double squares, std::int64_t cols, float epsilon) noexcept {
  const double part = 1.0 / static_cast<double>(cols);
  const float near = static_cast<float>(mean);
  const float rstd = 1.0f / std::sqrt(static_cast<float>(squares * part) + epsilon);
  return {near, rstd, static_cast<float>(static_cast<double>(near) - mean) * rstd};
}

// The mean and 1 / sqrt(var + epsilon) of a row; if it is not centred, the mean is 0. Each block of the row is read for its
// mean and again for the squares of the differences, while it is in the cache, so the row comes from memory once. Blocks are
// joined in double, because a row may have many of them.
template <bool Centred, class T>
[[gnu::always_inline]] inline row_statistics statistics_of(const T* x, std::int64_t cols, float epsilon) noexcept {
  double mean = 0, squares = 0;
  for_blocks(cols, [&](std::int64_t first, std::int64_t count) {
    const T* const block = x + first;
    const part_mean part = Centred ? mean_of(block, count) : part_mean{};
    const f32v m(part.near);
    squares += static_cast<double>(sum_row(count, [=](std::int64_t j, auto lanes) {
      fetch_ahead(block + j);
      const f32v centred = lanes(block + j, part.near) - m;
      return centred * centred;
    }));
    squares -= part.rest() * part.rest() * static_cast<double>(count);
    if (first == 0) {
      mean = part.exact;
    } else if (Centred) {
      const joined both{part.exact - mean, static_cast<double>(count), static_cast<double>(first)};
      mean += both.mean();
      squares += both.squares();
    }
  });
  return statistics_from(mean, squares, cols, epsilon);
}

template <bool Centred, class T>
void norm_forward(std::int64_t rows, std::int64_t cols, const T* x, const float* scale, const float* offset,
                  float epsilon, T* y) {
  for_written_rows(rows, cols, passes_caches(rows, cols, y, x), [=](std::int64_t r, auto whole) {
    const T* const from = x + r * cols;
    T* const to = y + r * cols;
    const row_statistics row = statistics_of<Centred>(from, cols, epsilon);
    const f32v mean(row.mean), rstd(row.rstd), rest(row.rest);
    for_vectors<decltype(whole)>(cols, [&](std::int64_t j, auto lanes) {
      if constexpr (Centred) {
        const f32v x_hat = fma(lanes(from + j) - mean, rstd, rest);
        lanes.put(to + j, fma(x_hat, lanes(scale + j), lanes(offset + j)));
      } else {
        lanes.put(to + j, lanes(from + j) * rstd * lanes(scale + j));
      }
    });
  });
}

struct row_gradients : row_statistics {
  float g, g_x;  // mean(g), mean(g * x_hat)
};

// The means of g and of g * x_hat over a row, with g = dy * scale.
template <bool Centred, class T>
[[gnu::always_inline]] inline row_gradients gradients_of(const T* x, const T* dy, const float* scale, std::int64_t cols,
                                                         float epsilon) noexcept {
  double mean = 0, squares = 0, sum_g = 0, sum_gx = 0;
  for_blocks(cols, [&](std::int64_t first, std::int64_t count) {
    const T *const block = x + first, *const block_dy = dy + first;
    const float* const block_scale = scale + first;
    const part_mean part = Centred ? mean_of(block, count) : part_mean{};
    const f32v m(part.near);
    const auto sums = sums_row<3>(count, [=](std::int64_t j, auto lanes) {
      fetch_ahead(block + j);
      fetch_ahead(block_dy + j);
      const f32v centred = lanes(block + j, part.near) - m, g = lanes(block_dy + j) * lanes(block_scale + j);
      return std::array{centred * centred, g * centred, g};
    });
    const double block_g = static_cast<double>(sums[2]), of_rest = part.rest() * block_g;
    const double block_gx = static_cast<double>(sums[1]) - (std::isfinite(of_rest) ? of_rest : 0.0);
    if (Centred && first > 0) {
      const joined both{part.exact - mean, static_cast<double>(count), static_cast<double>(first)};
      mean += both.mean();
      squares += both.squares();
      sum_gx += (both.d - both.mean()) * block_g - both.mean() * sum_g;
    } else {
      mean = part.exact;
    }
    squares += static_cast<double>(sums[0]) - part.rest() * part.rest() * static_cast<double>(count);
    sum_gx += block_gx;
    sum_g += block_g;
  });
  const double n = static_cast<double>(cols);
  const row_statistics row = statistics_from(mean, squares, cols, epsilon);
  return {row, Centred ? static_cast<float>(sum_g / n) : 0.0f, static_cast<float>(sum_gx / n) * row.rstd};
}

// dx of some rows from their moments, and their contribution to the column sums, which are read and written once for all
// of these rows.
template <bool Centred, class Whole, int Rows, class T>
void write_gradients(std::int64_t cols, const T* x, const float* scale, const T* dy, const row_gradients* row, T* dx,
                     float* scale_sum, float* offset_sum) noexcept {
  f32v mean[Rows], rstd[Rows], rest[Rows], shift[Rows], slope[Rows];
#pragma GCC unroll 4
  for (int k = 0; k < Rows; ++k) {
    mean[k] = f32v(row[k].mean);
    rstd[k] = f32v(row[k].rstd);
    rest[k] = f32v(row[k].rest);
    shift[k] = f32v(-row[k].rstd * row[k].g);
    slope[k] = f32v(-row[k].rstd * row[k].g_x);
  }
  for_vectors<Whole>(cols, [&](std::int64_t j, auto lanes) {
    const f32v factor = lanes(scale + j);
    f32v to_scale = lanes(scale_sum + j), to_offset(0.0f);
    if constexpr (Centred) to_offset = lanes(offset_sum + j);
#pragma GCC unroll 4
    for (int k = 0; k < Rows; ++k) {
      const f32v d = lanes(dy + k * cols + j), far = lanes(x + k * cols + j) - mean[k];
      const f32v x_hat = Centred ? fma(far, rstd[k], rest[k]) : far * rstd[k];
      to_scale = fma(d, x_hat, to_scale);
      to_offset = to_offset + d;
      lanes.put(dx + k * cols + j, fma(d * factor, rstd[k], fma(x_hat, slope[k], shift[k])));
    }
    lanes.keep(scale_sum + j, to_scale);
    if constexpr (Centred) lanes.keep(offset_sum + j, to_offset);
  });
}

struct norm_column_sums;

// With g = dy * scale:  dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat)), dscale = sum_r dy * x_hat,
// doffset = sum_r dy. Column sums are taken over chunks of rows, and then over a tree of chunks. Both depend on the shape
// only.
template <bool Centred, class Whole, class T>
void norm_backward_into(std::int64_t rows, std::int64_t cols, const T* x, const float* scale, const T* dy,
                        float epsilon, T* dx, float* dscale, float* doffset) {
  constexpr std::int64_t sums = Centred ? 2 : 1;
  const std::int64_t chunk = std::max<std::int64_t>(32, (rows + 63) / 64);
  const std::int64_t chunks = (rows + chunk - 1) / chunk;
  float* const partial = scratch<norm_column_sums>(std::max<std::int64_t>(1, chunks) * sums * cols);
  parallel_for(chunks, [=](std::int64_t i) {
    float* const scale_sum = partial + i * sums * cols;
    float* const offset_sum = scale_sum + (sums - 1) * cols;
    std::fill_n(scale_sum, sums * cols, 0.0f);
    constexpr int together = 4;
    row_gradients row[together];
    const std::int64_t end = std::min(rows, (i + 1) * chunk);
    for (std::int64_t r = i * chunk, count; r < end; r += count) {
      count = end - r < together ? 1 : together;
      const T *const xr = x + r * cols, *const dyr = dy + r * cols;
      for (std::int64_t k = 0; k < count; ++k)
        row[k] = gradients_of<Centred>(xr + k * cols, dyr + k * cols, scale, cols, epsilon);
      const auto write =
          count == 1 ? write_gradients<Centred, Whole, 1, T> : write_gradients<Centred, Whole, together, T>;
      write(cols, xr, scale, dyr, row, dx + r * cols, scale_sum, offset_sum);
    }
    finish_streams();
  });
  constexpr std::int64_t strip = 256;  // columns
  parallel_for((sums * cols + strip - 1) / strip, [=](std::int64_t i) {
    const std::int64_t first = i * strip;
    const std::int64_t count = std::min(strip, sums * cols - first);
    for (std::int64_t apart = 1; apart < chunks; apart *= 2) {
      for (std::int64_t c = 0; c + apart < chunks; c += 2 * apart) {
        float* const to = partial + c * sums * cols + first;
        const float* const from = to + apart * sums * cols;
        for_vectors(count, [=](std::int64_t j, auto lanes) { lanes.put(to + j, lanes(to + j) + lanes(from + j)); });
      }
    }
    for (std::int64_t j = first; j < first + count; ++j) {
      float* const to = j < cols ? dscale + j : doffset + (j - cols);
      *to = chunks > 0 ? partial[j] : 0.0f;
    }
  });
}

template <bool Centred, class T>
void norm_backward(std::int64_t rows, std::int64_t cols, const T* x, const float* scale, const T* dy, float epsilon,
                   T* dx, float* dscale, float* doffset) {
  const auto into = passes_caches(rows, cols, dx, x, dy) ? norm_backward_into<Centred, streamed_vector, T>
                                                         : norm_backward_into<Centred, whole_vector, T>;
  into(rows, cols, x, scale, dy, epsilon, dx, dscale, doffset);
}
}  // namespace detail

/// Normalises each row to zero mean and unit variance, then applies an affine map.
///
///   y = (x - mean(x)) / sqrt(var(x) + epsilon) * scale + offset
///
/// shapes  x, y [rows, cols] dense, scale, offset [cols]; y may be x
/// dtypes  T is float or bfloat16, computed in f32 but for the moments of a row; mean first, then the variance of the centred row
/// source  Ba, Kiros, Hinton 2016, arXiv:1607.06450, eq. 3-4
template <class T>
void layer_norm(std::int64_t rows, std::int64_t cols, const T* x, const float* scale, const float* offset,
                float epsilon, T* y) {
  detail::norm_forward<true>(rows, cols, x, scale, offset, epsilon, y);
}

/// Cotangents of layer_norm; the statistics are computed again from x.
///
/// shapes  x, dy, dx [rows, cols] dense, scale, dscale, doffset [cols]; dx may be dy or x
template <class T>
void layer_norm_backward(std::int64_t rows, std::int64_t cols, const T* x, const float* scale, const T* dy,
                         float epsilon, T* dx, float* dscale, float* doffset) {
  detail::norm_backward<true>(rows, cols, x, scale, dy, epsilon, dx, dscale, doffset);
}

/// Divides each row by its root mean square, then scales it.
///
///   y = x / sqrt(mean(x^2) + epsilon) * scale
///
/// shapes  x, y [rows, cols] dense, scale [cols]; y may be x
/// dtypes  T is float or bfloat16, computed in f32
/// source  Zhang, Sennrich 2019, arXiv:1910.07467, eq. 4
template <class T>
void rms_norm(std::int64_t rows, std::int64_t cols, const T* x, const float* scale, float epsilon, T* y) {
  detail::norm_forward<false>(rows, cols, x, scale, static_cast<const float*>(nullptr), epsilon, y);
}

/// Cotangents of rms_norm; the root mean square is computed again from x.
///
/// shapes  x, dy, dx [rows, cols] dense, scale, dscale [cols]; dx may be dy or x
template <class T>
void rms_norm_backward(std::int64_t rows, std::int64_t cols, const T* x, const float* scale, const T* dy, float epsilon,
                       T* dx, float* dscale) {
  detail::norm_backward<false>(rows, cols, x, scale, dy, epsilon, dx, dscale, nullptr);
}

}  // namespace tokamax::cpu_backend
