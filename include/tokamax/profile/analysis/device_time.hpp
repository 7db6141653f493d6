// tokamax/profile/analysis/device_time.hpp: how long devices worked, and what part of their arithmetic a run used.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/analysis/step_breakdown.cpp
#pragma once

#include <tokamax/profile/analysis/activity.hpp>   // activity_of
#include <tokamax/profile/analysis/intervals.hpp>  // union_of
#include <tokamax/profile/roofline.hpp>            // roofline

#include <map>     // map
#include <string>  // string
#include <vector>  // vector

namespace tokamax::profile {

/// The times at which a program ran on a track for which `chosen` holds. The streams of a device overlap, so their times
/// are united and not added.
template <class Chosen>
std::vector<interval> busy(const recording& all, Chosen chosen) {
  std::vector<interval> times;
  for (const track& t : all.tracks)
    if (chosen(t))
      for (const record& r : t.records)
        if (activity_of(all, r) == activity::compute) times.push_back({r.begin, r.end});
  return union_of(std::move(times));
}
inline std::vector<interval> busy(const recording& all) {
  return busy(all, [](const track&) { return true; });
}

/// The part of the recording in which each device ran a program: tracks of devices each by its name, all threads as "host".
inline std::map<std::string, double> duty_cycles(const recording& all) {
  std::map<std::string, double> result;
  const auto key = [](const track& t) { return t.device ? t.name : std::string("host"); };
  for (const track& t : all.tracks) result[key(t)] = 0;
  if (all.end <= all.begin) return result;
  for (auto& [name, part] : result)
    part = static_cast<double>(length(busy(all, [&](const track& t) { return key(t) == name; }))) /
           static_cast<double>(all.end - all.begin);
  return result;
}

/// The work of all programs of a recording.
inline event all_work(const recording& all) {
  event sum;
  for (const track& t : all.tracks)
    for (const record& r : t.records)
      if (const event* e = all.work(r); e && !e->outer) detail::add_to(sum, *e);
  return sum;
}

/// Model FLOPs utilization: the time that the arithmetic of some work takes at the machine's limits, as a part of `nanoseconds`:
///
///   (flops / peak + bfloat16_flops / bfloat16 peak) / seconds
///
/// source  Chowdhery et al. 2022, arXiv:2204.02311, appendix B
inline double flops_utilization(event work, const roofline& limits, std::int64_t nanoseconds) {
  work.bytes = 0;
  return nanoseconds > 0 ? limits.bound(work) * 1e9 / static_cast<double>(nanoseconds) : 0;
}

}  // namespace tokamax::profile
