// tokamax/backend/cpu/execute.hpp: ties programs and eager calls to the CPU's loops and kernels.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/kernels_of.hpp>   // kernels_of
#include <tokamax/backend/cpu/processor.hpp>    // what the program needs of the processor
#include <tokamax/base/compiled_once.hpp>       // TOKAMAX_COMPILED_ONCE
#include <tokamax/runtime/dynamic_program.hpp>  // owned_program
#include <tokamax/runtime/filled_literals.hpp>  // filled_literals

namespace tokamax {

namespace detail {
/// Runs a graph once: what eager calls and eagerly called transformations do.
arrays execute_on_cpu(const graph& g, const arrays& inputs);
inline const bool cpu_executes = (execute_graph = execute_on_cpu, true);

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE arrays execute_on_cpu(const graph& g, const arrays& inputs) {
  const auto program = owned_program::make(g, cpu_tag::interpreted_loop(), cpu_tag::name);
  std::vector<std::byte*> in, out;
  filled_literals literals;
  for (const array& a : inputs) in.push_back(literals.data_of(a));
  for (const handle& h : program->captured) in.push_back(h->data);
  arrays results;
  for (int id : g.outputs) {
    results.push_back(array::uninitialized({g[id].type.type, g[id].type.weak, g[id].type.extents}));
    out.push_back(results.back().storage()->data);
  }
  program->code.run(in.data(), out.data());
  return results;
}
#endif
}  // namespace detail

}  // namespace tokamax

#include <tokamax/backend/cpu/generated/kernels.hpp>  // the kernels themselves
