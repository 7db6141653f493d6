// tokamax/profile/analysis/suggestion.hpp: a way to make a program faster, with the numbers that speak for it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/analysis/suggestions.cpp
#pragma once

#include <tokamax/profile/analysis/op_table.hpp>        // op_row
#include <tokamax/profile/analysis/step_breakdown.hpp>  // step_breakdown

#include <string>  // string
#include <vector>  // vector

namespace tokamax::profile {

/// A rule has found its value above its threshold.
struct suggestion {
  std::string rule;                ///< such as "input-bound"
  double value = 0;                ///< what was measured, mostly a part of the time of steps
  double threshold = 0;            ///< above which the rule speaks
  std::string text;                ///< a sentence with the numbers
  std::string cure;                ///< a sentence on what to do
  double saving = 0;               ///< nanoseconds of the recording that the cure may save
  std::vector<std::string> ops{};  ///< the steps that it is about, the longest first
};

/// What rules look at.
struct findings {
  const recording& all;
  const roofline& limits;
  std::vector<op_row> ops;
  step_breakdown steps;

  findings(const recording& r, const roofline& limits_)
      : all(r), limits(limits_), ops(op_table(r, limits_)), steps(breakdown_of(r)) {}
  /// The time of all steps, at least 1 ns.
  double total() const { return static_cast<double>(std::max<std::int64_t>(1, steps.total())); }
};

}  // namespace tokamax::profile
