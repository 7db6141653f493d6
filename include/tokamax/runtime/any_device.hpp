// tokamax/runtime/any_device.hpp: a device that is chosen at run time, as a value.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/any_device.cpp
#pragma once

#include <tokamax/core/device.hpp>  // device

#include <concepts>  // same_as

namespace tokamax {

struct kernel_table;

/// A value such as `tk::cpu` whose device is known when the program runs: `any_device d = tk::cuda(1)`, `any_device d =
/// x.device()`. Its programs are traced at run time, with the kernels of the device.
class any_device {
 public:
  any_device(device& d) : device_(&d) {}  // NOLINT: every device is any device
  template <class Device>
    requires requires(const Device& d) {
      { d.get() } -> std::same_as<device&>;
    }
  any_device(const Device& d) : device_(&d.get()) {}  // NOLINT: and so is every value that names one

  device& get() const { return *device_; }
  const kernel_table& table() const { return device_->kernels(); }

 private:
  device* device_;
};

}  // namespace tokamax
