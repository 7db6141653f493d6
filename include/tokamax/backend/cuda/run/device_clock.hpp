// tokamax/backend/cuda/run/device_clock.hpp: the times of a GPU's work by its own clock, as times of the host.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/run/device_clock.cpp
#pragma once

#include <tokamax/backend/cuda/driver/driver.hpp>  // driver
#include <tokamax/base/time_mark.hpp>              // time_mark

#include <algorithm>  // min
#include <chrono>     // steady_clock
#include <memory>     // shared_ptr
#include <mutex>      // lock_guard

namespace tokamax::cuda_backend {

namespace detail {
/// An event of the driver that has the time at which the GPU came to it.
class timed_event {
 public:
  timed_event(const driver& d, context c, stream s) : driver_(d), context_(c) {
    driver_.check(driver_.set_context(context_), "context");
    driver_.check(driver_.create_event(&event_, event_with_time), "event");
    if (const int result = driver_.record_event(event_, s)) {
      driver_.destroy_event(event_);
      driver_.check(result, "event");
    }
  }
  timed_event(const timed_event&) = delete;
  ~timed_event() { driver_.destroy_event(event_); }
  void wait() const {
    driver_.check(driver_.set_context(context_), "context");
    driver_.check(driver_.synchronize_event(event_), "work before an event");
  }
  /// Nanoseconds; the driver counts in milliseconds as f32, in steps of about half a microsecond.
  std::int64_t since(const timed_event& earlier) const {
    wait();
    float ms = 0;
    driver_.check(driver_.elapsed(&ms, earlier.event_, event_), "time of an event");
    return static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
  }

 private:
  const driver& driver_;
  context context_;
  driver_event event_ = nullptr;
};
}  // namespace detail

/// Marks points in the work of a stream. The first mark, and one every ten seconds, waits until the GPU has done all earlier
/// work, so that the clock of the host can be read at the same time.
class device_clock {
 public:
  device_clock(const driver& d, context c) : driver_(d), context_(c) {}

  /// errors  tokamax::error that names the call of the driver
  std::shared_ptr<time_mark> mark(stream s) {
    const std::lock_guard lock(mutex_);
    if (!start_ || now() - start_->host > renewal) start_ = std::make_shared<start>(driver_, context_, s);
    return std::make_shared<point>(driver_, context_, s, start_);
  }

 private:
  static constexpr std::int64_t renewal = 10'000'000'000;  // later the steps of f32 would be longer than a microsecond
  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
  struct start {
    detail::timed_event event;
    std::int64_t host;
    /// The host wakes up some time after the event, and later on a busy machine. The least of several readings has the least of
    /// that.
    start(const driver& d, context c, stream s) : event(d, c, s), host((event.wait(), now())) {
      for (int i = 0; i < 7; ++i) {
        const detail::timed_event again(d, c, s);
        again.wait();
        const std::int64_t woken = now();
        host = std::min(host, woken - again.since(event));
      }
    }
  };
  class point final : public time_mark {
   public:
    point(const driver& d, context c, stream s, std::shared_ptr<const start> from)
        : event_(d, c, s), start_(std::move(from)) {}
    std::int64_t time() override { return start_->host + event_.since(start_->event); }
    std::int64_t since(time_mark& earlier) override { return event_.since(static_cast<point&>(earlier).event_); }

   private:
    detail::timed_event event_;
    std::shared_ptr<const start> start_;
  };

  const driver& driver_;
  context context_;
  std::mutex mutex_;
  std::shared_ptr<const start> start_;
};

}  // namespace tokamax::cuda_backend
