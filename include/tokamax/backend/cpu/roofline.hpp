// tokamax/backend/cpu/roofline.hpp: measures the limits of this machine.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (it holds the tiles of products, which are compiled once; programs that print profiles include it)
// tested by tests/profile/roofline.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/dispatch.hpp>   // microkernels_for
#include <tokamax/backend/cpu/gemm/problem.hpp>    // rows_of_panel
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/profile/roofline.hpp>            // roofline

#include <algorithm>  // min
#include <bit>        // bit_cast
#include <chrono>     // steady_clock
#include <cstdint>    // uint32_t
#include <cstring>    // memcpy
#include <vector>     // vector

namespace tokamax {

namespace detail {
/// The seconds of the shortest of many runs, because other processes may use the machine.
template <class F>
double shortest_run(F f) {
  using clock = std::chrono::steady_clock;
  const auto seconds_since = [](clock::time_point t) {
    return std::chrono::duration<double>(clock::now() - t).count();
  };
  double best = 1e9;
  for (const auto start = clock::now(); seconds_since(start) < 0.2;) {
    const auto begin = clock::now();
    f();
    best = std::min(best, seconds_since(begin));
  }
  return best;
}

/// Values of both signs in which all bits vary, also when they are read as two bfloat16. Some machines are faster on simpler
/// values.
template <std::size_t N>
void fill(float (&x)[N]) {
  std::uint32_t bits = 1;
  for (float& v : x) {
    bits = bits * 1664525u + 1013904223u;
    v = std::bit_cast<float>((bits & 0x807f807fu) | 0x3f003f00u);
  }
}

/// Operations per second of register tiles whose panels stay in the first-level cache.
inline double peak_flops(const cpu_backend::microkernel_set& kernels) {
  constexpr std::int64_t steps = 128, tiles = 512;
  const int rows = kernels.rows, columns = kernels.columns;
  const std::int64_t chunks = 4 * cpu_backend::num_threads();
  const double seconds = shortest_run([&] {
    cpu_backend::parallel_for(chunks, [&](std::int64_t) {
      const cpu_backend::tile_scope scope(kernels);
      alignas(64) float a[2 * steps * cpu_backend::gemm_max_rows], b[steps * 64], c[cpu_backend::gemm_max_rows * 64];
      const cpu_backend::detail::tile_rows panel = cpu_backend::detail::rows_of_panel(kernels, a, rows);
      fill(a);
      fill(b);
      for (std::int64_t t = 0; t < tiles; ++t)
        kernels.tile[rows]({.k = steps,
                            .a = panel.data,
                            .a_row = panel.row,
                            .a_step = panel.step,
                            .b = b,
                            .b_step = columns,
                            .c = c,
                            .ldc = columns,
                            .columns = columns,
                            .mode = cpu_backend::tile_mode::assign});
    });
  });
  return 2.0 * rows * columns * static_cast<double>(steps * tiles * chunks) * kernels.terms / seconds;
}

/// Bytes per second that all threads read and write while they copy more than the caches hold.
inline double copy_bandwidth() {
  constexpr std::size_t chunk = std::size_t{1} << 20, chunks = 128;
  std::vector<std::byte> from(chunk * chunks), to(chunk * chunks);
  const double seconds = shortest_run([&] {
    cpu_backend::parallel_for(chunks, [&](std::int64_t i) {
      std::memcpy(to.data() + static_cast<std::size_t>(i) * chunk, from.data() + static_cast<std::size_t>(i) * chunk,
                  chunk);
    });
  });
  return 2.0 * chunk * chunks / seconds;
}
}  // namespace detail

/// The limits of this machine with all threads that loops may use. They are measured in a fraction of a second, by register
/// tiles of products in f32 and in bfloat16 and by a copy of 128 MiB.
inline profile::roofline measure_roofline() {
  const auto peak = [](cpu_backend::gemm_precision precision) {
    return detail::peak_flops(cpu_backend::microkernels_for(cpu_backend::best_gemm_machine(), precision));
  };
  return {peak(cpu_backend::gemm_precision::f32), peak(cpu_backend::gemm_precision::bfloat16),
          detail::copy_bandwidth()};
}

}  // namespace tokamax
