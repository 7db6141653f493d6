// tokamax/base/time_mark.hpp: a point in the work of a device, whose time is known when the device has come there.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/run/device_clock.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>  // int64_t

namespace tokamax {

/// A point between two pieces of work that a device does later than the host asks for them.
class time_mark {
 public:
  virtual ~time_mark() = default;
  /// Waits until the device is there; nanoseconds of std::chrono::steady_clock, as far as the two clocks can be compared.
  virtual std::int64_t time() = 0;
  /// The nanoseconds from another mark of the same device to this one, by the clock of the device.
  virtual std::int64_t since(time_mark& earlier) = 0;
};

}  // namespace tokamax
