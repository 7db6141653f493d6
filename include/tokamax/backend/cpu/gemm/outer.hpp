// tokamax/backend/cpu/gemm/outer.hpp: products of one term, which write C once at the speed of memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/gemm/gemm.cpp
#pragma once

#include <tokamax/backend/cpu/gemm/problem.hpp>    // gemm_problem
#include <tokamax/backend/cpu/vector/simd.hpp>     // load, store
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for

#include <algorithm>  // min, max
#include <cstdint>    // int64_t

namespace tokamax::cpu_backend::detail {

/// Is C a column times a row, in f32, whose rows are long enough for vectors?
inline bool is_outer(const gemm_problem& g, const microkernel_set& kernels) noexcept {
  const bool exact =
      kernels.b_in_place && kernels.terms == 1 && g.a.element == gemm_element::f32 && g.b.element == gemm_element::f32;
  return g.k == 1 && exact && g.n >= width && g.b.column_stride == 1 && g.packed.data == nullptr &&
         g.source.fill == nullptr && g.mode == gemm_mode::assign;
}

/// C [m, n] = A [m, 1] B [1, n]. A sum begins at zero, as in tiles, so that no product is a negative zero.
inline void gemm_outer(const gemm_problem& g, int threads) {
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / g.n);
  const float* const b = g.b.f32_at(0, 0);
  const f32v zero(0.0f);
  const auto rows = [&](std::int64_t chunk) {
    const std::int64_t begin = chunk * grain, end = std::min(g.m, begin + grain);
    for (std::int64_t i = begin; i < end; ++i) {
      const f32v a(*g.a.f32_at(i, 0));
      float* const c = g.c + i * g.ldc;
      std::int64_t j = 0;
      for (; j + 4 * width <= g.n; j += 4 * width) {  // stores that follow each other fill a line at once
        f32v v[4];
        for (int k = 0; k < 4; ++k) v[k] = a * load(b + j + k * width) + zero;
        for (int k = 0; k < 4; ++k) store(c + j + k * width, v[k]);
      }
      for (; j + width <= g.n; j += width) store(c + j, a * load(b + j) + zero);
      if (j < g.n) store_partial(c + j, a * load_partial(b + j, g.n - j) + zero, g.n - j);
    }
    finish(g, begin, 0, end - begin, g.n);
  };
  if (threads > 1) return parallel_for(ceil_div(g.m, grain), rows, threads);
  for (std::int64_t chunk = 0; chunk < ceil_div(g.m, grain); ++chunk) rows(chunk);
}

}  // namespace tokamax::cpu_backend::detail
