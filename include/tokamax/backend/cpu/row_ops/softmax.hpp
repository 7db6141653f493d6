// tokamax/backend/cpu/row_ops/softmax.hpp: softmax, logsumexp and cross entropy over the rows of a matrix.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/vector/exponentials.hpp>  // exponentials_of_block
#include <tokamax/backend/cpu/vector/rows.hpp>          // for_rows, for_vectors, sum_row, max_row

#include <algorithm>    // none_of, min, max
#include <cmath>        // exp, log, isnan
#include <cstdint>      // int64_t
#include <limits>       // quiet_NaN, infinity
#include <type_traits>  // is_integral_v, is_same_v

namespace tokamax::cpu_backend {

namespace detail {
struct shifted_sum {
  float shift, sum;  // sum(exp(x - shift)) of a row
};

// The number of columns that are written at a time, between computing exponentials. They are so few that the streamed
// stores drain while the next exponentials are computed.
inline constexpr std::int64_t kept_block = 512;

// A block of a row as floats: where it lies, or in `room`.
inline const float* block_as_floats(const float* x, std::int64_t, float*) noexcept { return x; }
template <class T>
[[gnu::always_inline]] inline const float* block_as_floats(const T* x, std::int64_t count, float* room) noexcept {
  for_vectors(count, [=](std::int64_t j, auto lanes) {
    fetch_ahead(x + j);
    lanes.put(room + j, lanes(x + j));
  });
  return room;
}

// Computes the exponentials of a row and their sum in one pass. The shift is the maximum of the first elements. If a block
// exceeds it by far, that block is computed again with its own maximum, and the sum so far is scaled. If e is not null, it
// gets the exponentials. done(first, count, shift) is called after each block. If all elements are -infinity, the shift is
// the lowest finite number.
template <bool Keep, class T, class Done>
[[gnu::always_inline]] inline shifted_sum exponentials_of_row(const T* x, std::int64_t cols, float* e,
                                                              Done done) noexcept {
  constexpr std::int64_t columns = Keep ? kept_block : row_block;
  alignas(64) float block_of_floats[std::is_same_v<T, float> ? 1 : columns];
  constexpr std::int64_t head = 128;
  constexpr float room = 16.0f;  // far from where exponentials overflow
  const exponentials_fn exponentials = exponentials_of_block<Keep>();
  shifted_sum all{std::numeric_limits<float>::lowest(), 0.0f};
  all.shift = std::max(all.shift, max_row(std::min(head, cols), [=](std::int64_t j, auto lanes) {
                         return lanes(x + j, -std::numeric_limits<float>::infinity());
                       }));
  for_blocks<columns>(cols, [&](std::int64_t first, std::int64_t count) {
    float* const to = Keep ? e + first : nullptr;
    const float* const from = block_as_floats(x + first, count, block_of_floats);
    exponential_sum block = exponentials(from, count, all.shift, to);
    if (block.most > all.shift + room) {
      all.sum *= std::exp(all.shift - block.most);
      all.shift = block.most;
      block = exponentials(from, count, all.shift, to);
    }
    all.sum += block.sum;
    done(first, count, all.shift);
  });
  return all;
}

/// The logarithm lse of a row's normaliser, and the factor by which exp(x - lse) must be multiplied because lse is rounded.
/// The factor is near 1 unless lse is large.
struct log_normaliser {
  float lse, correction;
};
[[gnu::noinline, gnu::cold]] inline float large_correction(float lse, float lost) noexcept {
  return std::isfinite(lse) ? std::exp(-lost) : 1.0f;
}
[[gnu::always_inline]] inline log_normaliser log_of(float shift, float log_sum) noexcept {
  const float lse = shift + log_sum, of_sum = lse - shift;
  const float lost = (shift - (lse - of_sum)) + (log_sum - of_sum);  // exactly
  if (std::abs(lost) < 0x1p-13f) [[likely]]
    return {lse, 1.0f - lost};  // e^-lost to a float's precision
  return {lse, large_correction(lse, lost)};
}

// The shift of one row, and sum(exp(x - shift)). The shift must be finite, because infinity - infinity is NaN, and only a
// NaN in x may make the sum NaN.
template <class T>
[[gnu::always_inline]] inline shifted_sum normaliser_of(const T* x, std::int64_t cols) noexcept {
  shifted_sum all = exponentials_of_row<false>(x, cols, nullptr, [](std::int64_t, std::int64_t, float) {});
  if (all.shift == std::numeric_limits<float>::infinity() &&
      std::none_of(x, x + cols, [](T v) { return std::isnan(static_cast<float>(v)); }))
    all.sum = 1.0f;
  return all;
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
/// dtypes  T is float, bfloat16 or float16, computed in f32; a row of -infinity gives NaN, as in JAX
template <class T>
void softmax(std::int64_t rows, std::int64_t cols, const T* x, T* y) {
  constexpr std::int64_t block = detail::kept_block;
  const std::int64_t blocks = (cols / block + 16) / 16 * 16, row = blocks + (cols + 15) / 16 * 16;
  const bool streamed = passes_caches(rows, cols, y, x);
  for_written_chunks(rows, cols, streamed, [=](std::int64_t begin, std::int64_t end, auto whole) {
    // A row is written while the exponentials of the next row are computed, so that memory is always busy.
    float* const memory = scratch<detail::softmax_row>(2 * row);
    detail::shifted_sum all{}, before{};
    for (std::int64_t r = begin; r <= end; ++r, before = all) {
      float* const shift_of = memory + r % 2 * row;  // of each block; the exponentials follow
      const float* const shift_before = memory + (r + 1) % 2 * row;
      const auto write = [=](std::int64_t first, std::int64_t count) {
        const f32v scale(std::exp(shift_before[first / block] - before.shift) / before.sum);
        const float* const e = shift_before + blocks + first;
        T* const to = y + (r - 1) * cols + first;
        for_vectors<decltype(whole)>(count,
                                     [=](std::int64_t j, auto lanes) { lanes.put(to + j, lanes(e + j) * scale); });
      };
      if (r == end) {
        for_blocks<block>(cols, write);
      } else {
        const auto done = [=](std::int64_t first, std::int64_t count, float shift) {
          shift_of[first / block] = shift;
          if (r > begin) write(first, count);
        };
        all = detail::exponentials_of_row<true>(x + r * cols, cols, shift_of + blocks, done);
      }
    }
  });
}

/// Cotangent of softmax from its result: dx = y * (dy - sum(dy * y)).
///
/// shapes  y, dy, dx [rows, cols] dense; dx may be dy or y
/// dtypes  those of softmax
template <class T>
void softmax_backward(std::int64_t rows, std::int64_t cols, const T* y, const T* dy, T* dx) {
  for_written_rows(rows, cols, passes_caches(rows, cols, dx, y, dy), [=](std::int64_t r, auto whole) {
    const T* const yr = y + r * cols;
    const T* const dyr = dy + r * cols;
    const f32v dot(sum_row(cols, [=](std::int64_t j, auto lanes) { return lanes(yr + j) * lanes(dyr + j); }));
    for_vectors<decltype(whole)>(cols, [=](std::int64_t j, auto lanes) {
      lanes.put(dx + r * cols + j, lanes(yr + j) * (lanes(dyr + j) - dot));
    });
  });
}

/// log(sum(exp(x))) of each row, without overflow.
///
/// shapes  x [rows, cols] dense, y [rows]
/// dtypes  T is float, bfloat16 or float16
template <class T>
void logsumexp(std::int64_t rows, std::int64_t cols, const T* x, float* y) {
  for_rows(rows, cols, [=](std::int64_t r) {
    const auto [shift, sum] = detail::normaliser_of(x + r * cols, cols);
    y[r] = shift + std::log(sum);
  });
}

/// Cross entropy of a softmax with integer labels.
///
///   loss[r] = logsumexp(logits[r]) - logits[r, labels[r]]
///
/// lse is that logsumexp. The probabilities are exp(logits - lse) * correction, which is exact for large logits too.
///
/// shapes  logits [rows, cols] dense, labels, loss, lse, correction [rows]; the last two may be null
/// dtypes  logits T of softmax, any integer labels; negative labels count from the end, a label out of range gives NaN
/// source  optax.softmax_cross_entropy_with_integer_labels
template <class T, class Label>
void softmax_cross_entropy(std::int64_t rows, std::int64_t cols, const T* logits, const Label* labels, float* loss,
                           float* lse = nullptr, float* correction = nullptr) {
  static_assert(std::is_integral_v<Label>);
  for_rows(rows, cols, [=](std::int64_t r) {
    const T* const x = logits + r * cols;
    const auto [shift, sum] = detail::normaliser_of(x, cols);
    const float log_sum = std::log(sum);
    const std::int64_t at = detail::class_of(labels[r], cols);
    loss[r] = at < 0 ? std::numeric_limits<float>::quiet_NaN() : log_sum + (shift - static_cast<float>(x[at]));
    if (lse != nullptr) lse[r] = shift + log_sum;
    if (correction != nullptr) correction[r] = detail::log_of(shift, log_sum).correction;
  });
}

/// Cotangent of softmax_cross_entropy:
///
///   dlogits[r, j] = exp(logits[r, j] - lse[r]) * ct_probabilities[r] - (j == labels[r]) * ct_label[r]
///
/// For the cotangent dloss, ct_label is dloss and ct_probabilities is dloss * correction.
///
/// shapes  logits, dlogits [rows, cols] dense, labels, lse, ct_probabilities, ct_label [rows]; dlogits may be logits
template <class T, class Label>
void softmax_cross_entropy_backward(std::int64_t rows, std::int64_t cols, const T* logits, const Label* labels,
                                    const float* lse, const float* ct_probabilities, const float* ct_label,
                                    T* dlogits) {
  static_assert(std::is_integral_v<Label>);
  for_written_rows(rows, cols, passes_caches(rows, cols, dlogits, logits), [=](std::int64_t r, auto whole) {
    const T* const x = logits + r * cols;
    T* const to = dlogits + r * cols;
    const f32v sum(lse[r]), scale(ct_probabilities[r]), d(ct_label[r]);
    const std::int64_t at = detail::class_of(labels[r], cols);
    for_vectors<decltype(whole)>(cols, [=](std::int64_t j, auto lanes) {
      f32v v = exp_bounded(lanes(x + j) - sum) * scale;
      if (at >= j && at < j + width) {
        const mask label = to_mask(iota() == i32v(static_cast<std::int32_t>(at - j)));
        v = v - select(label, d, f32v(0.0f));
      }
      lanes.put(to + j, v);
    });
  });
}

}  // namespace tokamax::cpu_backend
