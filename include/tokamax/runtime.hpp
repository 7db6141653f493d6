// tokamax/runtime.hpp: all of runtime.
// SPDX-License-Identifier: Apache-2.0
//
//   runtime/argument_types.hpp     arrays that a function takes as tensors are checked where they are handed over.
//   runtime/describe.hpp           what the compiler made of a function, as text.
//   runtime/device_put.hpp         move arrays to a device, and wait for what devices compute.
//   runtime/dynamic_program.hpp    programs traced at run time, by the passes that the compiler uses too.
//   runtime/executable.hpp         a plan bound to kernels and memory, ready to run.
//   runtime/filled_literals.hpp    data for arguments that are one number in every element.
//   runtime/idle_list.hpp          objects that one thread uses at a time, kept for the next one.
//   runtime/interpreted_loops.hpp  how programs known while compiling find their loops, also without optimisation.
//   runtime/jit.hpp                compile a function on trees once, run it many times.
//   runtime/kernel.hpp             what a kernel gets, and how one is found for an op.
//   runtime/known_program.hpp      what a program known while compiling does at run time, the same for all of them.
//   runtime/program.hpp            a function on trees as a plan, worked out by the compiler.
//   runtime/program_cache.hpp      the programs that were used last, found in constant time.
//   runtime/program_device.hpp     devices that run plans: what graphs and eager ops become on them.
//   runtime/program_run.hpp        one run of a program on a device, the same for all programs.
//   runtime/runner_pool.hpp        runs of a program, each laid out for the extents that it had last.
//   runtime/tree_layout.hpp        where the arrays and static values of a tree lie in an object of its type.
//   runtime/work.hpp               what a step of a program computes and moves, for profiles.
#pragma once

#include <tokamax/runtime/argument_types.hpp>
#include <tokamax/runtime/describe.hpp>
#include <tokamax/runtime/device_put.hpp>
#include <tokamax/runtime/dynamic_program.hpp>
#include <tokamax/runtime/executable.hpp>
#include <tokamax/runtime/filled_literals.hpp>
#include <tokamax/runtime/idle_list.hpp>
#include <tokamax/runtime/interpreted_loops.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/runtime/kernel.hpp>
#include <tokamax/runtime/known_program.hpp>
#include <tokamax/runtime/program.hpp>
#include <tokamax/runtime/program_cache.hpp>
#include <tokamax/runtime/program_device.hpp>
#include <tokamax/runtime/program_run.hpp>
#include <tokamax/runtime/runner_pool.hpp>
#include <tokamax/runtime/tree_layout.hpp>
#include <tokamax/runtime/work.hpp>
