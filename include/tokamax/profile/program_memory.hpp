// tokamax/profile/program_memory.hpp: the buffers of a program and the steps during which it holds them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/analysis/memory_peak.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>  // int64_t
#include <string>   // string
#include <vector>   // vector

namespace tokamax::profile {

/// What a buffer of a program holds. An intermediate value lies in the arena of the program.
enum class buffer_role : std::uint8_t { argument, result, constant, intermediate };

constexpr const char* name(buffer_role r) {
  constexpr const char* names[] = {"argument", "result", "constant", "intermediate"};
  return names[static_cast<int>(r)];
}

/// The memory of one value of a program.
struct program_buffer {
  std::string name;   ///< the step that writes it, or a number such as "argument 2"
  std::string type;   ///< such as "f32[512,768]"
  std::string place;  ///< "file.cpp:12", the line that asked for it
  buffer_role role = buffer_role::intermediate;
  std::int64_t bytes = 0;
  std::int64_t offset = 0;  ///< of an intermediate value, in the arena
  int first = 0, last = 0;  ///< the steps during which it is held
};

/// All buffers of a program. A result that takes the memory of an argument is that argument.
struct program_memory {
  std::vector<program_buffer> buffers;
  std::int64_t arena_bytes = 0;  ///< what the program reserves for intermediate values
  int steps = 0;
};

}  // namespace tokamax::profile
