// tokamax/profile/analysis/step_breakdown.hpp: what each step of training or serving was spent on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/analysis/activity.hpp>   // activity, activity_of
#include <tokamax/profile/analysis/intervals.hpp>  // difference, union_of
#include <tokamax/profile/analysis/spread.hpp>     // spread_of

#include <algorithm>  // lower_bound, max, min
#include <array>      // array
#include <cmath>      // isfinite
#include <cstddef>    // size_t
#include <map>        // map
#include <set>        // set
#include <vector>     // vector

namespace tokamax::profile {

/// One step. The nanoseconds by activity add up to its length.
struct step_times {
  double number = 0;
  interval time;
  std::array<std::int64_t, activities> by{};

  std::int64_t length() const { return time.end - time.begin; }
  std::int64_t operator[](activity a) const { return by[static_cast<std::size_t>(a)]; }
};

/// The steps of a recording, in the order of their numbers.
struct step_breakdown {
  std::vector<step_times> steps;
  bool marked = false;  ///< false: nobody has marked steps, and the whole recording is one

  /// The sum over all steps; without an activity that of their lengths.
  std::int64_t total() const {
    return sum([](const step_times& s) { return s.length(); });
  }
  std::int64_t total(activity a) const {
    return sum([a](const step_times& s) { return s[a]; });
  }
  double share(activity a) const {
    const std::int64_t all = total();
    return all > 0 ? static_cast<double>(total(a)) / static_cast<double>(all) : 0;
  }
  /// Of the lengths of the steps, in nanoseconds.
  spread lengths() const {
    std::vector<double> x;
    for (const step_times& s : steps) x.push_back(static_cast<double>(s.length()));
    return spread_of(x);
  }
  spread times(activity a) const {
    std::vector<double> x;
    for (const step_times& s : steps) x.push_back(static_cast<double>(s[a]));
    return spread_of(x);
  }

 private:
  /// Steps may overlap, so that a sum may be longer than the recording. A double has it exactly up to a hundred days, and
  /// cannot overflow.
  template <class Time>
  std::int64_t sum(Time time) const {
    double all = 0;
    for (const step_times& s : steps) all += static_cast<double>(time(s));
    return static_cast<std::int64_t>(std::min(all, 0x1p62));
  }
};

/// The breakdown of a recording. Marks of one number on several threads or hosts are one step, from the first begin to the last
/// end. Programs and transfers count on all tracks; compiling, waits and spans only on those that mark the step, because a
/// thread that reads data ahead may wait as long as it likes.
inline step_breakdown breakdown_of(const recording& all) {
  std::map<double, interval> windows;
  std::set<const track*> marking;
  for (const track& t : all.tracks)
    for (const record& r : t.records) {
      const mark_name* m = all.mark(r);
      if (!m || m->kind != mark_kind::step || !std::isfinite(r.value)) continue;
      marking.insert(&t);
      const auto [at, added] = windows.try_emplace(r.value, interval{r.begin, std::max(r.begin, r.end)});
      at->second = {std::min(at->second.begin, r.begin), std::max(at->second.end, r.end)};
    }
  step_breakdown result;
  result.marked = !windows.empty();
  if (windows.empty() && all.end > all.begin) windows[0] = {all.begin, all.end};

  std::array<std::vector<interval>, activities> times;
  for (const track& t : all.tracks)
    for (const record& r : t.records)
      if (const auto a = activity_of(all, r))
        if (*a <= activity::transfer || !result.marked || marking.contains(&t))
          times[static_cast<std::size_t>(*a)].push_back({r.begin, r.end});
  std::vector<interval> taken;
  for (std::vector<interval>& t : times) {
    t = difference(union_of(std::move(t)), taken);
    taken.insert(taken.end(), t.begin(), t.end());
    taken = union_of(std::move(taken));
  }
  // Steps are short and many, so each looks only at the intervals that end after its begin.
  for (const auto& [number, window] : windows) {
    step_times s{number, window};
    std::int64_t rest = s.length();
    for (std::size_t a = 0; a < activities; ++a) {
      const auto ends_before = [](const interval& i, std::int64_t begin) { return i.end <= begin; };
      for (auto i = std::lower_bound(times[a].begin(), times[a].end(), window.begin, ends_before);
           i != times[a].end() && i->begin < window.end; ++i)
        s.by[a] += std::min(i->end, window.end) - std::max(i->begin, window.begin);
      rest -= s.by[a];
    }
    s.by[static_cast<std::size_t>(activity::idle)] = rest;
    result.steps.push_back(s);
  }
  return result;
}

}  // namespace tokamax::profile
