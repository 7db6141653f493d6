// tokamax/backend/cuda/put_memory.hpp: memory of a GPU for arrays that come from the host, which is used in turn.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/instance.cpp
#pragma once

#include <tokamax/backend/cuda/driver.hpp>  // driver

#include <algorithm>  // count_if, find_if
#include <deque>      // deque
#include <mutex>      // lock_guard
#include <new>        // bad_alloc

namespace tokamax::cuda_backend {

/// A pipeline puts arrays of the same sizes again and again, while the GPU works on earlier ones. The driver's pool would give
/// the newest array the place of one that the GPU is still reading, and let the copy wait for that. Here at least two places of
/// a size are used in turn, the one that was released first. So copies overlap with kernels, and a program is given few sets
/// of addresses, for which its launches are recorded.
class put_memory {
 public:
  struct place {
    device_pointer at = 0;
    std::size_t bytes = 0;
    driver_event released = nullptr;  ///< the GPU has done what read it
  };
  explicit put_memory(const driver& d) : driver_(d) {}
  put_memory(const put_memory&) = delete;

  /// A place that the stream `copier` may write.
  /// errors  std::bad_alloc; tokamax::error that names the call
  place take(std::size_t bytes, stream copier) {
    {
      const std::lock_guard lock(mutex_);
      const auto fits = [&](const place& p) { return p.bytes == bytes; };
      const auto first = std::find_if(idle_.begin(), idle_.end(), fits);
      if (first != idle_.end() &&
          (std::count_if(first, idle_.end(), fits) > 1 || driver_.query_event(first->released) == driver_success)) {
        const place found = *first;
        driver_.check(driver_.wait_event(copier, found.released, 0), "wait for an event");
        idle_.erase(first);
        idle_bytes_ -= bytes;
        return found;
      }
    }
    place made{.bytes = bytes};
    driver_.check(driver_.create_event(&made.released, event_without_time), "event");
    const int result = driver_.allocate(&made.at, bytes + 64, copier);  // kernels may read a vector behind the end
    if (result == driver_success) return made;
    driver_.destroy_event(made.released);
    if (result != 2) driver_.check(result, "allocation of", (std::to_string(bytes) + " bytes").c_str());
    throw std::bad_alloc();
  }
  /// Takes a place back, which is free when the stream `worker` has done its work until now.
  void give(const place& p, stream worker) noexcept {
    const std::lock_guard lock(mutex_);
    if (driver_.record_event(p.released, worker) != driver_success) return release(p, worker);
    idle_.push_back(p);
    idle_bytes_ += p.bytes;
    while (idle_.size() > most || idle_bytes_ > most_bytes) release_first(worker);
  }
  /// Gives all idle places back to the driver.
  void trim(stream worker) noexcept {
    const std::lock_guard lock(mutex_);
    while (!idle_.empty()) release_first(worker);
  }

 private:
  static constexpr std::size_t most = 32, most_bytes = std::size_t{1} << 28;
  void release_first(stream worker) noexcept {
    idle_bytes_ -= idle_.front().bytes;
    release(idle_.front(), worker);
    idle_.pop_front();
  }
  void release(const place& p, stream worker) noexcept {
    driver_.release(p.at, worker);
    driver_.destroy_event(p.released);
  }

  const driver& driver_;
  std::mutex mutex_;
  std::deque<place> idle_;  // those that were released first are first
  std::size_t idle_bytes_ = 0;
};

}  // namespace tokamax::cuda_backend
