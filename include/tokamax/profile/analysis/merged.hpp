// tokamax/profile/analysis/merged.hpp: the recordings of several processes as one.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/analysis/step_breakdown.cpp
#pragma once

#include <tokamax/profile/recording.hpp>  // recording

#include <algorithm>  // max, min
#include <map>        // map
#include <span>       // span
#include <string>     // string

namespace tokamax::profile {

/// The recording of one process.
struct host_recording {
  std::string host;
  recording all;
  std::int64_t clock = 0;  ///< nanoseconds by which the clock of this host is ahead
};

/// All tracks of some processes, as "host/track", by one clock. Marks of steps keep their numbers, so that equal steps of
/// several hosts are one step in breakdowns.
inline recording merged(std::span<const host_recording> hosts) {
  recording result;
  std::uint32_t tables = 0;
  for (const host_recording& h : hosts) {
    std::map<std::uint32_t, std::uint32_t> number;
    for (const auto& [old, table] : h.all.tables) result.tables[number[old] = ++tables] = table;
    const auto names = static_cast<std::uint32_t>(result.names.size());
    result.names.insert(result.names.end(), h.all.names.begin(), h.all.names.end());
    const bool first = &h == hosts.data();
    result.begin = first ? h.all.begin - h.clock : std::min(result.begin, h.all.begin - h.clock);
    result.end = first ? h.all.end - h.clock : std::max(result.end, h.all.end - h.clock);
    for (track t : h.all.tracks) {
      t.name = h.host + '/' + t.name;
      std::erase_if(t.records, [&](const record& r) { return !h.all.work(r) && !h.all.mark(r); });
      for (record& r : t.records) {
        r.begin -= h.clock;
        r.end -= h.clock;
        if (r.table == 0)
          r.step += names;
        else
          r.table = number.at(r.table);
      }
      result.tracks.push_back(std::move(t));
    }
  }
  return result;
}

}  // namespace tokamax::profile
