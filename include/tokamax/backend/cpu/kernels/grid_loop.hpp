// tokamax/backend/cpu/kernels/grid_loop.hpp: kernels on grids, with threads for the steps along parallel axes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/kernel/grid_run.hpp>             // run_grid_on
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

namespace tokamax {

inline void kernel(op_c<grid_loop_p>, cpu_tag, const kernel_arguments& a) {
  const int workers = cpu_backend::num_threads();
  detail::run_grid_on(a, {workers, [](std::int64_t n, detail::grid_threads::step f, void* of) {
                            cpu_backend::parallel_for(n,
                                                      [=](std::int64_t i) { f(of, i, cpu_backend::thread_index()); });
                          }});
}

}  // namespace tokamax
