// tokamax/backend/cpu/kernels/norm_across.hpp: layer_norm of the middle axis, some columns at a time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/layer_norm_across.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>         // cpu_tag
#include <tokamax/backend/cpu/vector/floats.hpp>  // dense_floats, float_result, in_narrow_rows
#include <tokamax/backend/cpu/vector/rows.hpp>    // for_vectors
#include <tokamax/ops/layer_norm_across.hpp>      // layer_norm_across_p

#include <cmath>  // sqrt

namespace tokamax {

namespace cpu_backend::detail {

/// Names scratch memory for a sum, a mean in two parts and a reciprocal deviation of each column.
struct norm_across_sums;

/// totals[j] = sum over c < C of term(c, j, lanes). Sums of 128 terms are added up, so that errors do not grow with C.
template <class F>
void sum_across(std::int64_t terms, std::int64_t cols, float* totals, float* part, F term) noexcept {
  constexpr std::int64_t together = 128;
  std::fill_n(totals, cols, 0.0f);
  for (std::int64_t begin = 0; begin < terms; begin += together) {
    std::fill_n(part, cols, 0.0f);
    for (std::int64_t c = begin; c < std::min(terms, begin + together); ++c)
      for_vectors(cols, [=](std::int64_t j, auto lanes) { lanes.keep(part + j, lanes(part + j) + term(c, j, lanes)); });
    for_vectors(cols, [=](std::int64_t j, auto lanes) { lanes.keep(totals + j, lanes(totals + j) + lanes(part + j)); });
  }
}

/// y from x [L, C, R] and parameters [C]. A task has as many columns of an entry as the second-level cache holds.
template <class T>
void layer_norm_across(const shape& s, const T* x, const float* scale, const float* offset, float epsilon, T* y) {
  const std::int64_t terms = s[1], row = s[2];
  // 128 KiB of floats, and at least a few whole cache lines of a row
  const std::int64_t fit = 32768 / std::max<std::int64_t>(1, terms) / 64 * 64;
  const std::int64_t cols = std::clamp<std::int64_t>(fit, 64, std::max<std::int64_t>(64, row));
  const std::int64_t blocks = (row + cols - 1) / cols;
  parallel_for(s[0] * blocks, [&](std::int64_t task) {
    const std::int64_t entry = task / blocks, first = task % blocks * cols, count = std::min(cols, row - first);
    const std::int64_t start = entry * terms * row + first;
    const T* const from = x + start;
    T* const to = y + start;
    float* const part = scratch<norm_across_sums>(4 * cols);
    float *const mean = part + cols, *const rest = mean + cols, *const rstd = rest + cols;
    sum_across(terms, count, mean, part,
               [=](std::int64_t c, std::int64_t j, auto lanes) { return lanes(from + c * row + j); });
    for (std::int64_t j = 0; j < count; ++j) mean[j] /= static_cast<float>(terms);
    // What the sum of many terms far from zero has rounded off is the mean of the differences. It stays apart from the mean,
    // which has no digits for it.
    sum_across(terms, count, rest, part,
               [=](std::int64_t c, std::int64_t j, auto lanes) { return lanes(from + c * row + j) - lanes(mean + j); });
    for (std::int64_t j = 0; j < count; ++j) rest[j] /= static_cast<float>(terms);
    const auto centred = [=](std::int64_t c, std::int64_t j, auto lanes) {
      return lanes(from + c * row + j) - lanes(mean + j) - lanes(rest + j);
    };
    sum_across(terms, count, rstd, part, [=](std::int64_t c, std::int64_t j, auto lanes) {
      const f32v d = centred(c, j, lanes);
      return d * d;
    });
    for (std::int64_t j = 0; j < count; ++j) rstd[j] = 1.0f / std::sqrt(rstd[j] / static_cast<float>(terms) + epsilon);
    for (std::int64_t c = 0; c < terms; ++c) {
      const f32v factor(scale[c]), summand(offset[c]);
      for_vectors(count, [=](std::int64_t j, auto lanes) {
        lanes.put(to + c * row + j, centred(c, j, lanes) * lanes(rstd + j) * factor + summand);
      });
    }
  });
}

}  // namespace cpu_backend::detail

/// x [L, C, R], scale [C], offset [C] -> that of x. Dense bf16 and f16 are read and written as they are.
inline void kernel(op_c<layer_norm_across_p>, cpu_tag, const kernel_arguments& a) {
  const auto epsilon = static_cast<float>(a.attrs<norm_attributes>().epsilon);
  const float* const scale = cpu_backend::dense_floats<struct norm_across_scale>(a.in[1]);
  const float* const offset = cpu_backend::dense_floats<struct norm_across_offset>(a.in[2]);
  if (a.out[0].size() == 0) return;
  const auto narrow = [&]<class T>(T) {
    cpu_backend::detail::layer_norm_across(a.in[0].extents, a.in[0].as<const T>(), scale, offset, epsilon,
                                           a.out[0].as<T>());
  };
  if (cpu_backend::in_narrow_rows({a.in[0], a.out[0]}, narrow)) return;
  const cpu_backend::float_result<struct norm_across_y> y(a.out[0]);
  cpu_backend::detail::layer_norm_across(a.in[0].extents, cpu_backend::dense_floats<struct norm_across_x>(a.in[0]),
                                         scale, offset, epsilon, y.data());
}

}  // namespace tokamax
