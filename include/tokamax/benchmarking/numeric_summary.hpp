// tokamax/benchmarking/numeric_summary.hpp: the range and the means of an array, in a few numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/benchmarking/elements_as_doubles.hpp>  // elements_as_doubles

#include <cmath>   // isnan
#include <limits>  // numeric_limits

namespace tokamax {

/// What `array_numeric_summary` finds. The numbers leave NaN elements out, and are NaN if no element is left.
struct numeric_summary {
  bool has_inf = false, has_nan = false;
  double min = std::numeric_limits<double>::quiet_NaN(), max = min, mean = min, mean_abs = min;
};

/// A summary of an array of any dtype, computed in f64.
///
///   mean = sum of x / n,  mean_abs = sum of |x| / n,  over the n elements that are no NaN
///
/// errors  tokamax::error for an array without data
/// source  tokamax's array_numeric_summary, which refuses arrays without elements
inline numeric_summary array_numeric_summary(const array& x) {
  numeric_summary s;
  double sum = 0, sum_abs = 0, count = 0;
  for (const double v : elements_as_doubles(x)) {
    s.has_inf = s.has_inf || std::isinf(v);
    s.has_nan = s.has_nan || std::isnan(v);
    if (std::isnan(v)) continue;
    s.min = count == 0 ? v : std::min(s.min, v);
    s.max = count == 0 ? v : std::max(s.max, v);
    sum += v;
    sum_abs += std::abs(v);
    ++count;
  }
  if (count > 0) s.mean = sum / count, s.mean_abs = sum_abs / count;
  return s;
}

}  // namespace tokamax
