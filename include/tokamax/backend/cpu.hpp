// tokamax/backend/cpu.hpp: all of backend/cpu.
// SPDX-License-Identifier: Apache-2.0
//
//   backend/cpu/device.hpp       the tag that CPU kernels are overloaded on.
//   backend/cpu/doubles.hpp      lanes of a register as doubles, and the logarithm and the power of two of doubles.
//   backend/cpu/element.hpp      element functions on SIMD registers, and how registers meet memory.
//   backend/cpu/elementary.hpp   elementary functions on registers, over the whole range of floats.
//   backend/cpu/execute.hpp      ties programs and eager calls to the CPU's loops and kernels.
//   backend/cpu/fused.hpp        a fused group of elementwise ops as an expression type, compiled to one SIMD loop.
//   backend/cpu/kernels_of.hpp   what a program finds of an op and of a fused loop on the CPU.
//   backend/cpu/loop.hpp         walk the axes of a fused loop and hand its rows to an inner function.
//   backend/cpu/pack.hpp         a register of any element type, for those that 32-bit lanes do not hold.
//   backend/cpu/processor.hpp    a program that this processor cannot run says so when it starts.
//   backend/cpu/simd.hpp         the vector types of the CPU kernels, at the architecture the file is compiled for.
//   backend/cpu/thread_pool.hpp  threads that share the chunks of a loop\; between loops they spin briefly, then sleep.
//   backend/cpu/threads.hpp      loops over fixed chunks on several threads, and scratch memory that only grows.
//   backend/cpu/tile.hpp         run a fused group that is known at run time only, line by line over tiles in the cache.
#pragma once

#include <tokamax/backend/cpu/device.hpp>
#include <tokamax/backend/cpu/doubles.hpp>
#include <tokamax/backend/cpu/element.hpp>
#include <tokamax/backend/cpu/elementary.hpp>
#include <tokamax/backend/cpu/execute.hpp>
#include <tokamax/backend/cpu/fused.hpp>
#include <tokamax/backend/cpu/kernels_of.hpp>
#include <tokamax/backend/cpu/loop.hpp>
#include <tokamax/backend/cpu/pack.hpp>
#include <tokamax/backend/cpu/processor.hpp>
#include <tokamax/backend/cpu/simd.hpp>
#include <tokamax/backend/cpu/thread_pool.hpp>
#include <tokamax/backend/cpu/threads.hpp>
#include <tokamax/backend/cpu/tile.hpp>
