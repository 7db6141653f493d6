// tokamax/backend/systolic/matmul.hpp: the blocked matrix product of the Pallas tutorial, as a program.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/pipeline.hpp>  // run_pipeline
#include <tokamax/backend/systolic/simulate.hpp>  // simulate

#include <algorithm>  // max
#include <vector>     // vector

namespace tokamax::systolic_backend {

/// How a matrix product is cut: blocks [m, k] x [k, n] -> [m, n] of the operands.
struct matmul_options {
  product_shape block{512, 1024, 1024};
  element type = element::bf16;  ///< of the operands and the result; the block of sums is f32
  int buffers = 2;               ///< of each operand
  int cores = 1;                 ///< that share the blocks of rows, as a "parallel" dimension does
};

namespace detail {
/// Bytes of a block in VMEM: rows to whole tiles, columns to whole lanes.
constexpr double padded_bytes(const chip& c, long long rows, long long columns, element e) {
  return static_cast<double>(round_up(rows, c.tile_rows(e)) * round_up(columns, count_of(c.lanes)) * bytes_of(e));
}
}  // namespace detail

/// Steps run over blocks of m, then n, then k, so that the sums of a block stay in VMEM until they are complete. Blocks larger
/// than the operands are cut down to them, and blocks at the edges are computed as whole ones.
///
/// source  jax-ml/jax, docs/pallas/tpu/matmul: grid (m, n, k), sums in a scratch block of f32, stored at the last k
inline program matmul_program(const chip& c, const product_shape& p, matmul_options o = {}) {
  detail::check_sizes({1, 1}, p);
  detail::check_sizes({1, 1}, o.block);
  const product_shape b{std::min(o.block.m, p.m), std::min(o.block.k, p.k), std::min(o.block.n, p.n)};
  const long long rows = divide_up(p.m, b.m), inner = divide_up(p.k, b.k), columns = divide_up(p.n, b.n);
  program out;
  for (int core = 0; core < std::max(1, o.cores); ++core) {
    const long long first = rows * core / std::max(1, o.cores), last = rows * (core + 1) / std::max(1, o.cores);
    std::vector<operand> operands{{"a", detail::padded_bytes(c, b.m, b.k, o.type), {}, o.buffers, false},
                                  {"b", detail::padded_bytes(c, b.k, b.n, o.type), {}, o.buffers, false},
                                  {"out", detail::padded_bytes(c, b.m, b.n, o.type), {}, o.buffers, true}};
    for (long long m = first; m < last; ++m)
      for (long long n = 0; n < columns; ++n)
        for (long long k = 0; k < inner; ++k) {
          operands[0].block.push_back(static_cast<int>(m * inner + k));
          operands[1].block.push_back(static_cast<int>(k * columns + n));
          operands[2].block.push_back(static_cast<int>(m * columns + n));
        }
    out.at({core});
    out.reserve("sums", detail::padded_bytes(c, b.m, b.n, element::f32), 1);
    const double registers =
        static_cast<double>(divide_up(b.m, count_of(c.sublanes)) * divide_up(b.n, count_of(c.lanes)));
    run_pipeline(out, operands, {core, "product"}, [&](int step, event_id ready) {
      const event_id sums = out.product(b, o.type, {ready}, inner > 1);
      if ((step + 1) % inner != 0) return sums;
      out.at({core, "store", step});
      return out.vector("convert", registers, {sums});
    });
  }
  return out;
}

/// The times of a matrix product on a chip.
inline timeline simulate_matmul(const chip& c, const product_shape& p, const matmul_options& o = {}) {
  return simulate(c, matmul_program(c, p, o));
}

}  // namespace tokamax::systolic_backend
