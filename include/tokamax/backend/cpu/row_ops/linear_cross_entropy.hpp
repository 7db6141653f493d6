// tokamax/backend/cpu/row_ops/linear_cross_entropy.hpp: a product and the cross entropy of its rows, in pieces.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/linear_cross_entropy.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/gemm.hpp>        // gemm
#include <tokamax/backend/cpu/row_ops/softmax.hpp>  // normaliser_of, class_of

#include <algorithm>  // min, max, fill_n
#include <cmath>      // exp, log
#include <cstdint>    // int64_t
#include <limits>     // infinity

namespace tokamax::cpu_backend {

/// Rows of x by columns of weights, and the class that each row should have.
struct linear_classes {
  std::int64_t rows, features, classes;
  matrix_view x;        ///< [rows, features]
  matrix_view weights;  ///< [features, classes]
  const std::int32_t* labels;
  gemm_precision precision = gemm_precision::f32;
  const float* bias = nullptr;  ///< [classes], or null
  float soft_cap = 0;           ///< 0: logits are not capped
  float smoothing = 0;          ///< the share of all classes in the target
};

namespace detail {

struct linear_logits_piece;
struct linear_normalisers;

/// Calls f(row, rows, class, classes, logits) for each piece of the logits, [rows, classes] dense. The pieces of the same
/// rows follow one another. The sizes of pieces depend on the shapes only.
template <class F>
void for_logits(const linear_classes& c, F f) {
  constexpr std::int64_t most_rows = 1024, most_classes = 2048;
  const std::int64_t classes_at_once = std::min(most_classes, c.classes);
  float* const logits = scratch<linear_logits_piece>(std::min(most_rows, c.rows) * classes_at_once);
  for (std::int64_t row = 0; row < c.rows; row += most_rows) {
    const std::int64_t rows = std::min(most_rows, c.rows - row);
    matrix_view x = c.x;
    x.data = c.x.at(row, 0);
    for (std::int64_t first = 0; first < c.classes; first += classes_at_once) {
      const std::int64_t classes = std::min(classes_at_once, c.classes - first);
      matrix_view weights = c.weights;
      weights.data = c.weights.at(0, first);
      gemm(rows, classes, c.features, x, weights, logits, classes, gemm_mode::assign, {}, c.precision);
      f(row, rows, first, classes, logits);
    }
  }
}

/// Adds the bias of the classes from `first` on to a row of logits, and caps them.
inline void finish_logits(const linear_classes& c, float* row, std::int64_t first, std::int64_t classes) noexcept {
  if (c.bias != nullptr)
    for_vectors(classes, [=, bias = c.bias + first](std::int64_t j, auto lanes) {
      lanes.put(row + j, lanes(row + j) + lanes(bias + j));
    });
  if (c.soft_cap > 0) {
    const f32v cap(c.soft_cap);
    for_vectors(classes,
                [=](std::int64_t j, auto lanes) { lanes.put(row + j, tanh_rational(lanes(row + j) / cap) * cap); });
  }
}

/// A normaliser sum * exp(shift), to which others can be added, and the sum of the logits, if it is needed.
struct joined_normaliser {
  double shift, sum, total;
  void add(const shifted_sum& other) noexcept {
    const auto s = static_cast<double>(other.shift), more = static_cast<double>(other.sum);
    if (s > shift) {
      sum = sum * std::exp(shift - s) + more;
      shift = s;
    } else {
      sum += s == shift ? more : more * std::exp(s - shift);  // infinities too
    }
  }
};

/// Replaces the logits of row `row`, for classes from `first` on, by their cotangents.
inline void logits_to_cotangents(const linear_classes& c, float* z, std::int64_t row, std::int64_t first,
                                 std::int64_t classes, float lse, float ct_probabilities, float ct_label) noexcept {
  finish_logits(c, z, first, classes);
  const f32v sum(lse), scale(ct_probabilities);
  const std::int64_t at = class_of(c.labels[row], c.classes) - first;
  const bool here = at >= 0 && at < classes;
  const auto slope = [cap = c.soft_cap](auto v) {
    const auto tanh = v / decltype(v)(cap);
    return decltype(v)(1.0f) - tanh * tanh;
  };
  const float hit = here ? ct_label * (1 - c.smoothing) * (c.soft_cap > 0 ? slope(z[at]) : 1.0f) : 0.0f;
  if (c.soft_cap > 0 || c.smoothing != 0) {
    const f32v others(ct_label * c.smoothing / static_cast<float>(c.classes));
    for_vectors(classes, [=, capped = c.soft_cap > 0](std::int64_t j, auto lanes) {
      const f32v v = lanes(z + j), ct = exp_bounded(v - sum) * scale - others;
      lanes.put(z + j, capped ? f32v(ct * slope(v)) : ct);
    });
  } else {
    for_vectors(classes,
                [=](std::int64_t j, auto lanes) { lanes.put(z + j, exp_bounded(lanes(z + j) - sum) * scale); });
  }
  if (here) z[at] -= hit;
}

/// The sums of the columns of x [rows, columns], added to `sums` or written there. The order of the rows is kept.
inline void add_columns(const float* x, std::int64_t rows, std::int64_t columns, float* sums, bool add) {
  constexpr std::int64_t together = 128;
  parallel_for((columns + together - 1) / together, [=](std::int64_t chunk) {
    const std::int64_t from = chunk * together, count = std::min(together, columns - from);
    double total[together] = {};
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < count; ++j) total[j] += static_cast<double>(x[r * columns + from + j]);
    for (std::int64_t j = 0; j < count; ++j)
      sums[from + j] = (add ? sums[from + j] : 0.0f) + static_cast<float>(total[j]);
  });
}
}  // namespace detail

/// loss[r] = lse[r] - logits[r, label] with lse[r] = log(sum(exp(logits[r]))), for logits = x weights. The probabilities
/// are exp(logits - lse) * correction, which is exact for large logits too.
///
/// shapes  loss, lse, correction [rows]
/// labels  negative ones count from the end; a label out of range gives NaN
inline void linear_cross_entropy(const linear_classes& c, float* loss, float* lse, float* correction) {
  using normaliser = detail::joined_normaliser;
  auto* const all = scratch<detail::linear_normalisers, normaliser>(std::max<std::int64_t>(1, c.rows));
  for (std::int64_t r = 0; r < c.rows; ++r) {
    all[r] = {-std::numeric_limits<double>::infinity(), 0, 0};
    loss[r] = std::numeric_limits<float>::quiet_NaN();
  }
  detail::for_logits(
      c, [&](std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t classes, float* logits) {
        for_rows(rows, classes, [=, &c](std::int64_t r) {
          float* const of_row = logits + r * classes;
          detail::finish_logits(c, of_row, first, classes);
          all[row + r].add(detail::normaliser_of(of_row, classes));
          if (c.smoothing != 0)
            all[row + r].total +=
                static_cast<double>(sum_row(classes, [=](std::int64_t j, auto lanes) { return lanes(of_row + j); }));
          const std::int64_t at = detail::class_of(c.labels[row + r], c.classes);
          if (at >= first && at < first + classes) loss[row + r] = of_row[at - first];
        });
      });
  for (std::int64_t r = 0; r < c.rows; ++r) {
    const auto [shift, sum, total] = all[r];
    const double log_sum = std::log(sum);
    auto target = static_cast<double>(loss[r]);
    if (c.smoothing != 0) {
      const auto s = static_cast<double>(c.smoothing);
      target = target * (1 - s) + total * s / static_cast<double>(c.classes);
    }
    loss[r] = static_cast<float>(log_sum + (shift - target));
    const detail::log_normaliser log = detail::log_of(static_cast<float>(shift), static_cast<float>(log_sum));
    lse[r] = log.lse;
    correction[r] = log.correction;
  }
}

/// The cotangents dx = dlogits weights^T and dweights = x^T dlogits, with
///
///   dlogits[r, j] = exp(logits[r, j] - lse[r]) * ct_probabilities[r] - (j == label) * ct_label[r]
///
/// with the smoothed target in the place of (j == label), and times the derivative of the cap.
///
/// shapes  dx [rows, features] dense, dweights [features, classes] dense, or [classes, features] if `transposed`; dbias
///         [classes] or null
inline void linear_cross_entropy_backward(const linear_classes& c, const float* lse, const float* ct_probabilities,
                                          const float* ct_label, float* dx, float* dweights, bool transposed,
                                          float* dbias = nullptr) {
  const std::int64_t d = c.features;
  if (c.rows == 0 || c.classes == 0) {  // empty sums
    std::fill_n(dx, c.rows * d, 0.0f);
    std::fill_n(dweights, c.classes * d, 0.0f);
    if (dbias != nullptr) std::fill_n(dbias, c.classes, 0.0f);
    return;
  }
  const auto transposed_view = [](const void* data, std::int64_t row_stride, std::int64_t column_stride,
                                  gemm_element element) {
    return matrix_view{data, column_stride, row_stride, element};
  };
  detail::for_logits(
      c, [&](std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t classes, float* logits) {
        for_rows(rows, classes, [=, &c](std::int64_t r) {
          detail::logits_to_cotangents(c, logits + r * classes, row + r, first, classes, lse[row + r],
                                       ct_probabilities[row + r], ct_label[row + r]);
        });
        if (dbias != nullptr) detail::add_columns(logits, rows, classes, dbias + first, row > 0);
        const matrix_view dlogits{logits, classes, 1};
        const matrix_view x{c.x.at(row, 0), c.x.row_stride, c.x.column_stride, c.x.element};
        gemm(rows, d, classes, dlogits,
             transposed_view(c.weights.at(0, first), c.weights.row_stride, c.weights.column_stride, c.weights.element),
             dx + row * d, d, first == 0 ? gemm_mode::assign : gemm_mode::accumulate, {}, c.precision);
        const auto mode = row == 0 ? gemm_mode::assign : gemm_mode::accumulate;
        if (transposed)
          gemm(classes, d, rows, transposed_view(logits, classes, 1, gemm_element::f32), x, dweights + first * d, d,
               mode, {}, c.precision);
        else
          gemm(d, classes, rows, transposed_view(x.data, x.row_stride, x.column_stride, x.element), dlogits,
               dweights + first, c.classes, mode, {}, c.precision);
      });
}

}  // namespace tokamax::cpu_backend
