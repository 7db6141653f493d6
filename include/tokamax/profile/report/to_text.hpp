// tokamax/profile/report/to_text.hpp: the tables of an analysis as lines of text.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/report/tables.cpp
#pragma once

#include <tokamax/profile/analysis/comparison.hpp>     // comparison
#include <tokamax/profile/analysis/device_time.hpp>    // duty_cycles
#include <tokamax/profile/analysis/input_verdict.hpp>  // input_verdict_of
#include <tokamax/profile/analysis/suggestions.hpp>    // suggestions

#include <fmt/format.h>  // format_to

#include <algorithm>    // min
#include <cmath>        // isfinite
#include <cstddef>      // size_t
#include <iterator>     // back_inserter
#include <string>       // string
#include <string_view>  // string_view
#include <vector>       // vector

namespace tokamax::profile {

namespace detail {
/// A name for a terminal: control characters would move its cursor, so they become blanks.
inline std::string printable(std::string_view name) {
  std::string s(name);
  for (char& c : s)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  return s;
}
}  // namespace detail

/// The first `lines` rows. The column `roof` has the shortest possible time as a part of the measured one.
inline std::string to_text(const std::vector<op_row>& rows, std::size_t lines = 20) {
  std::string s = fmt::format("{:>10} {:>6} {:>10} {:>8} {:>9} {:>7} {:>6} {:<8} {}\n", "self ms", "share", "total ms",
                              "count", "GFLOP/s", "GB/s", "roof", "bound by", "name");
  for (std::size_t i = 0; i < std::min(lines, rows.size()); ++i) {
    const op_row& o = rows[i];
    fmt::format_to(std::back_inserter(s), "{:>10.3f} {:>5.1f}% {:>10.3f} {:>8} {:>9.1f} {:>7.1f} {:>5.0f}% {:<8} {}\n",
                   static_cast<double>(o.self) * 1e-6, 100 * o.share, static_cast<double>(o.total) * 1e-6, o.count,
                   o.flops_per_second() * 1e-9, o.bytes_per_second() * 1e-9, 100 * o.roof, o.bound_by,
                   detail::printable(o.name));
  }
  if (rows.size() > lines) s += fmt::format("and {} more rows\n", rows.size() - lines);
  return s;
}

/// The mean, spread and share of each activity, and the length of steps.
inline std::string to_text(const step_breakdown& steps) {
  if (steps.steps.empty()) return "no steps were recorded\n";
  std::string s = fmt::format("{:>10} {:>9} {:>9} {:>9} {:>6}  of {} {}\n", "mean ms", "+-", "least", "most", "share",
                              steps.steps.size(), steps.marked ? "steps" : "recording without marks of steps");
  const auto add = [&](const spread& x, double share, std::string_view what) {
    fmt::format_to(std::back_inserter(s), "{:>10.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>5.1f}%  {}\n", x.mean * 1e-6,
                   x.deviation * 1e-6, x.least * 1e-6, x.most * 1e-6, 100 * share, what);
  };
  for (std::size_t a = 0; a < activities; ++a) {
    const auto which = static_cast<activity>(a);
    if (steps.total(which) > 0) add(steps.times(which), steps.share(which), name(which));
  }
  add(steps.lengths(), 1, "step");
  return s;
}

/// Each with its value and threshold, and the cure below it.
inline std::string to_text(const std::vector<suggestion>& all) {
  if (all.empty()) return "no rule found anything to make faster\n";
  std::string s;
  for (const suggestion& one : all)
    fmt::format_to(std::back_inserter(s), "{} ({:.3g}, threshold {:.3g}; up to {:.3f} ms): {}\n    {}\n", one.rule,
                   one.value, one.threshold, one.saving * 1e-6, detail::printable(one.text), one.cure);
  return s;
}

/// The verdict and the `lines` ops whose times differ most.
inline std::string to_text(const comparison& c, std::size_t lines = 20) {
  std::string s = c.text + '\n';
  fmt::format_to(std::back_inserter(s), "{:>12} {:>10} {:>10}  {}\n", "difference", "before", "after", "ms a step");
  for (std::size_t i = 0; i < std::min(lines, c.ops.size()); ++i) {
    const compared_op& o = c.ops[i];
    fmt::format_to(std::back_inserter(s), "{:>+12.4f} {:>10.4f} {:>10.4f}  {}\n", (o.after - o.before) * 1e-6,
                   o.before * 1e-6, o.after * 1e-6, detail::printable(o.name));
  }
  return s;
}

/// A page of text: steps, input, devices, MFU, suggestions, the longest ops, and what was dropped.
inline std::string summary_text(const recording& all, const roofline& limits) {
  const step_breakdown steps = breakdown_of(all);
  std::string s = to_text(steps) + input_verdict_of(all, steps).text + '\n';
  for (const auto& [device, part] : duty_cycles(all))
    fmt::format_to(std::back_inserter(s), "{} ran programs for {:.1f} % of {:.3f} ms\n", detail::printable(device),
                   100 * part, static_cast<double>(all.end - all.begin) * 1e-6);
  if (std::isfinite(limits.flops))
    fmt::format_to(std::back_inserter(s),
                   "MFU {:.1f} %: arithmetic at the machine's peak would have taken this part of the time\n",
                   100 * flops_utilization(all_work(all), limits, all.end - all.begin));
  s += '\n' + to_text(suggestions(all, limits)) + '\n' + to_text(op_table(all, limits), 10);
  for (const track& t : all.tracks)
    if (t.dropped > 0)
      fmt::format_to(std::back_inserter(s), "{}: {} older records were dropped, because the ring was full\n",
                     detail::printable(t.name), t.dropped);
  return s;
}

}  // namespace tokamax::profile
