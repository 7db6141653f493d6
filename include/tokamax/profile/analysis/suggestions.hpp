// tokamax/profile/analysis/suggestions.hpp: what would make a recorded program faster, the greatest saving first.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/analysis/rules/memory_rules.hpp>  // growing_memory
#include <tokamax/profile/analysis/rules/time_rules.hpp>    // input
#include <tokamax/profile/analysis/rules/work_rules.hpp>    // unfused

#include <algorithm>  // stable_sort
#include <vector>     // vector

namespace tokamax::profile {

/// All rules, in the order in which equal savings are named.
inline constexpr suggestion (*all_rules[])(const findings&) = {
    rules::input,        rules::retracing,    rules::slow_step,  rules::transfer,
    rules::host_wait,    rules::host_work,    rules::imbalance,  rules::unfused,
    rules::memory_bound, rules::wide_product, rules::tiny_steps, rules::growing_memory};

/// The suggestions of the rules whose value is above their threshold. A saving is at most the time that a cure may save, so the
/// first one is where to begin.
inline std::vector<suggestion> suggestions(const recording& all, const roofline& limits) {
  const findings f(all, limits);
  std::vector<suggestion> result;
  for (const auto rule : all_rules)
    if (suggestion s = rule(f); s.value > s.threshold) result.push_back(std::move(s));
  std::stable_sort(result.begin(), result.end(),
                   [](const suggestion& a, const suggestion& b) { return a.saving > b.saving; });
  return result;
}

}  // namespace tokamax::profile
