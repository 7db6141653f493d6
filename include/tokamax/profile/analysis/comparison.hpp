// tokamax/profile/analysis/comparison.hpp: two recordings side by side, and whether they differ by more than noise.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/analysis/op_table.hpp>        // op_table
#include <tokamax/profile/analysis/step_breakdown.hpp>  // breakdown_of

#include <fmt/format.h>  // format

#include <algorithm>  // max, stable_sort
#include <cmath>      // abs, sqrt
#include <map>        // map
#include <string>     // string
#include <vector>     // vector

namespace tokamax::profile {

enum class change : std::uint8_t { unknown, none, faster, slower };

/// A group of ops in both recordings: nanoseconds of self time and runs for each step.
struct compared_op {
  std::string name;
  double before = 0, after = 0;
  double count_before = 0, count_after = 0;
};

struct comparison {
  spread before, after;  ///< of the lengths of steps, in nanoseconds
  double ratio = 0;      ///< of the medians, after / before
  double noise = 0;      ///< the standard error of the difference of the medians
  change verdict = change::unknown;
  std::string text;
  std::vector<compared_op> ops;  ///< the greatest differences first
};

namespace detail {
inline change change_of(const spread& before, const spread& after, double noise) {
  if (before.count < 3 || after.count < 3 || before.median <= 0) return change::unknown;
  const double difference = after.median - before.median;
  if (std::abs(difference) <= 3 * noise || std::abs(difference) < 0.01 * before.median) return change::none;
  return difference < 0 ? change::faster : change::slower;
}
inline std::string text_of(const comparison& c) {
  const std::string medians =
      fmt::format("{:.3f} ms a step before, {:.3f} ms after", c.before.median * 1e-6, c.after.median * 1e-6);
  if (c.verdict == change::unknown) return medians + ": too few steps for a verdict, expected at least 3 of each";
  const std::string noise = fmt::format("3 standard errors are {:.3f} ms", 3 * c.noise * 1e-6);
  if (c.verdict == change::none) return medians + ": no difference beyond noise (" + noise + ") and 1 %";
  return fmt::format("{}: {:.1f} % {} ({})", medians, 100 * std::abs(c.ratio - 1),
                     c.verdict == change::faster ? "faster" : "slower", noise);
}
}  // namespace detail

/// Compares the steps by their medians. They differ if the difference is more than three standard errors and 1 %. Steps that
/// compile are left out. Ops are compared by their time for each step.
inline comparison compare(const recording& before, const recording& after, const roofline& limits,
                          group_by by = group_by::op) {
  comparison c;
  std::map<std::string, compared_op> ops;
  const auto add = [&](const recording& all, spread& lengths, double compared_op::* time, double compared_op::* count) {
    const step_breakdown steps = breakdown_of(all);
    std::vector<double> x;
    for (const step_times& s : steps.steps)
      if (s[activity::compile] == 0) x.push_back(static_cast<double>(s.length()));
    lengths = spread_of(std::move(x));
    for (const op_row& o : op_table(all, limits, by)) {
      compared_op& row = ops[o.name];
      row.name = o.name;
      row.*time = static_cast<double>(o.self) / static_cast<double>(std::max<std::size_t>(1, steps.steps.size()));
      row.*count = static_cast<double>(o.count) / static_cast<double>(std::max<std::size_t>(1, steps.steps.size()));
    }
  };
  add(before, c.before, &compared_op::before, &compared_op::count_before);
  add(after, c.after, &compared_op::after, &compared_op::count_after);
  c.ratio = c.before.median > 0 ? c.after.median / c.before.median : 0;
  c.noise = std::sqrt(c.before.noise * c.before.noise + c.after.noise * c.after.noise);
  c.verdict = detail::change_of(c.before, c.after, c.noise);
  c.text = detail::text_of(c);
  for (auto& [name, o] : ops) c.ops.push_back(std::move(o));
  std::stable_sort(c.ops.begin(), c.ops.end(), [](const compared_op& a, const compared_op& b) {
    return std::abs(a.after - a.before) > std::abs(b.after - b.before);
  });
  return c;
}

}  // namespace tokamax::profile
