// tokamax/core/trace_life.hpp: how an array knows at run time whether the graph that it points to still exists.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/trace.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#include <atomic>   // atomic
#include <cstdint>  // uint64_t

namespace tokamax {

/// The lifetime of a graph into which a user's function is traced at run time: from `begin` to the destructor. It has a
/// number that is never used again, and the arrays of the graph carry it. Graphs in constant expressions and inside passes
/// have the number 0 and cost nothing, because none of their arrays can outlive them.
class trace_life {
 public:
  constexpr trace_life() = default;
  constexpr trace_life(const trace_life&) {}  // a copy of a graph is another graph
  constexpr trace_life& operator=(const trace_life&) { return *this; }
  constexpr ~trace_life() {
    if (number_ != 0) end();
  }
  void begin() {
    if (number_ == 0) number_ = start();
  }
  constexpr std::uint64_t number() const { return number_; }
  static bool has_ended(std::uint64_t number) {
    if (number == 0) return false;
    return now_[number % slot_count].load(std::memory_order_relaxed) != number;
  }

 private:
  static std::uint64_t start();
  void end() noexcept;

  // A lifetime occupies the slot of its number until it ends. If all slots are taken, further graphs get the number 0.
  static constexpr std::uint64_t slot_count = 4096;
  inline static std::atomic<std::uint64_t> now_[slot_count] = {};
  inline static std::atomic<std::uint64_t> last_{0};

  std::uint64_t number_ = 0;
};

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE std::uint64_t trace_life::start() {
  for (std::uint64_t tries = 0; tries < slot_count; ++tries) {
    const std::uint64_t number = last_.fetch_add(1, std::memory_order_relaxed) + 1;
    std::uint64_t nobody = 0;
    if (now_[number % slot_count].compare_exchange_strong(nobody, number, std::memory_order_relaxed)) return number;
  }
  return 0;
}
TOKAMAX_COMPILED_ONCE void trace_life::end() noexcept {
  now_[number_ % slot_count].store(0, std::memory_order_relaxed);
}
#endif

}  // namespace tokamax
