// tokamax/profile/analysis/intervals.hpp: sets of times as disjoint intervals.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <algorithm>  // max, min, sort
#include <cstddef>    // size_t
#include <cstdint>    // int64_t
#include <vector>     // vector

namespace tokamax::profile {

/// The times from `begin` up to `end`, in nanoseconds.
struct interval {
  std::int64_t begin = 0, end = 0;
  bool operator==(const interval&) const = default;
};

/// The times that are in any of `all`, as disjoint intervals in ascending order. Empty and reversed ones count for nothing, and
/// those that touch become one. The time that a device worked is the length of this union over its queues, neither the sum of
/// their times nor the time from the first to the last.
inline std::vector<interval> union_of(std::vector<interval> all) {
  std::erase_if(all, [](const interval& i) { return i.end <= i.begin; });
  std::sort(all.begin(), all.end(), [](const interval& a, const interval& b) { return a.begin < b.begin; });
  std::vector<interval> result;
  for (const interval& i : all) {
    if (result.empty() || i.begin > result.back().end)
      result.push_back(i);
    else
      result.back().end = std::max(result.back().end, i.end);
  }
  return result;
}

/// The sum of the lengths of disjoint intervals, in nanoseconds.
inline std::int64_t length(const std::vector<interval>& disjoint) {
  std::int64_t sum = 0;
  for (const interval& i : disjoint) sum += i.end - i.begin;
  return sum;
}

/// The times that are in both sets, which are disjoint and in ascending order each.
inline std::vector<interval> intersection(const std::vector<interval>& a, const std::vector<interval>& b) {
  std::vector<interval> result;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const interval both{std::max(a[i].begin, b[k].begin), std::min(a[i].end, b[k].end)};
    if (both.begin < both.end) result.push_back(both);
    if (a[i].end < b[k].end)
      ++i;
    else
      ++k;
  }
  return result;
}

/// The times of `a` that are not in `b`; both are disjoint and in ascending order.
inline std::vector<interval> difference(const std::vector<interval>& a, const std::vector<interval>& b) {
  std::vector<interval> result;
  std::size_t k = 0;
  for (interval rest : a) {
    while (k < b.size() && b[k].end <= rest.begin) ++k;
    for (std::size_t next = k; next < b.size() && b[next].begin < rest.end; ++next) {
      if (b[next].begin > rest.begin) result.push_back({rest.begin, b[next].begin});
      rest.begin = std::max(rest.begin, b[next].end);
    }
    if (rest.begin < rest.end) result.push_back(rest);
  }
  return result;
}

}  // namespace tokamax::profile
