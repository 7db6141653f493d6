// tests/support/device.hpp: the device that tests run on: the CPU, or what TOKAMAX_TEST_DEVICE names: "far", or "cuda".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu.hpp>         // cpu_tag
#include <tokamax/runtime/device_put.hpp>  // device_put

namespace tokamax::test {

/// The tag of programs that are traced at run time: their kernels are those of the tested device.
struct tested_tag : cpu_tag {
  static const kernel_table& table();
};

/// Its value.
struct tested_device {
  using tag = tested_tag;
  device& get() const;
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
