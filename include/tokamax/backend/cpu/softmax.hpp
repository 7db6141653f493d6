// tokamax/backend/cpu/softmax.hpp: softmax, logsumexp and cross entropy over the rows of a matrix.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (kernels include it, and are compiled once)
#pragma once

#include <tokamax/backend/cpu/rows.hpp>  // for_rows, for_vectors, sum_row, max_row

#include <cmath>        // exp, log, isfinite
#include <cstdint>      // int64_t
#include <limits>       // quiet_NaN, infinity
#include <type_traits>  // is_integral_v

namespace tokamax::simd {

namespace detail {
inline constexpr float lowest = -std::numeric_limits<float>::infinity();

// log(sum(exp(x))) of one row. A row whose maximum is infinite is shifted by nothing, as in JAX: -inf gives -inf.
[[gnu::always_inline]] inline float logsumexp_of(const float* x, std::int64_t cols) noexcept {
  const float most = max_row(cols, [=](std::int64_t j, auto lanes) { return lanes(x + j, lowest); });
  if (!std::isfinite(most)) {
    float sum = 0.0f;
    for (std::int64_t j = 0; j < cols; ++j) sum += std::exp(x[j]);
    return std::log(sum);
  }
  const f32v m(most);
  return most +
         std::log(sum_row(cols, [=](std::int64_t j, auto lanes) { return exp_nonpositive(lanes(x + j, lowest) - m); }));
}

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
  for_rows(rows, cols, [=](std::int64_t r) {
    const float* const from = x + r * cols;
    float* const to = y + r * cols;
    const f32v m(max_row(cols, [=](std::int64_t j, auto lanes) { return lanes(from + j, detail::lowest); }));
    const float sum = sum_row(cols, [=](std::int64_t j, auto lanes) {
      const f32v e = exp_nonpositive(lanes(from + j, detail::lowest) - m);
      lanes.put(to + j, e);
      return e;
    });
    const f32v scale(1.0f / sum);
    for_vectors(cols, [=](std::int64_t j, auto lanes) { lanes.put(to + j, lanes(to + j) * scale); });
  });
}

/// Cotangent of softmax from its result: dx = y * (dy - sum(dy * y)).
///
/// shapes  y, dy, dx [rows, cols] dense; dx may be dy or y
inline void softmax_backward(std::int64_t rows, std::int64_t cols, const float* y, const float* dy,
                             float* dx) noexcept {
  for_rows(rows, cols, [=](std::int64_t r) {
    const float* const yr = y + r * cols;
    const float* const dyr = dy + r * cols;
    const f32v dot(sum_row(cols, [=](std::int64_t j, auto lanes) { return lanes(yr + j) * lanes(dyr + j); }));
    for_vectors(cols, [=](std::int64_t j, auto lanes) {
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
  for_rows(rows, cols, [=](std::int64_t r) {
    const float* const x = logits + r * cols;
    float* const to = dlogits + r * cols;
    const f32v sum(lse != nullptr ? lse[r] : detail::logsumexp_of(x, cols));
    const f32v d(dloss[r]);
    for_vectors(cols, [=](std::int64_t j, auto lanes) {
      lanes.put(to + j, exp_nonpositive(min(lanes(x + j) - sum, f32v(0.0f))) * d);
    });
    const std::int64_t at = detail::class_of(labels[r], cols);
    if (at >= 0) to[at] -= dloss[r];
  });
}

}  // namespace tokamax::simd
