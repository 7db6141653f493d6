// examples/tokamax_train_device.hpp: the device that --device names, chosen when the program runs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu.hpp>
#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/far.hpp>

#include <charconv>
#include <string_view>

/// A device as a value, like `tk::cpu`. Programs that are traced at run time take their kernels from the table of the device
/// that was chosen first; there is one in a process.
class chosen_device {
 public:
  struct tag : tokamax::cpu_tag {
    static const tokamax::kernel_table& table() { return chosen()->kernels(); }
  };

  /// name  cpu, cuda, cuda:N, or far, which is the CPU behind a queue and serves to test programs
  /// errors  tokamax::error "--device" for other names, and "cuda: device" that says what is missing
  explicit chosen_device(std::string_view name) {
    if (chosen()) return;
    const std::string_view kind = name.substr(0, name.find(':')),
                           digits = name.substr(std::min(name.size(), kind.size() + 1));
    int number = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool numbered = failed == std::errc() && end == digits.data() + digits.size() && number >= 0;
    if (name == "cpu")
      chosen() = &tokamax::cpu.get();
    else if (name == "far")
      chosen() = &tokamax::far_device(0).get();
    else if (name == "cuda" || (kind == "cuda" && numbered))
      chosen() = &tokamax::cuda(number).get();
    else
      throw tokamax::error("--device", "'" + std::string(name) + "'",
                           "cpu, cuda, or cuda:N for the GPU of that number");
  }
  tokamax::device& get() const { return *chosen(); }

 private:
  static tokamax::device*& chosen() {
    static tokamax::device* one = nullptr;
    return one;
  }
};
