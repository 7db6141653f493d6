// tokamax/benchmarking/fraction_tolerances.hpp: tolerances that hold for shares of the elements of an array.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/benchmarking/diff_summary.hpp>  // is_close

#include <initializer_list>  // initializer_list

namespace tokamax {

/// At least `fraction` of the elements must differ by at most atol + rtol |expected|.
struct fraction_tolerance {
  double fraction = 1, atol = 0, rtol = 0;
};

/// The share of the elements of `actual` that are within a tolerance, from 0 to 1; 1 if there are none. NaN is within no
/// tolerance.
/// errors  "share_within: actual" if dtypes or shapes differ; tokamax::error for an array without data
inline double share_within(const array& expected, const array& actual, double atol, double rtol = 0) {
  detail::check_comparable("share_within: actual", expected, actual);
  const std::vector<double> wanted = elements_as_doubles(expected), found = elements_as_doubles(actual);
  double within = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) within += detail::is_close(found[i], wanted[i], {rtol, atol});
  return wanted.empty() ? 1 : within / static_cast<double>(wanted.size());
}

/// Is each tolerance kept by its share of the elements? A few outliers of a narrow dtype then do not widen the bound of all:
/// `allclose_fractions(expected, actual, {{0.99, 1e-5}, {1.0, 1e-4}})`.
///
/// errors  those of share_within, and "allclose_fractions: fraction" for one that is not in [0, 1]
/// source  tokamax's assert_trees_all_close
inline bool allclose_fractions(const array& expected, const array& actual,
                               std::initializer_list<fraction_tolerance> tolerances = {{0.99, 1e-5}, {1.0, 1e-4}}) {
  bool close = true;
  for (const fraction_tolerance& t : tolerances) {
    if (!(t.fraction >= 0 && t.fraction <= 1))
      throw error("allclose_fractions: fraction", std::to_string(t.fraction), "a share from 0 to 1");
    close = share_within(expected, actual, t.atol, t.rtol) >= t.fraction && close;
  }
  return close;
}

}  // namespace tokamax
