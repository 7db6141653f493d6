// tokamax/runtime/run/idle_list.hpp: objects that one thread uses at a time, and that are kept for the next one.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/program/traced_program.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#include <atomic>  // atomic
#include <memory>  // unique_ptr

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/core/memory/fork_mutexes.hpp>  // fork_mutexes

  #include <mutex>    // lock_guard
  #include <utility>  // exchange
#endif

namespace tokamax::detail {

/// The base of the objects of an idle_list.
struct idle {
  idle* next = nullptr;
};

/// A linked list of their addresses.
class idle_links {
 public:
  /// One of them, or null.
  idle* take() noexcept;
  void give(idle* one) noexcept;

 private:
  std::atomic<idle*> ready_{nullptr};
  std::atomic<idle*> more_{nullptr};
};

/// Idle objects. One of them can be taken without a lock. There are as many as have been in use at once.
template <class T>
class idle_list {
 public:
  idle_list() = default;
  idle_list(const idle_list&) = delete;
  ~idle_list() { clear(); }

  /// An idle object, or null.
  std::unique_ptr<T> take() noexcept { return std::unique_ptr<T>(static_cast<T*>(links_.take())); }
  void give(std::unique_ptr<T> one) noexcept { links_.give(one.release()); }
  /// Destroys all idle objects.
  void clear() noexcept {
    while (take()) {}
  }

 private:
  idle_links links_;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE idle* idle_links::take() noexcept {
  if (idle* const one = ready_.exchange(nullptr, std::memory_order_acquire)) return one;
  if (more_.load(std::memory_order_relaxed) == nullptr) return nullptr;
  const std::lock_guard lock(fork_mutexes::of(this));
  idle* const one = more_.load(std::memory_order_relaxed);
  if (one) more_.store(std::exchange(one->next, nullptr), std::memory_order_relaxed);
  return one;
}
TOKAMAX_COMPILED_ONCE void idle_links::give(idle* one) noexcept {
  idle* none = nullptr;
  if (ready_.compare_exchange_strong(none, one, std::memory_order_release, std::memory_order_relaxed)) return;
  const std::lock_guard lock(fork_mutexes::of(this));
  one->next = more_.load(std::memory_order_relaxed);
  more_.store(one, std::memory_order_relaxed);
}
#endif

}  // namespace tokamax::detail
