// tokamax/kernel/ops/gated_linear_unit.hpp: two products that share their rows, and the gate between them, in one kernel.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
// umbrella: no (programs that use this kernel include it)
#pragma once

#include <tokamax/kernel/ops/matmul.hpp>  // matmul_options

namespace tokamax::kernel_ops {

/// activation(x gate) * (x up), whose two products stay in scratch memory.
///
/// shapes  x [M, K], gate [K, N], up [K, N] -> [M, N]; blocks of M and N may hang over, those of K tile it
/// dtypes  floats, summed in f32; `passes` are not used
/// errors  "gated_linear_unit: block" if blocks do not tile K; those of kernel_call and of matmul
/// see     tokamax::gated_linear_unit, which it computes
template <class Activation>
constexpr array gated_linear_unit(const array& x, const array& gate, const array& up, const Activation& activation,
                                  const matmul_options& o = {}, source_line l = source_line::current()) {
  const std::int64_t m = x.extent(0), k = x.extent(1), n = gate.extent(1);
  const std::int64_t bm = std::min(o.block[0], m), bk = std::min(o.block[1], k), bn = std::min(o.block[2], n);
  if (bk > 0 && k % bk != 0)
    reject(x.trace(), l, "gated_linear_unit: block", message() << bk, message("a divisor of ") << k);
  const auto body = [=](const auto& p, const auto& xr, const auto& gr, const auto& ur, const auto& out,
                        const auto& gates, const auto& ups) {
    p.when(p.program_id(2) == 0, [&] {
      gates.set(0.0f);
      ups.set(0.0f);
    });
    gates += tokamax::matmul(xr.get(), gr.get(), {.preferred_element_type = f32});
    ups += tokamax::matmul(xr.get(), ur.get(), {.preferred_element_type = f32});
    p.when(p.program_id(2) == p.num_programs(2) - 1,
           [&] { out.set(astype(activation(gates.get()) * ups.get(), out.dtype())); });
  };
  block_spec weights{{bk, bn}, {2, 1}};
  using enum dimension_semantics;
  return kernel_call(body,
                     {.grid = {detail::blocks_of(m, bm), detail::blocks_of(n, bn), detail::blocks_of(k, bk)},
                      .in = {{{bm, bk}, {0, 2}}, weights, weights},
                      .out = {{{o.out != dtype::none ? o.out : x.dtype(), false, {m, n}}, {{bm, bn}, {0, 1}}}},
                      .scratch = {{{f32, false, {bm, bn}}}, {{f32, false, {bm, bn}}}},
                      .semantics = {parallel, parallel}},
                     l)(x, gate, up);
}

}  // namespace tokamax::kernel_ops
