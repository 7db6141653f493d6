// tokamax/kernel/memory_space.hpp: where the memory that a ref stands for lies.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>      // uint8_t
#include <string_view>  // string_view

namespace tokamax {

/// The memories of an accelerator that kernels name. On the CPU all of them are its memory; the limits count all the same.
enum class memory_space : std::uint8_t {
  vmem,       ///< the vector memory of a core: blocks are copied there before a step runs
  smem,       ///< scalar memory
  any,        ///< where the array lies: the ref is the whole array, and the kernel copies what it needs
  semaphore,  ///< counts the bytes that copies have delivered
};

constexpr std::string_view name_of(memory_space s) {
  constexpr std::string_view names[] = {"vmem", "smem", "any", "semaphore"};
  return names[static_cast<int>(s)];
}

}  // namespace tokamax
