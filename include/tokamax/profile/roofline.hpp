// tokamax/profile/roofline.hpp: the limits of a machine, and how near to them a recording came.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/event.hpp>  // event

#include <fmt/format.h>  // format

#include <algorithm>  // max, sort
#include <iterator>   // back_inserter
#include <map>        // map
#include <vector>     // vector

namespace tokamax::profile {

/// The measured limits of a machine, in operations and bytes a second.
struct roofline {
  double flops = 0, bfloat16_flops = 0, bytes = 0;

  /// The shortest time for some work, in seconds. Arithmetic and memory traffic can overlap, and two kinds of arithmetic
  /// cannot:
  ///
  ///   max(flops / peak + bfloat16_flops / bfloat16 peak, bytes / bandwidth)
  double bound(const event& e) const {
    return std::max(e.flops / flops + e.bfloat16_flops / bfloat16_flops, e.bytes / bytes);
  }
};

namespace detail {
inline void add_to(event& sum, const event& e) {
  sum.duration += e.duration;
  sum.flops += e.flops;
  sum.bfloat16_flops += e.bfloat16_flops;
  sum.bytes += e.bytes;
  sum.transcendentals += e.transcendentals;
}
inline std::string row(const event& e, std::int64_t calls, double all_seconds, const roofline& limits) {
  const double seconds = static_cast<double>(e.duration) * 1e-9;
  return fmt::format("{:>9.3f} {:>5.1f}% {:>6} {:>9.1f} {:>7.1f} {:>6.0f}%  {}\n", seconds * 1e3,
                     100 * seconds / all_seconds, calls, (e.flops + e.bfloat16_flops) / seconds * 1e-9,
                     e.bytes / seconds * 1e-9, 100 * limits.bound(e) / seconds, e.name);
}
}  // namespace detail

/// A recording as a table of `lines` lines. Equal steps share a line, and the longest come first. The column before the
/// name is the shortest possible time divided by the measured one: at 100 % the machine cannot do this work faster.
inline std::string to_text(const std::vector<event>& events, const roofline& limits, std::size_t lines = 24) {
  std::map<std::string, std::pair<event, std::int64_t>> by_name;
  event all;
  std::int64_t count = 0;
  double bound = 0;
  for (const event& e : events) {
    if (e.outer) continue;
    auto& [sum, calls] = by_name[e.name];
    sum.name = e.name;
    detail::add_to(sum, e);
    detail::add_to(all, e);
    bound += limits.bound(e);
    ++calls;
    ++count;
  }
  if (count == 0) return "no steps were recorded\n";
  std::vector<std::pair<event, std::int64_t>> rows;
  for (auto& [name, sum] : by_name) rows.push_back(sum);
  std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.first.duration > b.first.duration; });
  const double seconds = std::max(1e-9, static_cast<double>(all.duration) * 1e-9);
  std::string s =
      fmt::format("{:>9} {:>6} {:>6} {:>9} {:>7} {:>7}\n", "ms", "share", "calls", "GFLOP/s", "GB/s", "roof");
  event rest;
  std::int64_t rest_calls = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i < lines) {
      s += detail::row(rows[i].first, rows[i].second, seconds, limits);
    } else {
      detail::add_to(rest, rows[i].first);
      rest_calls += rows[i].second;
    }
  }
  rest.name = "others";
  if (rest_calls > 0) s += detail::row(rest, rest_calls, seconds, limits);
  all.name = "all";
  s += detail::row(all, count, seconds, limits);
  fmt::format_to(std::back_inserter(s),
                 "at best {:.3f} ms, by {:.0f} GFLOP/s ({:.0f} of bfloat16) and {:.1f} GB/s, measured here\n",
                 bound * 1e3, limits.flops * 1e-9, limits.bfloat16_flops * 1e-9, limits.bytes * 1e-9);
  return s;
}

}  // namespace tokamax::profile
