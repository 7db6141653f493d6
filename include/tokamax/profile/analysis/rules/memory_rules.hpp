// tokamax/profile/analysis/rules/memory_rules.hpp: rules on memory over time.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/analysis/suggestions.cpp
#pragma once

#include <tokamax/profile/analysis/suggestion.hpp>  // findings, suggestion

#include <fmt/format.h>  // format

#include <algorithm>    // stable_sort
#include <cstddef>      // size_t
#include <map>          // map
#include <string>       // string
#include <string_view>  // string_view
#include <utility>      // pair
#include <vector>       // vector

namespace tokamax::profile {

/// The values of each counter whose name begins with `prefix`, by time.
inline std::map<std::string, std::vector<std::pair<std::int64_t, double>>> counters_of(const recording& all,
                                                                                       std::string_view prefix = {}) {
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> result;
  for (const track& t : all.tracks)
    for (const record& r : t.records)
      if (const mark_name* m = all.mark(r); m && m->kind == mark_kind::counter && m->name.starts_with(prefix))
        result[m->name].push_back({r.begin, r.value});
  for (auto& [name, values] : result) std::ranges::stable_sort(values, {}, [](const auto& v) { return v.first; });
  return result;
}

namespace rules {

/// A counter with a name that begins with "memory" is higher at the end of more than 90 % of the later steps than at the end of
/// the step before. Caches fill in the first two steps, and eight later ones are needed.
inline suggestion growing_memory(const findings& f) {
  suggestion worst{
      "growing memory", 0, 0.90, {}, "Look for lists that keep arrays of every step, such as losses or results.", 0};
  for (const auto& [name, values] : counters_of(f.all, "memory")) {
    std::vector<double> at_end;  // of each step after the first two
    std::size_t next = 0;
    for (std::size_t i = 2; i < f.steps.steps.size(); ++i) {
      while (next < values.size() && values[next].first <= f.steps.steps[i].time.end) ++next;
      if (next > 0) at_end.push_back(values[next - 1].second);
    }
    if (at_end.size() < 9) continue;
    double rises = 0;
    for (std::size_t i = 1; i < at_end.size(); ++i) rises += at_end[i] > at_end[i - 1];
    const double steps = static_cast<double>(at_end.size() - 1);
    if (rises / steps <= worst.value) continue;
    worst.value = rises / steps;
    worst.ops = {name};
    worst.text = fmt::format("{} rises in {:.0f} of {:.0f} steps, by {:.3g} MB a step.", name, rises, steps,
                             (at_end.back() - at_end.front()) / steps * 1e-6);
  }
  return worst;
}

}  // namespace rules
}  // namespace tokamax::profile
