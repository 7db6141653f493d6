// tests/support/largest_value.hpp: the size of the largest value that a program computes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu.hpp>
#include <tokamax/runtime/program/traced_program.hpp>

#include <algorithm>

namespace tokamax::test {

/// In bytes, by the plan: in all its loops and bodies, without arguments and captured data. The memory that a loop lends to its
/// body counts as one value.
inline std::int64_t largest_value(const graph& g) {
  const auto p = tokamax::detail::owned_program::make(g, kernel_table_of<cpu_tag>());
  std::int64_t most = 0;
  for (const plan_buffer& b : p->tables.buffers)
    if (b.kind == buffer_kind::arena || b.kind == buffer_kind::output) most = std::max(most, b.bytes);
  return most;
}

}  // namespace tokamax::test
