// tokamax/backend/cpu/softmax.hpp: softmax, logsumexp and cross entropy over the rows of a matrix.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (kernels include it, and are compiled once)
#pragma once

#include <tokamax/backend/cpu/rows.hpp>  // for_rows, for_vectors, sum_row, max_row

#include <algorithm>    // any_of
#include <cmath>        // exp, log, isnan
#include <cstdint>      // int64_t
#include <limits>       // quiet_NaN, infinity
#include <type_traits>  // is_integral_v

namespace tokamax::simd {

namespace detail {
inline constexpr float lowest = -std::numeric_limits<float>::infinity();

struct exponential_sum {
  float most, sum;  // max(x), sum(exp(x - max(x))) of a row
};

// Block by block, so that a row comes from memory once: where a block has a larger element, the sum so far is scaled.
// each(first, most) is told the maximum that the exponentials of a block are shifted by, keep(j, lanes, e) gets them. The
// lowest number stands for the maximum of -infinity only.
template <class Each, class Keep>
[[gnu::always_inline]] inline exponential_sum exponentials_of(const float* x, std::int64_t cols, Each each,
                                                              Keep keep) noexcept {
  exponential_sum all{std::numeric_limits<float>::lowest(), 0.0f};
  for_blocks(cols, [&](std::int64_t first, std::int64_t count) {
    const float* const block = x + first;
    const float most = max_row(count, [=](std::int64_t j, auto lanes) { return lanes(block + j, lowest); });
    if (most > all.most) {
      all.sum *= std::exp(all.most - most);
      all.most = most;
    }
    each(first, all.most);
    const f32v m(all.most);
    all.sum += sum_row(count, [=](std::int64_t j, auto lanes) {
      fetch_ahead(block + j);
      const f32v e = exp_nonpositive(lanes(block + j, lowest) - m);
      keep(first + j, lanes, e);
      return e;
    });
  });
  return all;
}

// log(sum(exp(x))) of one row.
[[gnu::always_inline]] inline float logsumexp_of(const float* x, std::int64_t cols) noexcept {
  const auto [most, sum] = exponentials_of(x, cols, [](std::int64_t, float) {}, [](std::int64_t, auto, f32v) {});
  if (most == -lowest)  // infinity less itself is NaN: only one in x may make the result NaN
    return std::any_of(x, x + cols, [](float v) { return std::isnan(v); }) ? sum : most;
  return most + std::log(sum);
}

struct softmax_row;

// A label counts from the end when negative; -1 when it names no class.
template <class Label>
std::int64_t class_of(Label label, std::int64_t cols) noexcept {
  const auto wide = static_cast<std::int64_t>(label);
  const auto c = wide < 0 ? wide + cols : wide;
  return c >= 0 && c < cols ? c : -1;
}
}  // namespace detail

/// Softmax of each row.
///
///   y = exp(x - max(x)) / sum(exp(x - max(x)))
///
/// shapes  x, y [rows, cols] dense; y may be x
/// dtypes  f32; a row of -infinity gives NaN, as in JAX
inline void softmax(std::int64_t rows, std::int64_t cols, const float* x, float* y) noexcept {
  const bool streamed = passes_caches(rows, cols, y, x);
  const std::int64_t blocks = (cols / row_block + 16) / 16 * 16;
  for_written_rows(rows, cols, streamed, [=](std::int64_t r, auto whole) {
    const float* const from = x + r * cols;
    float* const to = y + r * cols;
    float* const most_of = scratch<detail::softmax_row>(blocks + (streamed ? cols : 0));  // of each block
    float* const e = streamed ? most_of + blocks : to;
    const detail::exponential_sum all = detail::exponentials_of(
        from, cols, [=](std::int64_t first, float block_most) { most_of[first / row_block] = block_most; },
        [=](std::int64_t j, auto lanes, f32v v) { lanes.put(e + j, v); });
    for_blocks(cols, [=](std::int64_t first, std::int64_t count) {
      const f32v scale(std::exp(most_of[first / row_block] - all.most) / all.sum);
      for_vectors<decltype(whole)>(
          count, [=](std::int64_t j, auto lanes) { lanes.put(to + first + j, lanes(e + first + j) * scale); });
    });
  });
}

/// Cotangent of softmax from its result: dx = y * (dy - sum(dy * y)).
///
/// shapes  y, dy, dx [rows, cols] dense; dx may be dy or y
inline void softmax_backward(std::int64_t rows, std::int64_t cols, const float* y, const float* dy,
                             float* dx) noexcept {
  for_written_rows(rows, cols, passes_caches(rows, cols, dx, y, dy), [=](std::int64_t r, auto whole) {
    const float* const yr = y + r * cols;
    const float* const dyr = dy + r * cols;
    const f32v dot(sum_row(cols, [=](std::int64_t j, auto lanes) { return lanes(yr + j) * lanes(dyr + j); }));
    for_vectors<decltype(whole)>(cols, [=](std::int64_t j, auto lanes) {
      lanes.put(dx + r * cols + j, lanes(yr + j) * (lanes(dyr + j) - dot));
    });
  });
}

/// log(sum(exp(x))) of each row, without overflow.
///
/// shapes  x [rows, cols] dense, y [rows]
inline void logsumexp(std::int64_t rows, std::int64_t cols, const float* x, float* y) noexcept {
  for_rows(rows, cols, [=](std::int64_t r) { y[r] = detail::logsumexp_of(x + r * cols, cols); });
}

/// Cross entropy of a softmax with integer labels.
///
///   loss[r] = logsumexp(logits[r]) - logits[r, labels[r]]
///
/// shapes  logits [rows, cols] dense, labels, loss, lse [rows]; lse may be null
/// dtypes  f32 logits, any integer labels; negative labels count from the end, a label out of range gives NaN
/// source  optax.softmax_cross_entropy_with_integer_labels
template <class Label>
void softmax_cross_entropy(std::int64_t rows, std::int64_t cols, const float* logits, const Label* labels, float* loss,
                           float* lse = nullptr) noexcept {
  static_assert(std::is_integral_v<Label>);
  for_rows(rows, cols, [=](std::int64_t r) {
    const float* const x = logits + r * cols;
    const float sum = detail::logsumexp_of(x, cols);
    const std::int64_t at = detail::class_of(labels[r], cols);
    loss[r] = at < 0 ? std::numeric_limits<float>::quiet_NaN() : sum - x[at];
    if (lse != nullptr) lse[r] = sum;
  });
}

/// Cotangent of softmax_cross_entropy: dlogits[r, j] = (softmax(logits[r])[j] - (j == labels[r])) * dloss[r].
///
/// shapes  logits, dlogits [rows, cols] dense, labels, lse, dloss [rows]; lse from the forward pass, or null to compute
///         it again; dlogits may be logits
template <class Label>
void softmax_cross_entropy_backward(std::int64_t rows, std::int64_t cols, const float* logits, const Label* labels,
                                    const float* lse, const float* dloss, float* dlogits) noexcept {
  static_assert(std::is_integral_v<Label>);
  for_written_rows(rows, cols, passes_caches(rows, cols, dlogits, logits), [=](std::int64_t r, auto whole) {
    const float* const x = logits + r * cols;
    float* const to = dlogits + r * cols;
    const f32v sum(lse != nullptr ? lse[r] : detail::logsumexp_of(x, cols));
    const f32v d(dloss[r]);
    const std::int64_t at = detail::class_of(labels[r], cols);
    for_vectors<decltype(whole)>(cols, [=](std::int64_t j, auto lanes) {
      f32v v = exp_nonpositive(lanes(x + j) - sum) * d;
      if (at >= j && at < j + width) {
        const mask label = to_mask(iota() == i32v(static_cast<std::int32_t>(at - j)));
        v = v - select(label, d, f32v(0.0f));
      }
      lanes.put(to + j, v);
    });
  });
}

}  // namespace tokamax::simd
