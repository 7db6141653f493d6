// tokamax/benchmarking/diff_summary.hpp: how far two arrays differ, in a few numbers, and whether that is close enough.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/benchmarking/elements_as_doubles.hpp>  // elements_as_doubles

#include <cmath>    // abs, isnan
#include <utility>  // pair

namespace tokamax {

/// When two elements are close: |actual - expected| <= atol + rtol |expected|.
struct diff_options {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;  ///< is a NaN close to a NaN?
};

/// What `array_diff_summary` finds.
struct diff_summary {
  std::pair<double, double> max_absolute_diff_values{};  ///< the expected and the actual element that differ most
  double percent_close = 1;  ///< the share of elements that are close, from 0 to 1 in spite of its name
  bool allclose = true;      ///< are all elements close?
  double l2_diff = 0;        ///< the root of the sum of squared differences

  double max_absolute_diff() const {
    const auto [a, b] = max_absolute_diff_values;
    return a == b ? 0 : std::abs(a - b);
  }
};

namespace detail {
inline void check_comparable(const char* what, const array& expected, const array& actual) {
  if (!(expected.shape() == actual.shape()) || expected.dtype() != actual.dtype())
    throw error(error_kind::shape, what, std::string(message{actual.type()}.view()),
                std::string(message{expected.type()}.view()));
}
/// NumPy's isclose with the second argument as reference. Equal infinities are close, other infinities never.
inline bool is_close(double actual, double expected, const diff_options& o) {
  if (actual == expected) return true;
  if (std::isnan(actual) || std::isnan(expected)) return o.equal_nan && std::isnan(actual) && std::isnan(expected);
  return !std::isinf(actual) && !std::isinf(expected) &&
         std::abs(actual - expected) <= o.atol + o.rtol * std::abs(expected);
}
}  // namespace detail

/// A summary of how `actual` differs from `expected`, computed in f64. A difference that is NaN is the largest one, or is
/// left out with `equal_nan`. Equal infinities differ by 0, and arrays without elements are close.
///
/// errors  "array_diff_summary: actual" if dtypes or shapes differ; tokamax::error for an array without data
/// source  tokamax's array_diff_summary and jax.numpy.isclose
inline diff_summary array_diff_summary(const array& expected, const array& actual, const diff_options& o = {}) {
  detail::check_comparable("array_diff_summary: actual", expected, actual);
  const std::vector<double> wanted = elements_as_doubles(expected), found = elements_as_doubles(actual);
  diff_summary s;
  double largest = -1, squares = 0, close = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    close += detail::is_close(found[i], wanted[i], o);
    const double difference = wanted[i] == found[i] ? 0 : std::abs(wanted[i] - found[i]);
    if (std::isnan(difference) && o.equal_nan) continue;
    squares += difference * difference;
    if (!std::isnan(largest) && !(difference <= largest)) {  // also true for the first NaN
      largest = difference;
      s.max_absolute_diff_values = {wanted[i], found[i]};
    }
  }
  const auto count = static_cast<double>(wanted.size());
  s.allclose = close == count;
  s.percent_close = wanted.empty() ? 1 : close / count;
  s.l2_diff = std::sqrt(squares);
  return s;
}

}  // namespace tokamax
