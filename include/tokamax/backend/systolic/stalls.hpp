// tokamax/backend/systolic/stalls.hpp: what a core did in each cycle: buckets that add up to all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/product_cost.hpp>  // product_cycles

#include <algorithm>    // sort
#include <array>        // array
#include <string_view>  // string_view
#include <vector>       // vector

namespace tokamax::systolic_backend {

/// What the cycles of a core are counted as. The first is the work that was asked for; the others are what it was lost to.
enum class bucket {
  useful,      ///< the arrays multiply what was asked for
  padding,     ///< the arrays multiply zeros, or some of them nothing
  fill,        ///< the arrays fill and drain
  weights,     ///< the arrays wait for the weights of the next tile
  swap,        ///< the arrays change weights
  accumulate,  ///< the arrays wait for the vector unit to add tiles of K
  vector,      ///< only vector units work
  scalar,      ///< only the scalar unit works: the cost of a grid step
  read,        ///< nothing works, and data is on its way into VMEM
  write,       ///< nothing works, and data is on its way out of VMEM
  link,        ///< nothing works, and data is on its way from or to another chip
  idle         ///< nothing happens: the core has no work, or waits for another one
};
inline constexpr int buckets = 12;
constexpr std::string_view name_of(bucket b) {
  constexpr std::string_view names[] = {"useful", "padding", "fill", "weights", "swap", "accumulate",
                                        "vector", "scalar",  "read", "write",   "link", "idle"};
  return names[static_cast<int>(b)];
}

/// Cycles by bucket. They add up to the cycles of the run.
struct stall_cycles {
  std::array<double, buckets> cycles{};

  double operator[](bucket b) const { return cycles[static_cast<std::size_t>(b)]; }
  double& operator[](bucket b) { return cycles[static_cast<std::size_t>(b)]; }
  double total() const {
    double sum = 0;
    for (const double c : cycles) sum += c;
    return sum;
  }
  /// The bucket that lost the most cycles.
  bucket worst() const {
    bucket most = bucket::padding;
    for (int b = 1; b < buckets; ++b)
      if (cycles[static_cast<std::size_t>(b)] > (*this)[most]) most = static_cast<bucket>(b);
    return most;
  }
};

namespace detail {

/// What happens at the same time counts as the first of these.
enum activity : unsigned char { arrays, vectors, scalars, reads, writes, messages, activities };

/// A time at which an activity begins (+1) or ends (-1).
struct edge {
  double time;
  activity what;
  signed char change;
};

/// The cycles in which each activity is the first one that happens, and in the last place those in which none does.
inline std::array<double, activities + 1> first_activities(std::vector<edge>& edges, double end) {
  std::ranges::sort(edges, {}, &edge::time);
  std::array<double, activities + 1> sums{};
  std::array<int, activities> running{};
  double now = 0;
  for (std::size_t i = 0; i <= edges.size(); ++i) {
    const double until = i < edges.size() ? edges[i].time : end;
    std::size_t first = 0;
    while (first < activities && running[first] == 0) ++first;
    sums[first] += until - now;
    now = until;
    if (i < edges.size()) running[edges[i].what] += edges[i].change;
  }
  return sums;
}

/// Divides the cycles of the arrays as their products say. Where products overlap, their losses do.
inline void divide_products(stall_cycles& s, const product_cycles& sum, double covered) {
  const double lost = sum.total() - sum.useful;
  const double share = lost > 0 ? std::max(0.0, covered - sum.useful) / lost : 0;
  s[bucket::useful] = std::min(sum.useful, covered);
  s[bucket::padding] = sum.padding * share;
  s[bucket::fill] = sum.fill * share;
  s[bucket::weights] = sum.weights * share;
  s[bucket::swap] = sum.swap * share;
  s[bucket::accumulate] = sum.accumulate * share;
}

}  // namespace detail

}  // namespace tokamax::systolic_backend
