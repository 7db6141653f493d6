// tokamax/profile/session.hpp: records what all threads do, and marks of the user's own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/profile/recorder.hpp>  // recorder

namespace tokamax::profile {

struct session_options {
  /// The most memory for the records of one thread, of 32 bytes each. When it is full, the oldest ones give way, and are counted.
  std::size_t bytes = std::size_t{16} << 20;
};

/// Records the steps that programs run on all threads and queues, and the marks of the user, from its beginning to its end. A
/// record costs about 50 nanoseconds and takes neither a lock nor memory, so a session may stay open: what it has read last are
/// the latest records. Sessions may overlap; the first one says how much memory there is.
///
///   profile::session s;
///   train();
///   const profile::recording all = s.read();
class session {
 public:
  explicit session(const session_options& o = {}) : begin_(detail::recorder::instance().open(o.bytes)) {}
  session(const session&) = delete;
  ~session() { detail::recorder::instance().close(); }

  /// What has happened since the session began, or in the last `nanoseconds` of it. Waits for devices whose work is recorded.
  recording read() const { return detail::recorder::instance().read(begin_); }
  recording read_last(std::int64_t nanoseconds) const {
    detail::recorder& all = detail::recorder::instance();
    return all.read(std::max(begin_, all.now() - nanoseconds));
  }

 private:
  std::int64_t begin_;
};

/// Is a session open?
inline bool is_recording() { return observer_of_all.load(std::memory_order_relaxed) != nullptr; }

/// Marks work of the user's own, from its beginning to its end. It costs nothing while no session is open.
class span {
 public:
  explicit span(std::string_view name, mark_kind kind = mark_kind::span, double value = 0) {
    if (!is_recording()) return;
    detail::recorder& r = detail::recorder::instance();
    mark_ = {0, 0, 0, r.name(name, kind), value};
    mark_.begin = r.now();
  }
  span(const span&) = delete;
  ~span() {
    if (mark_.begin == 0 || !is_recording()) return;
    mark_.end = detail::recorder::instance().now();
    detail::recorder::instance().add(mark_);
  }

 private:
  record mark_;
};

/// Marks step `number` of training or serving, from its beginning to its end.
class step : public span {
 public:
  explicit step(std::int64_t number) : span("step", mark_kind::step, static_cast<double>(number)) {}
};

/// Records the value of a counter of the user's own, such as a loss or the length of a queue.
inline void counter(std::string_view name, double value) {
  if (!is_recording()) return;
  detail::recorder& r = detail::recorder::instance();
  const std::int64_t now = r.now();
  r.add({now, now, 0, r.name(name, mark_kind::counter), value});
}

}  // namespace tokamax::profile
