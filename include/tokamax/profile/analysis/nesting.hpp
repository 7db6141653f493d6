// tokamax/profile/analysis/nesting.hpp: which records of a track contain which, and the time that is each one's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/recording.hpp>  // track

#include <algorithm>  // max, min, sort
#include <cstddef>    // size_t
#include <numeric>    // iota
#include <tuple>      // tuple
#include <vector>     // vector

namespace tokamax::profile {

/// Of each record of a track, by its place there.
struct nesting {
  std::vector<std::size_t> order;   ///< the records by their begins, each before those that lie within it
  std::vector<std::size_t> parent;  ///< the innermost record around it; `none` if there is none
  std::vector<int> depth;           ///< the number of records around it
  std::vector<std::int64_t> self;   ///< nanoseconds without those of the records directly within it
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

/// Nanoseconds of a record. They are none if a clock has stepped back.
inline std::int64_t duration(const record& r) { return std::max<std::int64_t>(0, r.end - r.begin); }

/// The nesting of a track, whose records may be in any order. Of two equal ones the later one contains the other, because a
/// record is written when it ends. A record that only overlaps an earlier one takes from it the time that both share.
inline nesting nesting_of(const track& t) {
  const std::size_t n = t.records.size();
  nesting all{std::vector<std::size_t>(n), std::vector<std::size_t>(n, nesting::none), std::vector<int>(n),
              std::vector<std::int64_t>(n)};
  std::iota(all.order.begin(), all.order.end(), std::size_t{0});
  std::sort(all.order.begin(), all.order.end(), [&](std::size_t a, std::size_t b) {
    const record &x = t.records[a], &y = t.records[b];
    return std::tuple(x.begin, -duration(x), b) < std::tuple(y.begin, -duration(y), a);
  });
  std::vector<std::size_t> around;  // the records that have begun and not ended, the innermost last
  for (const std::size_t i : all.order) {
    const record& r = t.records[i];
    while (!around.empty() && t.records[around.back()].end <= r.begin) around.pop_back();
    all.self[i] += duration(r);
    all.depth[i] = static_cast<int>(around.size());
    if (!around.empty()) {
      all.parent[i] = around.back();
      all.self[around.back()] -= std::max<std::int64_t>(0, std::min(r.end, t.records[around.back()].end) - r.begin);
    }
    if (r.end > r.begin) around.push_back(i);
  }
  return all;
}

}  // namespace tokamax::profile
