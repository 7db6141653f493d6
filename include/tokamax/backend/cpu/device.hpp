// tokamax/backend/cpu/device.hpp: the processor as a device, and the tag that CPU kernels are overloaded on.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/run/program_run.cpp
#pragma once

#include <tokamax/runtime/run/executable.hpp>  // loop_function

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

namespace detail {
/// The processor as a device whose programs have so many threads.
/// errors  tokamax::error "cpu: threads" for less than 1 or more than 256
device& host_device_of_threads(int threads);
}  // namespace detail

/// So many threads of the processor as a device: `cpu(4)`. Its arrays are the host's, and its programs run on the thread that
/// calls them and 3 others, beside those of other threads and devices. Results have the same bits for any number.
class cpu_threads {
 public:
  using tag = cpu_tag;  ///< its programs and kernels are the CPU's
  explicit cpu_threads(int threads) : device_(&detail::host_device_of_threads(threads)) {}
  device& get() const { return *device_; }

 private:
  device* device_;
};

/// The whole processor. Programs that run at the same time share its threads.
struct cpu_value : cpu_tag {
  using tag = cpu_tag;
  cpu_threads operator()(int threads) const { return cpu_threads(threads); }
};
inline constexpr cpu_value cpu{};

}  // namespace tokamax
