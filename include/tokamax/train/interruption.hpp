// tokamax/train/interruption.hpp: SIGINT and SIGTERM as a question that a loop asks between two steps.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/train/run_folder.cpp
// umbrella: no (what a run prints and writes; programs that do so include this header)
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <atomic>   // atomic
#include <csignal>  // sigaction

namespace tokamax::train {

/// During its lifetime the first SIGINT or SIGTERM is only noted, and the second one ends the process as usual. Signals
/// that the process ignores stay ignored. Only one object may exist at a time.
class interruption {
 public:
  interruption() {
    noted = 0;
    take(SIGINT, old_int_);
    take(SIGTERM, old_term_);
  }
  interruption(const interruption&) = delete;
  ~interruption() {
    ::sigaction(SIGINT, &old_int_, nullptr);
    ::sigaction(SIGTERM, &old_term_, nullptr);
  }
  /// The number of the signal that was noted, or 0.
  int signal() const { return noted; }

 private:
  static inline std::atomic<int> noted = 0;
  static_assert(std::atomic<int>::is_always_lock_free);

  static void take(int number, struct sigaction& old) {
    ::sigaction(number, nullptr, &old);
    if (old.sa_handler == SIG_IGN) return;
    struct sigaction action{};
    action.sa_handler = [](int number_) { noted = number_; };
    action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
    ::sigaction(number, &action, nullptr);
  }

  struct sigaction old_int_{}, old_term_{};
};

}  // namespace tokamax::train
