// bench/backend/cuda/device_copy.cpp: copies from one GPU to another, in GB/s, by `device_put` and through the host.
// SPDX-License-Identifier: Apache-2.0
//
//   device_copy [bytes]    1 GiB by default; prints nothing but a reason where there are no two GPUs
#include <tokamax/backend/cpu.hpp>
#include <tokamax/backend/cuda.hpp>
#include <tokamax/core/array.hpp>
#include <tokamax/runtime/device_put.hpp>

#include <cstdlib>
#include <cstring>

#include "support/measure.hpp"

namespace tk = tokamax;

int main(int argc, char** argv) {
  for (const int gpu : {0, 1})
    if (const std::string missing = tk::cuda(gpu).missing(); !missing.empty())
      return fmt::print(stderr, "device_copy: skipped, cuda:{}: {}\n", gpu, missing), 0;
  const std::int64_t bytes = argc > 1 ? std::atoll(argv[1]) : std::int64_t{1} << 30;
  tk::array x = tk::array::uninitialized({tk::u32, false, {bytes / 4}});
  auto* const values = x.mutable_data<std::uint32_t>();
  for (std::int64_t i = 0; i < x.size(); ++i) values[i] = static_cast<std::uint32_t>(i) * 2654435761u;
  const tk::array one = tk::block_until_ready(tk::device_put(x, tk::cuda(0)));
  tk::array two, back;
  const auto speed = [&](double seconds) { return static_cast<double>(x.size() * 4) / seconds * 1e-9; };
  const auto copy = [&] { two = tk::block_until_ready(tk::device_put(one, tk::cuda(1))); };
  const auto reverse = [&] { back = tk::block_until_ready(tk::device_put(two, tk::cuda(0))); };
  const auto both = [&] {  // at the same time, in both directions
    const tk::array there = tk::device_put(one, tk::cuda(1)), here = tk::device_put(two, tk::cuda(0));
    tk::block_until_ready(there), tk::block_until_ready(here);
  };
  copy();
  const auto seconds = bench::median_seconds_of({copy, reverse, both}, 15);
  bench::report("device_copy", "one direction", "tokamax", speed(seconds[0]), "GB/s");
  bench::report("device_copy", "the other direction", "tokamax", speed(seconds[1]), "GB/s");
  bench::report("device_copy", "both directions", "tokamax", 2 * speed(seconds[2]), "GB/s");
  const auto by_host = [&] { two = tk::block_until_ready(tk::device_put(tk::device_put(one, tk::cpu), tk::cuda(1))); };
  bench::report("device_copy", "one direction", "by the host", speed(bench::median_seconds(by_host, 3)), "GB/s");
  copy();
  if (std::memcmp(tk::device_put(two, tk::cpu).bytes(), x.bytes(), static_cast<std::size_t>(x.size() * 4)) != 0 ||
      std::memcmp(tk::device_put(back, tk::cpu).bytes(), x.bytes(), static_cast<std::size_t>(x.size() * 4)) != 0)
    return fmt::print(stderr, "device_copy: other bytes than were sent\n"), 1;
}
