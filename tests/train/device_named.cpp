// tests/train/device_named.cpp: the device that an option names.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/train/device_named.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::train::device_named;

TEST_CASE("names of devices, each with a number, and several in one process") {
  CHECK(&device_named("cpu") == &tk::cpu.get());
  CHECK(&device_named("far") == &tk::far_device(0).get());
  CHECK(&device_named("far:0") == &tk::far_device(0).get());
  CHECK(&device_named("far:12") == &tk::far_device(12).get());
  CHECK(&device_named("cpu") == &tk::cpu.get());
  if (!tk::cuda.is_available())
    for (const char* name : {"cuda", "cuda:0", "cuda:70"})
      CHECK_THROWS_WITH(device_named(name), contains("cuda: device: "));
}

TEST_CASE("other names are refused, in the words of the option") {
  for (const char* name : {"", "gpu", "CPU", "cpu:0", "cpu ", "cuda:", "cuda:x", "cuda:-1", "cuda:+1", "cuda:1x",
                           "cuda: 1", "cuda:1:2", "cuda:99999999999", "far:", "farther", ":", ":1", "far:1 "})
    CHECK_THROWS_WITH(device_named(name, "--device"),
                      contains("--device: found '" + std::string(name) + "', expected cpu, cuda, or cuda:N"));
}
