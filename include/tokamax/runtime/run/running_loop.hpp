// tokamax/runtime/run/running_loop.hpp: the loop of a step, which the kernel of the next step runs part by part.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/run/executable.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/runtime/kernel.hpp>      // joined_loop, loop_arguments

#include <algorithm>  // copy_n

namespace tokamax::detail {

/// Makes the elements that a kernel asks for, in memory of the kernel.
class running_loop final : public joined_loop {
 public:
  running_loop(loop_function function, const loop_arguments& loop) : function_(function), loop_(loop) {}
  void run(std::int64_t first, std::int64_t count, std::byte* made) const override;

 private:
  loop_function function_;
  loop_arguments loop_;
};

#if defined(TOKAMAX_COMPILED_ONCE)
/// The one result of a producer is its last slot.
TOKAMAX_COMPILED_ONCE void running_loop::run(std::int64_t first, std::int64_t count, std::byte* made) const {
  std::byte* pointers[max_loop_slots];
  const int result = loop_.slot_count - 1;
  std::copy_n(loop_.pointers, result, pointers);
  pointers[result] = made - first * loop_.element_bytes[result];
  loop_arguments part = loop_;
  part.pointers = pointers;
  part.first = first;
  part.count = count;
  function_(part);
}
#endif

}  // namespace tokamax::detail
