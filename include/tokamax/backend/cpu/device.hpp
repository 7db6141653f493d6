// tokamax/backend/cpu/device.hpp: the processor as a device, and the tag that CPU kernels are overloaded on.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/eager.cpp
#pragma once

#include <tokamax/runtime/executable.hpp>  // loop_function

#include <string_view>  // string_view

namespace tokamax {

/// The processor that this program runs on, as a value. Its memory is the host's.
struct cpu_tag {
  using library = cpu_tag;  ///< inherited by tags that are derived from this one: their other kernels are the CPU's
  static constexpr std::string_view name = "cpu";
  /// The function that runs loop `K` of a frozen plan.
  template <const auto& Plan, int K>
  static loop_function loop();
  /// The function that runs any fused loop from its instructions.
  static loop_function interpreted_loop();
  /// The device.
  static device& get() { return host_device(); }
};
inline constexpr cpu_tag cpu{};

}  // namespace tokamax
