// tokamax/backend/cpu/kernels_of.hpp: what a program finds of an op and of a fused loop on the CPU.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/compiled.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>            // cpu_tag
#include <tokamax/backend/cpu/loop/compiled.hpp>     // expression_t
#include <tokamax/backend/cpu/loop/interpreted.hpp>  // run_interpreted

namespace tokamax {

template <const auto& Plan, int K>
loop_function cpu_tag::loop() {
  return cpu_backend::expression_t<Plan, K>::run;
}
inline loop_function cpu_tag::interpreted_loop() { return cpu_backend::run_interpreted; }

/// What programs traced at run time find of an op.
template <const op& Op>
kernel_set find_kernels() {
  kernel_set k;
  if constexpr (has_kernel<Op, cpu_tag>) {
    k.run = [](const kernel_arguments& a) { kernel(op_c<Op>{}, cpu_tag{}, a); };
    k.takes = {takes_views<Op>, takes_producer<Op>};
    k.others = implementations_of<Op>;
  }
  if constexpr (Op.memory.kind == op_kind::elementwise) k.interpreted = cpu_backend::interpreted_op_of<Op>;
  return k;
}

}  // namespace tokamax
