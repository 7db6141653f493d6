// tokamax/core/memory/fork_mutexes.hpp: mutexes that a child made by fork() finds free, and what they guard whole.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (headers that guard tables use it)
// tested by tests/runtime/program/traced_program.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#include <array>    // array
#include <atomic>   // atomic
#include <cstddef>  // size_t
#include <cstdint>  // uint64_t, uintptr_t
#include <mutex>    // mutex

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <chrono>  // microseconds
  #include <thread>  // yield, sleep_for
#endif
#if defined(__unix__) || defined(__APPLE__)
  #include <pthread.h>  // pthread_atfork
#endif

namespace tokamax {

/// A mutex for a few instructions. It costs less than std::mutex where threads seldom meet.
class short_mutex {
 public:
  void lock() noexcept {
    if (held_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  void wait() noexcept;
  std::atomic<bool> held_ = false;
};

/// The mutexes of program tables and of the buffer pool. fork() waits until nobody holds one of them, so that the child
/// finds them free. They must protect short sections only, which wait for nothing else. A section of a program table may
/// use the pool, and one of a part of the pool may use the whole, and not the other way round.
class fork_mutexes {
 public:
  /// The mutex for the tables of `owner`. Other owners may have the same one.
  static std::mutex& of(const void* owner) {
    return all().tables_[reinterpret_cast<std::uintptr_t>(owner) / 64 % tables];
  }
  static std::mutex& of_pool() { return all().pool_; }
  static short_mutex& of_pool_part(std::size_t k) { return all().parts_[k].mutex; }
  static constexpr std::size_t pool_parts = 16;
  /// How often the process was forked on the way to this one.
  static std::uint64_t forks() { return all().forks_; }

 private:
  static constexpr std::size_t tables = 64;

  static fork_mutexes& all() {
    static fork_mutexes& one = *make();
    return one;
  }
  static fork_mutexes* make() {
    static fork_mutexes* one;  // never destroyed: programs may run until the process ends
    one = new fork_mutexes;
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork([] { one->lock(); }, [] { one->unlock(); },
                   [] {
                     ++one->forks_;
                     one->unlock();
                   });
#endif
    return one;
  }
  void lock() {
    for (std::mutex& m : tables_) m.lock();
    for (part& p : parts_) p.mutex.lock();
    pool_.lock();
  }
  void unlock() {
    pool_.unlock();
    for (part& p : parts_) p.mutex.unlock();
    for (std::mutex& m : tables_) m.unlock();
  }

  struct alignas(64) part {
    short_mutex mutex;
  };
  std::array<std::mutex, tables> tables_;
  std::array<part, pool_parts> parts_;
  std::mutex pool_;
  std::uint64_t forks_ = 0;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void short_mutex::wait() noexcept {
  for (int tries = 0; held_.exchange(true, std::memory_order_acquire); ++tries)
    if (tries < 64)
      std::this_thread::yield();
    else  // the thread that holds it may have a lower priority
      std::this_thread::sleep_for(std::chrono::microseconds(50));
}
#endif

}  // namespace tokamax
