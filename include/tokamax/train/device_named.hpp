// tokamax/train/device_named.hpp: the device that an option of a program names.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (it needs the backends)
// tested by tests/train/device_named.cpp
#pragma once

#include <tokamax/backend/cpu.hpp>   // cpu
#include <tokamax/backend/cuda.hpp>  // cuda
#include <tokamax/backend/far.hpp>   // far_device

#include <charconv>      // from_chars
#include <string>        // string
#include <string_view>   // string_view
#include <system_error>  // errc

namespace tokamax::train {

/// The device of a name: `cpu`; `cuda` or `cuda:N` for a GPU; `far` or `far:N`, which is the CPU behind a queue and a memory of its
/// own and serves to test programs. `option` is what errors call the name.
///
/// errors  tokamax::error with the option for other names, and "cuda: device" that says what is missing
inline device& device_named(std::string_view name, std::string option = "device") {
  const std::string_view kind = name.substr(0, name.find(':')), digits = name.substr(kind.size());
  int number = 0;
  const auto [end, failed] = std::from_chars(digits.data() + !digits.empty(), digits.data() + digits.size(), number);
  const bool numbered = failed == std::errc() && end == digits.data() + digits.size() && number >= 0;
  if (name == "cpu") return cpu.get();
  if (kind == "cuda" && (digits.empty() || numbered)) return cuda(number).get();
  if (kind == "far" && (digits.empty() || numbered)) return far_device(number).get();
  throw error(std::move(option), "'" + std::string(name) + "'", "cpu, cuda, or cuda:N for the GPU of that number");
}

}  // namespace tokamax::train
