// tokamax/backend/systolic/report/trace.hpp: a run as a trace for Perfetto, and as a picture.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/report/svg.hpp>  // svg
#include <tokamax/backend/systolic/simulate.hpp>    // timeline
#include <tokamax/profile/json_string.hpp>          // json_string

#include <fmt/format.h>  // format

#include <algorithm>  // max
#include <string>     // string
#include <vector>     // vector

namespace tokamax::systolic_backend {

namespace detail {

/// Tracks of a core: the units, with copies in and out apart.
inline constexpr int tracks = 8;
constexpr std::string_view track_name(int track) {
  constexpr std::string_view names[] = {"MXU", "VPU", "EUP", "XLU", "scalar", "copies in", "copies out", "ICI"};
  return names[track];
}
constexpr int track_of(const instruction& i) {
  if (i.on == unit::ici) return 7;
  if (i.on != unit::dma) return static_cast<int>(i.on);
  return i.to == memory::vmem || i.to == memory::cmem ? 5 : 6;
}
constexpr std::string_view track_colour(int track) {
  constexpr std::string_view colours[] = {"#4a90d9", "#6abf69", "#b5cf6b", "#c79fe0",
                                          "#999999", "#f2a65a", "#e5c07b", "#d77a7a"};
  return colours[track];
}
constexpr std::string_view bucket_colour(int bucket) {
  constexpr std::string_view colours[] = {"#4a90d9", "#b9d3ef", "#8899bb", "#a6b8d8", "#7a86a8", "#cfd8c0",
                                          "#6abf69", "#999999", "#f2a65a", "#e5c07b", "#d77a7a", "#eeeeee"};
  return colours[bucket];
}

}  // namespace detail

/// A run as trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing open: a process for each core, a track for
/// each unit, and a bar for each instruction with its grid step. A copy's bar is all of it, from its issue on.
///
/// source  the Trace Event Format: complete events ("ph": "X"), times in microseconds
inline std::string trace_json(const program& p, const timeline& t) {
  std::string s = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [";
  const char* separator = "\n";
  for (int core = 0; core < p.cores(); ++core)
    for (int track = 0; track < detail::tracks; ++track) {
      s += fmt::format(R"({}{{"ph": "M", "pid": {}, "tid": {}, "name": "thread_name", "args": {{"name": "{}"}}}})",
                       separator, core, track, detail::track_name(track));
      separator = ",\n";
    }
  for (std::size_t e = 0; e < t.spans.size(); ++e) {
    const instruction& i = p.instructions()[e];
    const span_of& x = t.spans[e];
    const double begin = i.on == unit::dma || i.on == unit::ici ? x.issue : x.begin;
    if (x.end <= begin) continue;  // marks that others wait for
    s += fmt::format(
        R"({}{{"ph": "X", "pid": {}, "tid": {}, "name": {}, "ts": {:.6f}, "dur": {:.6f}, "args": {{"step": {}, "cycles": {:.1f}}}}})",
        separator, i.core, detail::track_of(i), profile::json_string(p.name(i)), t.on.microseconds(begin),
        t.on.microseconds(x.end - begin), i.step, x.end - begin);
  }
  return s + "\n]}\n";
}

/// The cycles from `begin` to `end` of a core as a picture: a row for each unit that works, and under them the cycles of the
/// whole run by bucket. Bars name their grid step to readers who point at them.
inline std::string timeline_svg(const program& p, const timeline& t, int core = 0, double begin = 0, double end = 0) {
  if (end <= begin) end = std::max(1.0, t.cycles);
  constexpr double left = 70, width = 900, row = 18;
  std::vector<int> row_of(detail::tracks, -1);
  int rows = 0;
  for (int track = 0; track < detail::tracks; ++track)
    for (std::size_t e = 0; e < t.spans.size() && row_of[static_cast<std::size_t>(track)] < 0; ++e)
      if (p.instructions()[e].core == core && detail::track_of(p.instructions()[e]) == track &&
          t.spans[e].end > t.spans[e].begin)
        row_of[static_cast<std::size_t>(track)] = rows++;
  svg picture(left + width + 10, 70 + rows * row + 20);
  picture.words(10, 14,
                fmt::format("{}, core {}: cycles {:.0f} to {:.0f} of {:.0f}", t.on.name, core, begin, end, t.cycles));
  const auto x_of = [&](double cycle) {
    return left + width * (std::clamp(cycle, begin, end) - begin) / (end - begin);
  };
  for (int track = 0; track < detail::tracks; ++track)
    if (const int r = row_of[static_cast<std::size_t>(track)]; r >= 0)
      picture.words(10, 22 + (r + 0.7) * row, detail::track_name(track));
  for (std::size_t e = 0; e < t.spans.size(); ++e) {
    const instruction& i = p.instructions()[e];
    const span_of& s = t.spans[e];
    const double from = i.on == unit::dma || i.on == unit::ici ? s.issue : s.begin;
    if (i.core != core || s.end <= from || s.end <= begin || from >= end) continue;
    const int track = detail::track_of(i), r = row_of[static_cast<std::size_t>(track)];
    picture.rectangle(x_of(from), 22 + r * row, std::max(0.5, x_of(s.end) - x_of(from) - 0.5), row - 3,
                      detail::track_colour(track),
                      fmt::format("{} of step {}: {:.0f} to {:.0f}", p.name(i), i.step, from, s.end));
  }
  double x = left;
  const double top = 30 + rows * row;
  picture.words(10, top + 12, "all cycles");
  for (int b = 0; b < buckets; ++b) {
    const double share =
        t.cycles > 0 ? t.stalls[static_cast<std::size_t>(core)].cycles[static_cast<std::size_t>(b)] / t.cycles : 0;
    if (share <= 0) continue;
    const std::string name = fmt::format("{} {:.1f}%", name_of(static_cast<bucket>(b)), 100 * share);
    picture.rectangle(x, top, width * share, row - 3, detail::bucket_colour(b), name);
    if (share > 0.08) picture.words(x + 3, top + 12, name);
    x += width * share;
  }
  return picture.text();
}

}  // namespace tokamax::systolic_backend
