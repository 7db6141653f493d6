// tests/support/device.cpp: the device that tests run on.
// SPDX-License-Identifier: Apache-2.0
#include "support/device.hpp"

#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/far.hpp>

#include <cstdlib>
#include <string_view>

namespace tokamax::test {

device& tested_device::get() const {
  static device& chosen = []() -> device& {
    const char* const given = std::getenv("TOKAMAX_TEST_DEVICE");
    const std::string_view name = given ? given : "";
    if (name == "cuda") return cuda.get();
    if (name != "far") return cpu.get();
    const far_device far(0);
    far.delay(17, 30);
    return far.get();
  }();
  return chosen;
}
bool tested_device::runs_host_kernels() const { return get().kernels().device != cuda_tag::name; }

}  // namespace tokamax::test
