// tokamax/kernel/ops/matmul.hpp: a product in blocks, with sums in scratch memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
// umbrella: no (programs that use this kernel include it)
#pragma once

#include <tokamax/kernel/kernel_call.hpp>  // kernel_call
#include <tokamax/numpy/matmul.hpp>        // matmul
#include <tokamax/numpy/where.hpp>         // where

#include <algorithm>  // min

namespace tokamax::kernel_ops {

/// How `matmul` cuts its operands, and how it multiplies f32.
struct matmul_options {
  shape block = {512, 512, 512};  ///< rows, summands and columns of a step, at most
  int passes = 1;                 ///< products of bf16 for one of f32: 1, 3 or 6, with about 8, 16 and 24 bits
  dtype out = dtype::none;        ///< none: the dtype of the operands, and i32 for integers
};

namespace detail {

constexpr std::int64_t blocks_of(std::int64_t n, std::int64_t block) { return block > 0 ? (n + block - 1) / block : 0; }

/// A block of x whose columns from `left` on are behind the end of the array, and count as zeros.
constexpr array without_padding(const array& x, const array& left, int axis) {
  return where(iota(i32, x.shape(), axis) < left, x, zeros_like(x));
}

/// Sums of products of bf16 parts, the smallest first: x = x1 + x2 + x3 with 8 bits each.
constexpr array product_in_passes(const array& x, const array& w, int passes) {
  const auto parts = [&](const array& v) {
    arrays p;
    array left = v;
    for (int i = 0; i < (passes == 3 ? 2 : 3); ++i) {
      p.push_back(astype(left, bf16));
      left = left - astype(p[i], f32);
    }
    return p;
  };
  const arrays a = parts(x), b = parts(w);
  array all;
  for (int order = a.count() - 1; order >= 0; --order)
    for (int i = 0; i <= order; ++i) {
      const array one = tokamax::matmul(a[i], b[order - i], {.preferred_element_type = f32});
      all = all.exists() ? all + one : one;
    }
  return all;
}

}  // namespace detail

/// x times w, in blocks whose sums over K stay in scratch memory.
///
/// shapes  x [M, K], w [K, N] -> [M, N], with K from 1 on; blocks may hang over
/// dtypes  f32, bf16 and f16 are summed in f32, 8-bit integers in i32. With 3 or 6 passes f32 is split into bf16 parts, for
///         machines whose arrays multiply bf16
/// errors  those of kernel_call and of matmul
/// source  the matrix product of jax.experimental.pallas.ops.tpu, and the passes of XLA's precisions high and highest
constexpr array matmul(const array& x, const array& w, const matmul_options& o = {},
                       source_line l = source_line::current()) {
  const std::int64_t m = x.extent(0), k = x.extent(1), n = w.extent(1);
  const std::int64_t bm = std::min(o.block[0], m), bk = std::min(o.block[1], k), bn = std::min(o.block[2], n);
  const dtype sums = is_integer(x.dtype()) ? i32 : f32;
  const bool ragged = k % std::max<std::int64_t>(1, bk) != 0;
  const auto body = [=, passes = o.passes](const auto& p, const auto& xr, const auto& wr, const auto& out,
                                           const auto& sum) {
    p.when(p.program_id(2) == 0, [&] { sum.set(0.0f); });
    array a = xr.get(), b = wr.get();
    if (ragged) {
      const array left = static_cast<std::int32_t>(k) - p.program_id(2) * static_cast<std::int32_t>(bk);
      a = detail::without_padding(a, left, 1);
      b = detail::without_padding(b, left, 0);
    }
    sum += passes > 1 && a.dtype() == f32 ? detail::product_in_passes(a, b, passes)
                                          : tokamax::matmul(a, b, {.preferred_element_type = sums});
    p.when(p.program_id(2) == p.num_programs(2) - 1, [&] { out.set(astype(sum.get(), out.dtype())); });
  };
  const dtype result = o.out != dtype::none ? o.out : is_integer(x.dtype()) ? i32 : x.dtype();
  using enum dimension_semantics;
  return kernel_call(body,
                     {.grid = {detail::blocks_of(m, bm), detail::blocks_of(n, bn), detail::blocks_of(k, bk)},
                      .in = {{{bm, bk}, {0, 2}}, {{bk, bn}, {2, 1}}},
                      .out = {{{result, false, {m, n}}, {{bm, bn}, {0, 1}}}},
                      .scratch = {{{sums, false, {bm, bn}}}},
                      .semantics = {parallel, parallel}},
                     l)(x, w);
}

}  // namespace tokamax::kernel_ops
