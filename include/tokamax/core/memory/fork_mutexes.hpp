// tokamax/core/memory/fork_mutexes.hpp: mutexes that a child made by fork() finds free, and what they guard whole.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (only functions that are compiled once use it)
// tested by tests/runtime/traced_program.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <array>    // array
#include <cstdint>  // uintptr_t
#include <mutex>    // mutex

#if defined(__unix__) || defined(__APPLE__)
  #include <pthread.h>  // pthread_atfork
#endif

namespace tokamax {

/// The mutexes of program tables and of the buffer pool. fork() waits until nobody holds one of them, so that the child
/// finds them free. They must protect short sections only, which wait for nothing else. A section of a program table may
/// use the pool, and not the other way round.
class fork_mutexes {
 public:
  /// The mutex for the tables of `owner`. Other owners may have the same one.
  static std::mutex& of(const void* owner) {
    return all().tables_[reinterpret_cast<std::uintptr_t>(owner) / 64 % tables];
  }
  static std::mutex& of_pool() { return all().pool_; }

 private:
  static constexpr std::size_t tables = 16;

  static fork_mutexes& all() {
    static fork_mutexes& one = *make();
    return one;
  }
  static fork_mutexes* make() {
    static fork_mutexes* one;  // never destroyed: programs may run until the process ends
    one = new fork_mutexes;
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork([] { one->lock(); }, [] { one->unlock(); }, [] { one->unlock(); });
#endif
    return one;
  }
  void lock() {
    for (std::mutex& m : tables_) m.lock();
    pool_.lock();
  }
  void unlock() {
    pool_.unlock();
    for (std::mutex& m : tables_) m.unlock();
  }

  std::array<std::mutex, tables> tables_;
  std::mutex pool_;
};

}  // namespace tokamax
