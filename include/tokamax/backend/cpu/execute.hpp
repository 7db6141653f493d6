// tokamax/backend/cpu/execute.hpp: ties programs and eager calls to the CPU's loops and kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>      // cpu_tag
#include <tokamax/backend/cpu/fused.hpp>       // expression_t
#include <tokamax/backend/cpu/tile.hpp>        // run_interpreted
#include <tokamax/runtime/dynamic_program.hpp> // owned_program

namespace tokamax {

template <const auto& Plan, int K>
loop_function cpu_tag::loop() {
  return simd::expression_t<Plan, K>::run;
}
inline loop_function cpu_tag::interpreted_loop() { return simd::run_interpreted; }

/// What programs traced at run time find of an op.
template <const op& Op>
kernel_set kernels_of() {
  kernel_set k;
  if constexpr (has_kernel<Op, cpu_tag>) {
    k.run = [](const kernel_arguments& a) { kernel(op_c<Op>{}, cpu_tag{}, a); };
    k.strided = takes_views<Op>;
  }
  if constexpr (Op.kind == op_kind::elementwise) k.tile = simd::tile_of<Op>;
  return k;
}

namespace detail {
/// Runs a graph once: what eager calls and eagerly called transformations do.
inline arrays execute_on_cpu(const graph& g, const arrays& inputs) {
  const auto program = owned_program::make(g, cpu_tag{});
  std::vector<std::byte*> in, out;
  for (const array& a : inputs) {
    if (a.is_literal()) const_cast<array&>(a).materialize();
    in.push_back(a.storage()->data);
  }
  for (const handle& h : program->captured) in.push_back(h->data);
  arrays results;
  for (int id : g.outputs) {
    results.push_back(array::uninitialized({g[id].type.type, g[id].type.weak, g[id].type.extents}));
    out.push_back(results.back().storage()->data);
  }
  program->code.run(in.data(), out.data());
  return results;
}
inline const bool cpu_executes = (execute_graph = execute_on_cpu, true);
}  // namespace detail

}  // namespace tokamax
