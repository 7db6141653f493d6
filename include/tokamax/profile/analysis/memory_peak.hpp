// tokamax/profile/analysis/memory_peak.hpp: what a program holds while each step runs, and what lives when it holds the most.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/program_memory.hpp>  // program_memory

#include <algorithm>  // sort, stable_sort
#include <cstddef>    // size_t
#include <utility>    // pair

namespace tokamax::profile {

namespace detail {
/// The changes of the memory that is held, as pairs of a step and bytes, in the order of the steps. What ends at a step comes
/// before what begins there.
inline std::vector<std::pair<std::int64_t, std::int64_t>> changes_of(const program_memory& m) {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;
  for (const program_buffer& b : m.buffers) {
    if (b.last < b.first) continue;
    changes.emplace_back(b.first, b.bytes);
    changes.emplace_back(std::int64_t{b.last} + 1, -b.bytes);
  }
  std::sort(changes.begin(), changes.end());
  return changes;
}
}  // namespace detail

/// The bytes that a program holds while each of its steps runs.
inline std::vector<std::int64_t> held_bytes(const program_memory& m) {
  std::vector<std::int64_t> held(m.buffers.empty() ? 0 : static_cast<std::size_t>(m.steps), 0);
  const auto changes = detail::changes_of(m);
  std::int64_t bytes = 0;
  std::size_t at = 0;
  for (std::size_t s = 0; s < held.size(); ++s) {
    for (; at < changes.size() && changes[at].first <= static_cast<std::int64_t>(s); ++at) bytes += changes[at].second;
    held[s] = bytes;
  }
  return held;
}

/// The moment at which a program holds the most.
struct memory_peak {
  std::int64_t step = 0;
  std::int64_t bytes = 0;          ///< that are held there
  std::int64_t by_role[4] = {};    ///< the same by `buffer_role`
  std::int64_t reserved = 0;       ///< for the whole run: arguments, results, constants and the arena
  std::vector<std::size_t> lives;  ///< numbers of the buffers, the largest first

  /// The bytes of the arena that hold nothing at the peak: gaps between buffers and what rounding adds.
  std::int64_t unused() const { return reserved - bytes; }
};

/// The first of the steps at which the program holds the most.
inline memory_peak peak_of(const program_memory& m) {
  memory_peak peak;
  std::int64_t bytes = 0;
  for (const auto& [step, change] : detail::changes_of(m))
    if ((bytes += change) > peak.bytes) peak.bytes = bytes, peak.step = step;
  peak.reserved = m.arena_bytes;
  for (std::size_t i = 0; i < m.buffers.size(); ++i) {
    const program_buffer& b = m.buffers[i];
    if (b.role != buffer_role::intermediate) peak.reserved += b.bytes;
    if (b.first > peak.step || b.last < peak.step) continue;
    peak.by_role[static_cast<std::size_t>(b.role)] += b.bytes;
    peak.lives.push_back(i);
  }
  std::ranges::stable_sort(peak.lives,
                           [&](std::size_t a, std::size_t b) { return m.buffers[a].bytes > m.buffers[b].bytes; });
  return peak;
}

}  // namespace tokamax::profile
