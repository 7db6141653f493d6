// tokamax/profile/analysis/memory_over_time.hpp: what programs held, by time, and the programs that held the most.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/analysis/memory_peak.cpp
#pragma once

#include <tokamax/profile/analysis/memory_peak.hpp>  // peak_of
#include <tokamax/profile/recording.hpp>             // recording

#include <algorithm>  // max, sort, stable_sort
#include <cstddef>    // size_t
#include <cstdint>    // uint32_t
#include <utility>    // pair
#include <vector>     // vector

namespace tokamax::profile {

/// The bytes that the programs of all threads and devices held together, as pairs of a time and the bytes from then on. Of more
/// than `most` pairs, those of each of `most` equal parts of the time become one, with the greatest bytes of the part.
inline std::vector<std::pair<std::int64_t, double>> memory_over_time(const recording& all, std::size_t most = 10'000) {
  std::vector<std::pair<std::int64_t, double>> changes;
  for (const track& t : all.tracks)
    for (const record& r : t.records)
      if (const event* e = all.work(r); e && e->memory > 0) {
        changes.emplace_back(r.begin, static_cast<double>(e->memory));
        changes.emplace_back(r.end, -static_cast<double>(e->memory));
      }
  std::sort(changes.begin(), changes.end());
  std::vector<std::pair<std::int64_t, double>> points;
  double bytes = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    bytes += changes[i].second;
    if (i + 1 < changes.size() && changes[i + 1].first == changes[i].first) continue;  // one pair for each time
    if (points.empty() || points.back().second != bytes) points.emplace_back(changes[i].first, bytes);
  }
  if (points.size() <= most || most == 0) return points;
  const double begin = static_cast<double>(points.front().first);
  const double length = static_cast<double>(points.back().first) - begin;
  std::vector<std::pair<std::int64_t, double>> parts;
  std::size_t last = most;
  for (const auto& [time, held] : points) {
    const auto part = static_cast<std::size_t>((static_cast<double>(time) - begin) / length * double(most - 1));
    if (part != last || parts.empty())
      parts.emplace_back(time, held);
    else
      parts.back().second = std::max(parts.back().second, held);
    last = part;
  }
  return parts;
}

/// The numbers of the tables of whole programs with their peaks, the greatest first.
inline std::vector<std::pair<std::uint32_t, memory_peak>> memory_peaks(const recording& all) {
  std::vector<std::pair<std::uint32_t, memory_peak>> peaks;
  for (const auto& [number, table] : all.tables)
    if (!table->memory.buffers.empty()) peaks.emplace_back(number, peak_of(table->memory));
  std::ranges::stable_sort(peaks, [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  return peaks;
}

}  // namespace tokamax::profile
