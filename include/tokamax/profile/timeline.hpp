// tokamax/profile/timeline.hpp: records what the programs of a thread do and when.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>           // error
#include <tokamax/profile/event.hpp>        // observer
#include <tokamax/profile/json_string.hpp>  // json_string
#include <tokamax/profile/step_table.hpp>   // step_table

#include <algorithm>   // move, find
#include <chrono>      // steady_clock
#include <filesystem>  // path
#include <fstream>     // ofstream
#include <iterator>    // back_inserter
#include <mutex>       // lock_guard
#include <utility>     // exchange
#include <vector>      // vector

namespace tokamax::profile {

/// Records the programs that this thread runs, compiled or eager, during its own lifetime, and what other threads do for it
/// (see with_context). Only the innermost recording receives events. Steps of a device with a queue are recorded when the device runs them, so wait for their results
/// (`block_until_ready`) before you read the events. The times of a GPU's steps are those of its own clock.
class timeline final : public observer {
 public:
  timeline() = default;
  timeline(const timeline&) = delete;
  ~timeline() override { others_->end(); }

  /// What has been recorded, each device in the order of its work.
  const std::vector<event>& events() const {
    others_->move_to(events_);
    return events_;
  }
  std::int64_t now() const override { return nanoseconds(); }
  void record(const std::shared_ptr<const step_table>& program, int step, std::int64_t begin, std::int64_t end,
              std::shared_ptr<time_mark> from, std::shared_ptr<time_mark> until) override {
    events_.push_back(event_of(*program, step, begin, end, std::move(from), std::move(until)));
  }
  std::shared_ptr<observer> of_other_threads() const override { return others_; }

 private:
  static std::int64_t nanoseconds() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  static event event_of(const step_table& program, int step, std::int64_t begin, std::int64_t end,
                        std::shared_ptr<time_mark> from, std::shared_ptr<time_mark> until) {
    event e = program.steps[static_cast<std::size_t>(step)];
    e.begin = begin;
    e.duration = end - begin;
    e.from = std::move(from);
    e.until = std::move(until);
    return e;
  }
  /// Receives events from other threads. Work that ends after the recording still holds it.
  class shared_events final : public observer {
   public:
    std::int64_t now() const override { return nanoseconds(); }
    void record(const std::shared_ptr<const step_table>& program, int step, std::int64_t begin, std::int64_t end,
                std::shared_ptr<time_mark> from, std::shared_ptr<time_mark> until) override {
      const std::lock_guard lock(mutex_);
      if (!ended_) events_.push_back(event_of(*program, step, begin, end, std::move(from), std::move(until)));
    }
    void end() {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      events_ = {};
    }
    void move_to(std::vector<event>& all) {
      const std::lock_guard lock(mutex_);
      for (event& e : events_) e.settle();
      std::ranges::move(events_, std::back_inserter(all));
      events_.clear();
    }

   private:
    std::mutex mutex_;
    bool ended_ = false;
    std::vector<event> events_;
  };

  mutable std::vector<event> events_;
  std::shared_ptr<shared_events> others_ = std::make_shared<shared_events>();
  observed_scope scope_{this};
};

/// Writes a recording as a file of trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing open. Each device has
/// a track of its own.
///
/// errors  tokamax::error for a file that cannot be written
/// source  the Trace Event Format: complete events ("ph": "X"), times in microseconds
inline void write_trace(const std::vector<event>& events, const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.precision(15);
  out << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  const std::int64_t start = events.empty() ? 0 : events.front().begin;
  const char* separator = "\n";
  std::vector<std::string> tracks;
  for (const event& e : events) {
    const auto track = std::ranges::find(tracks, e.device) - tracks.begin();
    if (track == std::ssize(tracks)) {
      tracks.push_back(e.device);
      out << std::exchange(separator, ",\n") << R"({"ph": "M", "pid": 1, "tid": )" << track + 1
          << R"(, "name": "thread_name", "args": {"name": )" << json_string(e.device) << "}}";
    }
    out << std::exchange(separator, ",\n") << R"({"ph": "X", "pid": 1, "tid": )" << track + 1 << R"(, "name": )"
        << json_string(e.name) << R"(, "ts": )" << static_cast<double>(e.begin - start) / 1e3
        << ", \"dur\": " << static_cast<double>(e.duration) / 1e3 << R"(, "args": {"flops": )"
        << e.flops + e.bfloat16_flops << ", \"transcendentals\": " << e.transcendentals << ", \"bytes\": " << e.bytes;
    if (!e.scope.empty()) out << R"(, "scope": )" << json_string(e.scope);
    out << "}}";
  }
  out << "\n]}\n" << std::flush;
  if (!out) throw error(error_kind::file, "profile", "a file that cannot be written", "a writable file", file.string());
}

}  // namespace tokamax::profile
