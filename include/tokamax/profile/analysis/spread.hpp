// tokamax/profile/analysis/spread.hpp: mean, median and spread of some numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <algorithm>  // sort
#include <cmath>      // abs, sqrt
#include <cstddef>    // size_t
#include <vector>     // vector

namespace tokamax::profile {

/// All are 0 for no numbers.
struct spread {
  std::size_t count = 0;
  double mean = 0, deviation = 0, least = 0, median = 0, most = 0;
  double noise = 0;  ///< a standard error of the median that single outliers do not change
};

/// The spread of numbers x in any order:
///
///   deviation = sqrt(sum (x - mean)^2 / (count - 1)),  noise = 1.2533 * 1.4826 * median |x - median| / sqrt(count)
///
/// source  Rousseeuw, Croux 1993, Alternatives to the median absolute deviation, JASA 88, 1273-1283
inline spread spread_of(std::vector<double> x) {
  spread s;
  s.count = x.size();
  if (x.empty()) return s;
  const auto middle = [](std::vector<double>& v) {
    std::sort(v.begin(), v.end());
    return (v[v.size() / 2] + v[(v.size() - 1) / 2]) / 2;
  };
  s.median = middle(x);
  s.least = x.front();
  s.most = x.back();
  const double n = static_cast<double>(s.count);
  for (const double v : x) s.mean += v / n;
  for (const double v : x) s.deviation += (v - s.mean) * (v - s.mean);
  s.deviation = s.count > 1 ? std::sqrt(s.deviation / (n - 1)) : 0;
  for (double& v : x) v = std::abs(v - s.median);
  s.noise = 1.2533 * 1.4826 * middle(x) / std::sqrt(n);
  return s;
}

}  // namespace tokamax::profile
