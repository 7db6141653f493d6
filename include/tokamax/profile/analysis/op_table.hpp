// tokamax/profile/analysis/op_table.hpp: the steps of programs by what they did: times, work and the limit that bounds them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/analysis/activity.hpp>  // kind_of
#include <tokamax/profile/analysis/nesting.hpp>   // nesting_of
#include <tokamax/profile/roofline.hpp>           // roofline

#include <algorithm>  // stable_sort
#include <cmath>      // isfinite
#include <cstddef>    // size_t
#include <map>        // map
#include <string>     // string
#include <utility>    // move
#include <vector>     // vector

namespace tokamax::profile {

/// By what the rows of a table are told apart.
enum class group_by : std::uint8_t {
  op,     ///< the whole name, with dtypes and extents
  kind,   ///< the first word of the name
  scope,  ///< the part of the program
  place,  ///< the source line
  track   ///< the thread or device
};

/// All steps of a group. Times are in nanoseconds.
struct op_row {
  std::string name;
  event work;                     ///< the sums of flops, bytes and transcendentals
  std::int64_t count = 0;         ///< of runs
  std::int64_t total = 0;         ///< with the steps inside; a group within itself counts once
  std::int64_t self = 0;          ///< without the steps inside
  double share = 0;               ///< of the table's self time
  double cumulative = 0;          ///< this share and those of the rows above
  double best = 0;                ///< the shortest possible time, by the limits of the machine
  double roof = 0;                ///< best / self: at 1 the machine cannot do this work faster
  const char* bound_by = "none";  ///< "compute" or "memory"; "none" without work

  double flops_per_second() const { return self > 0 ? (work.flops + work.bfloat16_flops) * 1e9 / double(self) : 0; }
  double bytes_per_second() const { return self > 0 ? work.bytes * 1e9 / double(self) : 0; }
  /// Operations for each byte: on which side of the ridge of a roofline the work lies.
  double intensity() const { return work.bytes > 0 ? (work.flops + work.bfloat16_flops) / work.bytes : 0; }
};

/// "compute" if arithmetic takes at least as long as memory traffic by the limits of the machine, otherwise "memory"; "none" where
/// there is no work, or where nobody knows the limits (they are infinite).
inline const char* bound_of(const event& work, const roofline& limits) {
  if (work.flops + work.bfloat16_flops + work.bytes <= 0 || !std::isfinite(limits.bytes)) return "none";
  event arithmetic = work;
  arithmetic.bytes = 0;
  return limits.bound(arithmetic) * limits.bytes >= work.bytes ? "compute" : "memory";
}

namespace detail {
inline std::string key_of(const recording& all, const track& t, const record& r, const event& e, group_by by) {
  if (by == group_by::kind) return std::string(kind_of(e.name));
  if (by == group_by::scope) return e.scope;
  if (by == group_by::track) return t.name;
  if (by == group_by::op) return e.name;
  const std::vector<std::string>& places = all.tables.at(r.table)->places;
  return r.step < places.size() ? places[r.step] : std::string();
}
}  // namespace detail

/// The rows of a recording, the longest self time first, and equal times by name. Steps that contain others have the time of their
/// own bookkeeping only, and no work.
inline std::vector<op_row> op_table(const recording& all, const roofline& limits, group_by by = group_by::op) {
  struct open_row {
    op_row row{};
    int open = 0;  // steps of the group that have begun and not ended
  };
  std::map<std::string, open_row> rows;
  for (const track& t : all.tracks) {
    const nesting n = nesting_of(t);
    std::vector<open_row*> around;  // of the records around the next one
    for (const std::size_t i : n.order) {
      for (; around.size() > static_cast<std::size_t>(n.depth[i]); around.pop_back())
        if (around.back()) --around.back()->open;
      const record& r = t.records[i];
      const event* e = all.work(r);
      around.push_back(nullptr);
      if (!e) continue;
      const std::string key = detail::key_of(all, t, r, *e, by);
      open_row& group = rows[key];
      around.back() = &group;
      op_row& o = group.row;
      o.name = key;
      if (!e->outer) detail::add_to(o.work, *e);
      o.count += 1;
      o.self += n.self[i];
      if (group.open++ == 0) o.total += duration(r);
    }
    for (open_row* group : around)
      if (group) --group->open;
  }
  std::vector<op_row> sorted;
  double all_self = 0;
  for (auto& [key, group] : rows) {
    all_self += static_cast<double>(group.row.self);
    sorted.push_back(std::move(group.row));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const op_row& a, const op_row& b) { return a.self > b.self; });
  double above = 0;
  for (op_row& o : sorted) {
    const double self = static_cast<double>(o.self);
    o.share = all_self > 0 ? self / all_self : 0;
    o.cumulative = above += o.share;
    o.best = 1e9 * limits.bound(o.work);
    o.roof = self > 0 ? o.best / self : 0;
    o.bound_by = bound_of(o.work, limits);
  }
  return sorted;
}

}  // namespace tokamax::profile
