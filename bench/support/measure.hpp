// bench/support/measure.hpp: medians of times, and the lines that cmake/bench.cmake puts into a table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace bench {

/// The seconds that some works take, in order, for each of them. The works run in turns, so that changes of the machine's speed
/// affect all of them. Two rounds warm up.
inline std::vector<std::vector<double>> sorted_seconds_of(const std::vector<std::function<void()>>& works, int rounds) {
  std::vector<std::vector<double>> seconds(works.size());
  for (int i = 0; i < rounds + 2; ++i)
    for (std::size_t w = 0; w < works.size(); ++w) {
      const auto begin = std::chrono::steady_clock::now();
      works[w]();
      if (i > 1) seconds[w].push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
  for (auto& s : seconds) std::sort(s.begin(), s.end());
  return seconds;
}

/// The medians of the seconds that some works take in turns.
inline std::vector<double> median_seconds_of(const std::vector<std::function<void()>>& works, int rounds = 7) {
  std::vector<double> medians;
  for (const auto& s : sorted_seconds_of(works, rounds)) medians.push_back(s[static_cast<std::size_t>(rounds / 2)]);
  return medians;
}

/// The fewest seconds that some works take in turns, for machines that do other work too.
inline std::vector<double> best_seconds_of(const std::vector<std::function<void()>>& works, int rounds = 7) {
  std::vector<double> best;
  for (const auto& s : sorted_seconds_of(works, rounds)) best.push_back(s[0]);
  return best;
}

/// The median of the seconds that f() takes, after two calls that warm up.
template <class F>
double median_seconds(F f, int rounds = 7) {
  return median_seconds_of({f}, rounds)[0];
}

/// One case of a suite, as a line of JSON.
inline void report(std::string_view suite, std::string_view name, std::string_view impl, double value,
                   std::string_view unit) {
  fmt::print("{{\"suite\": \"{}\", \"case\": \"{}\", \"impl\": \"{}\", \"value\": {:.2f}, \"unit\": \"{}\"}}\n", suite,
             name, impl, value, unit);
}

}  // namespace bench
