// tokamax/kernel.hpp: kernels on blocks of arrays, written once for all devices.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (programs that write kernels include it)
//
// A kernel is a function on refs, which are blocks of its arguments and results. It is traced once, into a body of one op of
// the graph. The CPU runs the body as any other program; machine models, checks and texts for GPUs walk over it.
//
// kernel/ops/ has kernels to use and to read, which programs include one by one: elementwise, flash_attention,
// gated_linear_unit, matmul, norms, ragged_dot and softmax_cross_entropy.
//
//   kernel/async_copy.hpp         copies between refs that run while the kernel goes on, and the semaphores that tell their end.
//   kernel/block_spec.hpp         which block of an array each step of a grid works on.
//   kernel/emit_pipeline.hpp      a grid inside of a kernel, whose blocks are copied while the steps before them run.
//   kernel/estimate_cost.hpp      what a function would cost as one kernel, for the `cost_estimate` of that kernel.
//   kernel/grid_as_scan.hpp       the meaning of a kernel in smaller ops: a scan over its steps.
//   kernel/grid_loop.hpp          the op that runs a kernel's body for each step of its grid.
//   kernel/grid_run.hpp           how the steps of a grid run on the host.
//   kernel/kernel_attributes.hpp  what a kernel node says about its grid, blocks and scratch memory.
//   kernel/kernel_call.hpp        functions on blocks of arrays, written once for all devices.
//   kernel/kernel_events.hpp      what a kernel does, step by step: copies of blocks, and the ops of its body.
//   kernel/kernel_grid.hpp        the axes along which a kernel has steps.
//   kernel/kernel_program.hpp     one step of a kernel: its place in the grid, branches and loops on refs.
//   kernel/kernel_rules.hpp       the kernel op, its batches and its derivative where that is a kernel too.
//   kernel/memory_space.hpp       where the memory that a ref stands for lies.
//   kernel/ref.hpp                memory that a kernel reads and writes.
//   kernel/ref_ops.hpp            reads, writes and copies of refs as nodes of a graph.
//   kernel/semaphore.hpp          counts that one part of a kernel raises and another one waits for.
#pragma once

#include <tokamax/kernel/async_copy.hpp>
#include <tokamax/kernel/block_spec.hpp>
#include <tokamax/kernel/emit_pipeline.hpp>
#include <tokamax/kernel/estimate_cost.hpp>
#include <tokamax/kernel/grid_as_scan.hpp>
#include <tokamax/kernel/grid_loop.hpp>
#include <tokamax/kernel/grid_run.hpp>
#include <tokamax/kernel/kernel_attributes.hpp>
#include <tokamax/kernel/kernel_call.hpp>
#include <tokamax/kernel/kernel_events.hpp>
#include <tokamax/kernel/kernel_grid.hpp>
#include <tokamax/kernel/kernel_program.hpp>
#include <tokamax/kernel/kernel_rules.hpp>
#include <tokamax/kernel/memory_space.hpp>
#include <tokamax/kernel/ref.hpp>
#include <tokamax/kernel/ref_ops.hpp>
#include <tokamax/kernel/semaphore.hpp>
