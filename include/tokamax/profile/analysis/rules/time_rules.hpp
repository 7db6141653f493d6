// tokamax/profile/analysis/rules/time_rules.hpp: rules on what steps wait for.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/analysis/suggestions.cpp
#pragma once

#include <tokamax/profile/analysis/input_verdict.hpp>  // input_verdict_of
#include <tokamax/profile/analysis/intervals.hpp>      // union_of
#include <tokamax/profile/analysis/suggestion.hpp>     // findings, suggestion

#include <algorithm>  // max, upper_bound
#include <map>        // map
#include <string>     // string
#include <utility>    // move, pair
#include <vector>     // vector

namespace tokamax::profile::rules {

namespace detail {
/// The rule that an activity takes at most a part of the time of steps.
inline suggestion limit(const findings& f, activity a, double threshold, std::string rule, const char* what,
                        std::string cure) {
  const double share = f.steps.share(a);
  return {std::move(rule), share,
          threshold,       fmt::format("{:.1f} % of the time of steps is spent on {}.", 100 * share, what),
          std::move(cure), static_cast<double>(f.steps.total(a))};
}
}  // namespace detail

/// More than 10 % of the time of steps is spent on waiting for data.
inline suggestion input(const findings& f) {
  suggestion s = detail::limit(f, activity::input, 0.10, "input-bound", "waiting for data",
                               "Read ahead on more threads (`prefetch`), or prepare the data once and store them.");
  for (const auto& [stage, time] : input_verdict_of(f.all, f.steps).stages) s.ops.push_back(stage);
  return s;
}
/// More than 10 % is spent on copies between host and device.
inline suggestion transfer(const findings& f) {
  return detail::limit(f, activity::transfer, 0.10, "transfers", "copies between host and device",
                       "Keep arrays on the device from step to step, and copy the next input while a step runs.");
}
/// More than 10 % is spent on waits for checkpoints, threads or devices.
inline suggestion host_wait(const findings& f) {
  return detail::limit(
      f, activity::wait, 0.10, "host wait", "waiting for checkpoints, threads or devices",
      "Write checkpoints in the background, and read values of a step only when later steps have begun.");
}
/// More than 30 % is spent on the user's own code on the host.
inline suggestion host_work(const findings& f) {
  return detail::limit(f, activity::host, 0.30, "host work", "code on the host outside of programs",
                       "Move this work into the compiled program, or to a thread of its own.");
}

/// More than a tenth of the steps after the first two compile a program.
inline suggestion retracing(const findings& f) {
  double count = 0, time = 0;
  for (std::size_t i = 2; i < f.steps.steps.size(); ++i) {
    const std::int64_t compiling = f.steps.steps[i][activity::compile];
    count += compiling > 0;
    time += static_cast<double>(compiling);
  }
  const double later = f.steps.steps.size() > 2 ? static_cast<double>(f.steps.steps.size() - 2) : 1;
  return {"retracing",
          count / later,
          0.10,
          fmt::format("{:.0f} of {:.0f} later steps trace or compile a program again, {:.1f} % of the time of steps.",
                      count, later, 100 * time / f.total()),
          "Make the program once, before the loop, and give all batches the same shapes (pad the last one).",
          time};
}

/// A step takes more than twice as long as the middle one. The first two steps and those that compile do not count.
inline suggestion slow_step(const findings& f) {
  std::vector<double> x;
  std::pair<double, double> longest;  // nanoseconds, number
  for (std::size_t i = 2; i < f.steps.steps.size(); ++i) {
    const step_times& s = f.steps.steps[i];
    if (s[activity::compile] > 0) continue;
    x.push_back(static_cast<double>(s.length()));
    longest = std::max(longest, std::pair{x.back(), s.number});
  }
  const double median = spread_of(x).median;
  double excess = 0;  // the time of slow steps beyond the median
  for (const double v : x) excess += v > 2 * median ? v - median : 0;
  const double ratio = x.size() < 8 || median <= 0 ? 0 : longest.first / median;
  return {
      "slow step",
      ratio,
      2,
      fmt::format("Step {:.0f} takes {:.3f} ms, {:.1f} times as long as the middle one.", longest.second,
                  longest.first * 1e-6, ratio),
      "Look at this step in the timeline: checkpoints, evaluation or other processes of the machine are usual causes.",
      excess};
}

namespace detail {
/// The time that each track spends on steps of programs which another track runs at the same time. Threads that take turns
/// have none.
inline std::map<const track*, double> shared_times(const recording& all) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<const track*, std::vector<interval>>> steps;
  for (const track& t : all.tracks)
    for (const record& r : t.records)
      if (const event* e = all.work(r); e && !e->outer) steps[{r.table, r.step}][&t].push_back({r.begin, r.end});
  std::map<const track*, double> times;
  for (auto& [step, by_track] : steps) {
    if (by_track.size() < 2) continue;
    for (auto& [t, runs] : by_track) runs = union_of(std::move(runs));
    for (const auto& [t, runs] : by_track)
      for (const interval& r : runs)
        for (const auto& [other, others] : by_track) {
          if (other == t) continue;
          const auto next = std::ranges::upper_bound(others, r.begin, {}, &interval::end);
          if (next == others.end() || next->begin >= r.end) continue;
          times[t] += static_cast<double>(r.end - r.begin);
          break;
        }
  }
  return times;
}
}  // namespace detail

/// Of the threads or hosts that run the same steps of programs together, one takes more than 20 % longer than the mean.
inline suggestion imbalance(const findings& f) {
  const std::map<const track*, double> times = detail::shared_times(f.all);
  double most = 0, sum = 0;
  std::string name;
  for (const auto& [t, time] : times) {
    sum += time;
    if (time > most) most = time, name = t->name;
  }
  const double mean = times.empty() ? 0 : sum / static_cast<double>(times.size());
  return {"imbalance",
          mean > 0 ? most / mean - 1 : 0,
          0.20,
          fmt::format("{} takes {:.0f} % longer than the mean of the {} tracks that do the same work.", name,
                      mean > 0 ? 100 * (most / mean - 1) : 0, times.size()),
          "Give all threads equal parts, or more and smaller ones, and look for other processes on the slow core.",
          most - mean};
}

}  // namespace tokamax::profile::rules
