// tokamax/kernel/check/kernel_problem.hpp: a mistake in a kernel, with the two lines of the program that make it.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/check/check_kernel.cpp
// umbrella: no (programs that check kernels include kernel/check/check_kernel.hpp)
#pragma once

#include <tokamax/core/graph.hpp>  // location

#include <string>       // string
#include <string_view>  // string_view

namespace tokamax {

/// What can be wrong with a kernel whose shapes and dtypes are right.
enum class kernel_mistake : std::uint8_t {
  read_before_wait,    ///< memory is read while a copy writes it
  write_under_copy,    ///< memory is written while a copy reads or writes it
  missing_wait,        ///< a copy ends after its memory, or after the kernel
  wait_without_start,  ///< nothing will ever bring the bytes: the kernel would stand still
  semaphore_left,      ///< a semaphore is not zero at the end
  out_of_bounds,       ///< a box or block that is not inside of its memory
  uninitialized,       ///< results depend on memory that was never written, or were never written
  parallel_race,       ///< of two steps that may run at the same time, one writes what the other one writes or reads
  revisited_output,    ///< a block of an output comes again after another one: its values have left
  read_after_alias,    ///< an argument is read where an output that shares its memory has been written
  memory_overflow,     ///< blocks and scratch memory are larger than the memory
};
constexpr std::string_view name_of(kernel_mistake m) {
  constexpr std::string_view names[] = {"read before wait",     "write under a copy",     "missing wait",
                                        "wait without start",   "semaphore not zero",     "out of bounds",
                                        "uninitialized memory", "race of parallel steps", "revisited output",
                                        "read after alias",     "memory overflow"};
  return names[static_cast<int>(m)];
}

/// One mistake. `second` is the other line that takes part: the start of the copy, the write before, or the line that made
/// the memory.
struct kernel_problem {
  kernel_mistake mistake;
  std::string text;  ///< what happened, in which step of the grid
  location first, second;

  /// "read before wait: kernel.cpp:31 reads scratch 0 f32[2,4] [0:1, 0:4] in step (3); see kernel.cpp:25"
  std::string message() const {
    const auto at = [](location l) {
      const std::string_view file = l.file;
      return std::string(file.substr(file.find_last_of('/') + 1)) + ":" + std::to_string(l.line);
    };
    return std::string(name_of(mistake)) + ": " + at(first) + " " + text + "; see " + at(second);
  }
};

}  // namespace tokamax
