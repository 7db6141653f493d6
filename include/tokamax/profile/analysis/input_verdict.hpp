// tokamax/profile/analysis/input_verdict.hpp: whether a program waits for its data, and for which stage of them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/analysis/step_breakdown.cpp
#pragma once

#include <tokamax/profile/analysis/nesting.hpp>         // nesting_of
#include <tokamax/profile/analysis/step_breakdown.hpp>  // step_breakdown

#include <fmt/format.h>  // format

#include <algorithm>  // stable_sort
#include <map>        // map
#include <string>     // string
#include <utility>    // pair
#include <vector>     // vector

namespace tokamax::profile {

enum class input_bound : std::uint8_t { no, moderately, highly };

struct input_verdict {
  input_bound bound = input_bound::no;
  double share = 0;  ///< of the steps' time that is spent on waiting for data
  std::vector<std::pair<std::string, std::int64_t>>
      stages;  ///< nanoseconds of each wait's own, on any thread, longest first
  std::string text;
};

/// The verdict by the thresholds of XProf: input takes up to 5 % of the time of steps, up to 20 %, or more.
inline input_verdict input_verdict_of(const recording& all, const step_breakdown& steps) {
  input_verdict v;
  v.share = steps.share(activity::input);
  v.bound = v.share < 0.05 ? input_bound::no : v.share < 0.2 ? input_bound::moderately : input_bound::highly;
  std::map<std::string, std::int64_t> stages;
  for (const track& t : all.tracks) {
    const nesting n = nesting_of(t);
    for (std::size_t i = 0; i < t.records.size(); ++i)
      if (activity_of(all, t.records[i]) == activity::input)
        stages[std::string(name_of(all, t.records[i]))] += n.self[i];
  }
  v.stages.assign(stages.begin(), stages.end());
  std::stable_sort(v.stages.begin(), v.stages.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  const char* how = v.bound == input_bound::no ? "not" : v.bound == input_bound::moderately ? "moderately" : "highly";
  v.text =
      fmt::format("The program is {} bound by its input: {:.1f} % of the time of steps is spent on waiting for data.",
                  how, 100 * v.share);
  if (v.bound != input_bound::no && !v.stages.empty())
    v.text += fmt::format(" The longest waits are those of {}.", v.stages.front().first);
  return v;
}

}  // namespace tokamax::profile
