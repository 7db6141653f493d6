// tokamax/profile/files/trace_json.hpp: a recording as trace events, which Perfetto and chrome://tracing open.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/files/traces.cpp
#pragma once

#include <tokamax/profile/analysis/activity.hpp>  // name_of
#include <tokamax/profile/analysis/nesting.hpp>   // duration
#include <tokamax/profile/json_string.hpp>        // json_string

#include <fmt/format.h>  // format_to

#include <cmath>     // isfinite
#include <cstddef>   // size_t
#include <iterator>  // back_inserter
#include <string>    // string
#include <utility>   // exchange

namespace tokamax::profile {

/// A number as JSON has it, where infinity and NaN are null.
inline std::string json_number(double v) { return std::isfinite(v) ? fmt::format("{}", v) : "null"; }

/// The text of a trace file: tracks as threads, steps and spans as complete events, counters as counters.
/// source  the Trace Event Format: "ph" is X, C or M, times are microseconds
inline std::string to_trace_json(const recording& all) {
  std::string s = R"({"displayTimeUnit": "ms", "traceEvents": [)";
  const char* separator = "\n";
  const auto out = std::back_inserter(s);
  for (std::size_t i = 0; i < all.tracks.size(); ++i) {
    const track& t = all.tracks[i];
    fmt::format_to(out, R"({}{{"ph": "M", "pid": 1, "tid": {}, "name": "thread_name", "args": {{"name": {}}}}})",
                   std::exchange(separator, ",\n"), i + 1, json_string(t.name));
    for (const record& r : t.records) {
      const event* e = all.work(r);
      const mark_name* m = all.mark(r);
      const std::string name = json_string(name_of(all, r));
      const double from = static_cast<double>(r.begin - all.begin) / 1e3;
      if (m && m->kind == mark_kind::counter) {
        fmt::format_to(out,
                       R"({}{{"ph": "C", "pid": 1, "tid": {}, "name": {}, "ts": {:.3f}, "args": {{"value": {}}}}})",
                       separator, i + 1, name, from, json_number(r.value));
        continue;
      }
      fmt::format_to(out, R"({}{{"ph": "X", "pid": 1, "tid": {}, "name": {}, "ts": {:.3f}, "dur": {:.3f})", separator,
                     i + 1, name, from, static_cast<double>(duration(r)) / 1e3);
      if (e)
        fmt::format_to(out, R"(, "args": {{"flops": {}, "bytes": {}, "scope": {}}})",
                       json_number(e->flops + e->bfloat16_flops), json_number(e->bytes), json_string(e->scope));
      else if (m && m->kind == mark_kind::step)
        fmt::format_to(out, R"(, "args": {{"step": {}}})", json_number(r.value));
      s += '}';
    }
  }
  s += "\n]}\n";
  return s;
}

}  // namespace tokamax::profile
