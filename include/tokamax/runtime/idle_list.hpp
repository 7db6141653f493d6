// tokamax/runtime/idle_list.hpp: objects that one thread uses at a time, kept for the next one.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/dynamic_program.cpp
#pragma once

#include <tokamax/core/fork_mutexes.hpp>  // fork_mutexes

#include <atomic>   // atomic
#include <memory>   // unique_ptr
#include <mutex>    // lock_guard
#include <utility>  // exchange

namespace tokamax::detail {

/// Idle objects, linked by their member `next`. One lies ready without a lock; there are as many as were in use at once.
template <class T>
class idle_list {
 public:
  idle_list() = default;
  idle_list(const idle_list&) = delete;
  ~idle_list() { clear(); }

  /// An idle object, or null.
  std::unique_ptr<T> take() noexcept {
    if (T* const one = ready_.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<T>(one);
    if (more_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    const std::lock_guard lock(fork_mutexes::of(this));
    T* const one = more_.load(std::memory_order_relaxed);
    if (one) more_.store(std::exchange(one->next, nullptr), std::memory_order_relaxed);
    return std::unique_ptr<T>(one);
  }
  void give(std::unique_ptr<T> one) noexcept {
    T* none = nullptr;
    if (ready_.compare_exchange_strong(none, one.get(), std::memory_order_release, std::memory_order_relaxed)) {
      one.release();
      return;
    }
    const std::lock_guard lock(fork_mutexes::of(this));
    one->next = more_.load(std::memory_order_relaxed);
    more_.store(one.release(), std::memory_order_relaxed);
  }
  /// Destroys all idle objects.
  void clear() noexcept {
    while (take()) {}
  }

 private:
  std::atomic<T*> ready_{nullptr};
  std::atomic<T*> more_{nullptr};
};

}  // namespace tokamax::detail
