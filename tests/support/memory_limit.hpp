// tests/support/memory_limit.hpp: a process that may not take all memory of its machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <fstream>

#include <sys/resource.h>
#include <unistd.h>

namespace tokamax::test {

/// Lets this process have `more` bytes of addresses above those it has, as long as this value lives. AddressSanitizer and
/// ThreadSanitizer reserve addresses without end, so that nothing is limited with them.
class memory_limit {
 public:
  explicit memory_limit([[maybe_unused]] std::size_t more) {
    getrlimit(RLIMIT_AS, &before_);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit lower = before_;
    lower.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more;
    setrlimit(RLIMIT_AS, &lower);
#endif
  }
  ~memory_limit() { setrlimit(RLIMIT_AS, &before_); }
  memory_limit(const memory_limit&) = delete;
  memory_limit& operator=(const memory_limit&) = delete;

 private:
  rlimit before_{};
};

}  // namespace tokamax::test
