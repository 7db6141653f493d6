// tokamax/profile/timeline.hpp: records what the programs of a thread do and when.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>     // error
#include <tokamax/profile/event.hpp>  // observer

#include <chrono>      // steady_clock
#include <filesystem>  // path
#include <fstream>     // ofstream
#include <utility>     // exchange
#include <vector>      // vector

namespace tokamax::profile {

/// Records the programs that this thread runs, compiled or eager, during its own lifetime. Only the innermost recording
/// receives events.
class timeline final : public observer {
 public:
  timeline() : before_(std::exchange(current_observer, this)) {}
  ~timeline() override { current_observer = before_; }
  timeline(const timeline&) = delete;

  const std::vector<event>& events() const { return events_; }
  std::int64_t now() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  void record(event e) override { events_.push_back(std::move(e)); }

 private:
  std::vector<event> events_;
  observer* before_;
};

/// Writes a recording as a file of trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
///
/// errors  tokamax::error for a file that cannot be written
/// source  the Trace Event Format: complete events ("ph": "X"), times in microseconds
inline void write_trace(const std::vector<event>& events, const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.precision(15);
  out << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  const std::int64_t start = events.empty() ? 0 : events.front().begin;
  const char* separator = "\n";
  for (const event& e : events) {
    out << std::exchange(separator, ",\n") << R"({"ph": "X", "pid": 1, "tid": 1, "name": ")" << e.name << R"(", "ts": )"
        << static_cast<double>(e.begin - start) / 1e3 << ", \"dur\": " << static_cast<double>(e.duration) / 1e3
        << R"(, "args": {"flops": )" << e.flops + e.bfloat16_flops << ", \"transcendentals\": " << e.transcendentals
        << ", \"bytes\": " << e.bytes;
    if (!e.scope.empty()) out << R"(, "scope": ")" << e.scope << '"';
    out << "}}";
  }
  out << "\n]}\n" << std::flush;
  if (!out) throw error("profile", "a file that cannot be written", "a writable file", file.string());
}

}  // namespace tokamax::profile
