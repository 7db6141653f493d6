// tokamax/backend/cuda/run/put_memory.hpp: memory of a GPU for arrays that come from the host, which is used in turn.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/run/staging.cpp
#pragma once

#include <tokamax/backend/cuda/driver/driver.hpp>  // driver

#include <algorithm>  // count_if, find_if
#include <deque>      // deque
#include <mutex>      // lock_guard
#include <optional>   // optional

namespace tokamax::cuda_backend {

/// A pipeline puts arrays of the same sizes again and again, while the GPU works on earlier ones. The driver's pool would give
/// the newest array the memory of one that the GPU is still reading, and let the copy wait for that. Here a few places of a
/// size are used in turn, the one that was released first. So copies overlap with kernels, and a program is given few sets of
/// addresses, for which its launches are recorded.
class put_memory {
 public:
  struct place {
    device_pointer at = 0;
    std::size_t bytes = 0;
    driver_event released = nullptr;  ///< the GPU has done what read it; null if it is new
  };
  explicit put_memory(const driver& d) : driver_(d) {}
  put_memory(const put_memory&) = delete;

  /// A place that the stream `copier` may write; nothing if there should be a new one.
  /// errors  tokamax::error that names the call
  std::optional<place> take(std::size_t bytes, stream copier) {
    const std::lock_guard lock(mutex_);
    const auto fits = [&](const place& p) { return p.bytes == bytes; };
    const auto first = std::find_if(idle_.begin(), idle_.end(), fits);
    if (first == idle_.end()) return {};
    if (driver_.query_event(first->released) != driver_success) {
      if (std::count_if(first, idle_.end(), fits) < in_turn) return {};
      driver_.check(driver_.wait_event(copier, first->released, 0), "wait for an event");
    }
    const place found = *first;
    idle_.erase(first);
    idle_bytes_ -= bytes;
    return found;
  }
  /// Takes a place back, which is free when the stream `worker` has done its work until now.
  void give(place p, stream worker) noexcept {
    const bool fits = p.bytes <= most_bytes;
    const bool timed = p.released || (fits && driver_.create_event(&p.released, event_without_time) == driver_success);
    if (!fits || !timed || driver_.record_event(p.released, worker) != driver_success) return release(p, worker);
    const std::lock_guard lock(mutex_);
    idle_.push_back(p);
    idle_bytes_ += p.bytes;
    while (idle_.size() > most || idle_bytes_ > most_bytes) release_first(worker);
  }
  /// Gives all idle places back to the driver. False if there are none.
  bool trim(stream worker) noexcept {
    const std::lock_guard lock(mutex_);
    const bool any = !idle_.empty();
    while (!idle_.empty()) release_first(worker);
    return any;
  }

 private:
  static constexpr int in_turn = 4;  // of a size, where the GPU has not done with the first
  static constexpr std::size_t most = 32, most_bytes = std::size_t{1} << 28;
  void release_first(stream worker) noexcept {
    const place first = idle_.front();
    idle_.pop_front();
    idle_bytes_ -= first.bytes;
    driver_.wait_event(worker, first.released, 0);
    release(first, worker);
  }
  void release(const place& p, stream worker) noexcept {
    driver_.release(p.at, worker);
    if (p.released) driver_.destroy_event(p.released);
  }

  const driver& driver_;
  std::mutex mutex_;
  std::deque<place> idle_;  // those that were released first are first
  std::size_t idle_bytes_ = 0;
};

}  // namespace tokamax::cuda_backend
