// tokamax/backend/cuda/run/done_event.hpp: the end of some work of a GPU.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/run/instance.cpp
#pragma once

#include <tokamax/backend/cuda/run/instance_type.hpp>  // instance

#include <atomic>  // atomic

namespace tokamax::cuda_backend {

/// The end of some work: an event of the driver behind it in the stream.
class done_event final : public event {
 public:
  done_event(const instance& where, stream of, const char* step)
      : where_(where), step_(step), is_ordered_(of == where.stream_) {
    where.driver_.check(where.driver_.create_event(&event_, event_without_time), "event");
    if (const int result = where.driver_.record_event(event_, of)) {
      where.driver_.destroy_event(event_);
      where.driver_.check(result, "event");
    }
  }
  ~done_event() override { where_.driver_.destroy_event(event_); }
  void wait() override {
    where_.use();
    if (const int result = where_.driver_.synchronize_event(event_)) where_.fail(result, step_);
  }
  /// The stream of a device keeps the order of its own work, and waits for a copy once. The stream of another GPU waits for this
  /// one's work.
  void precede(device& next) override {
    if (&next == &where_) {
      if (is_ordered()) return;
      precede(where_, where_.stream_);
      return is_ordered_.store(true, std::memory_order_release);
    }
    auto* const other = dynamic_cast<const instance*>(&next);
    if (!other || &other->driver_ != &where_.driver_) return wait();
    precede(*other, other->stream_);
  }
  /// Makes a stream of a GPU wait for this.
  void precede(const instance& next, stream s) {
    next.use();
    if (const int result = where_.driver_.wait_event(s, event_, 0)) where_.fail(result, step_);
  }
  /// Does what the device's stream is given from now on come after this?
  bool is_ordered() const noexcept { return is_ordered_.load(std::memory_order_acquire); }
  bool is_done() const noexcept override { return where_.driver_.query_event(event_) != driver_not_ready; }

 private:
  const instance& where_;
  driver_event event_ = nullptr;
  std::string step_;
  std::atomic<bool> is_ordered_;
};

}  // namespace tokamax::cuda_backend
