// tokamax/compiler/verify/device_facts.hpp: what the verifier asks a device.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/verify.cpp
#pragma once

#include <tokamax/compiler/plan.hpp>  // kernel_takes

namespace tokamax {

/// What a device has for the ops of a lowered graph.
class device_facts {
 public:
  virtual bool has_kernel(const op&) const = 0;
  virtual kernel_takes takes(const op&) const = 0;

 protected:
  ~device_facts() = default;
};

}  // namespace tokamax
