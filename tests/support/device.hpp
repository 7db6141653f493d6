// tests/support/device.hpp: the device that tests run on: the CPU, or what TOKAMAX_TEST_DEVICE names: "far", or "cuda".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu.hpp>         // cpu_tag
#include <tokamax/runtime/device_put.hpp>  // device_put

namespace tokamax::test {

/// Its value. Programs that are known while compiling are the CPU's.
struct tested_device {
  using tag = cpu_tag;
  device& get() const;
  /// The kernels of programs that are traced at run time.
  const kernel_table& table() const { return get().kernels(); }
  /// Does it run the CPU's kernels, and so programs that were compiled for them?
  bool runs_host_kernels() const;
};
inline constexpr tested_device here{};

/// Arrays on the tested device.
inline arrays put_here(arrays list) {
  for (array& a : list) a = device_put(a, here);
  return list;
}

}  // namespace tokamax::test
