// tokamax/backend/cpu/gemm/choose/offered.hpp: the implementations of products that calls of dot_general may name.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/eigen/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/choose/implementation.hpp>  // gemm_implementation

#include <array>   // array
#include <atomic>  // atomic
#include <mutex>   // mutex, lock_guard

namespace tokamax::cpu_backend {

/// The implementations of matrix products that a program has beside ours. `use_implementation("dot_general", NAME)` names one,
/// and autotune measures all of them. Headers such as backend/eigen/gemm.hpp offer theirs when they are included. Unlike those
/// of gemm_choice, they compute only what asks for them.
class offered_gemms {
 public:
  static constexpr int most = 8;

  /// Adds an implementation, whose name is a word of a to z, 0 to 9 and _. False if its name is taken or no place is left.
  bool add(const gemm_implementation& other) {
    const std::lock_guard lock(mutex_);
    const int n = count();
    for (int i = 0; i < n; ++i)
      if (all_[static_cast<std::size_t>(i)].name == other.name) return false;
    if (n == most) return false;
    all_[static_cast<std::size_t>(n)] = other;
    count_.store(n + 1);
    return true;
  }
  int count() const noexcept { return count_.load(); }
  const gemm_implementation& operator[](int i) const noexcept { return all_[static_cast<std::size_t>(i)]; }

 private:
  std::mutex mutex_;  // for writers only: what is there stays
  std::array<gemm_implementation, most> all_{};
  std::atomic<int> count_{0};
};

/// Those of this process.
inline offered_gemms& offered() noexcept {
  static offered_gemms& all = *new offered_gemms;  // never destroyed, because products may run until the program ends
  return all;
}

}  // namespace tokamax::cpu_backend
