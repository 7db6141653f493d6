// tests/support/device.hpp: the device that tests run on: the CPU, or a far device if TOKAMAX_TEST_DEVICE is "far".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu.hpp>         // cpu_tag
#include <tokamax/runtime/device_put.hpp>  // device_put

namespace tokamax::test {

/// Its value. Both run the CPU's programs.
struct tested_device {
  using tag = cpu_tag;
  device& get() const;
};
inline constexpr tested_device here{};

/// Arrays on the tested device.
inline arrays put_here(arrays list) {
  for (array& a : list) a = device_put(a, here);
  return list;
}

}  // namespace tokamax::test
