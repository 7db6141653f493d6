// tokamax/backend/cuda/roofline.hpp: measures the limits of a GPU.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (programs that print profiles include it)
// tested by tests/backend/cuda/run/device_clock.cpp
#pragma once

#include <tokamax/lax/iota.hpp>            // full
#include <tokamax/numpy/matmul.hpp>        // matmul
#include <tokamax/profile/roofline.hpp>    // roofline
#include <tokamax/profile/timeline.hpp>    // timeline
#include <tokamax/runtime/device_put.hpp>  // block_until_ready, device_put
#include <tokamax/runtime/jit.hpp>         // jit

#include <algorithm>  // min

namespace tokamax {

namespace detail {
/// The seconds of the shortest of six runs by the clock of the device.
template <class F>
double shortest_run_of(const F& run, const array& x) {
  double shortest = 1e9;
  for (int i = 0; i < 6; ++i) {
    const profile::timeline recording;
    block_until_ready(run(x));
    double seconds = 1e-9;
    for (const profile::event& e : recording.events()) seconds += static_cast<double>(e.duration) * 1e-9;
    shortest = std::min(shortest, seconds);
  }
  return shortest;
}
}  // namespace detail

/// The limits of a device as programs reach them: products of n x n matrices in f32 and in bfloat16, and a loop that reads
/// and writes n n numbers of f32.
///
/// errors  those of the device
template <class Device>
profile::roofline measure_roofline(const Device& where, std::int64_t n = 4096) {
  const auto product = jit([](const array& x) { return matmul(x, x); }, where, at_run_time);
  const auto loop = jit([](const array& x) { return -x; }, where, at_run_time);
  const auto ones = [&](dtype t) { return device_put(full({n, n}, 1.0, t), where); };
  const double numbers = static_cast<double>(n) * static_cast<double>(n);
  const double flops = 2 * numbers * static_cast<double>(n);
  return {flops / detail::shortest_run_of(product, ones(f32)), flops / detail::shortest_run_of(product, ones(bf16)),
          8 * numbers / detail::shortest_run_of(loop, ones(f32))};
}

}  // namespace tokamax
