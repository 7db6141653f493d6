// tokamax/runtime.hpp: all of runtime.
// SPDX-License-Identifier: Apache-2.0
//
//   runtime/any_device.hpp               a device that is chosen at run time, as a value.
//   runtime/captured_values.hpp          finds functions whose captured values have changed since they were traced.
//   runtime/choice.hpp                   which implementation of an op computes a call: named, chosen by measurement, or the kernel.
//   runtime/compiled.hpp                 a function of arrays whose type names its arguments and result only, for headers.
//   runtime/composed_kernel.hpp          the meaning of an op as a kernel: a program of the smaller ops that compose names.
//   runtime/describe.hpp                 the graph and the plan of a compiled function, as text.
//   runtime/device_put.hpp               move arrays to a device, and wait for what devices compute.
//   runtime/jit.hpp                      compile a function on trees once, run it many times.
//   runtime/kernel.hpp                   how the kernel of an op on a device is found, and the arguments of loops.
//   runtime/passes_of.hpp                what each pass makes of a program, as text and as drawings.
//   runtime/program/argument_types.hpp   checks arrays that a function takes as tensors, at the call of the jitted function.
//   runtime/program/filled_literals.hpp  data for arguments that are one number in every element.
//   runtime/program/given_tree.hpp       the arguments and the result of one call of a program, as trees of any types.
//   runtime/program/known_arguments.hpp  which calls of a function the compiler can trace, and what is not known of the others.
//   runtime/program/program.hpp          a function on trees as a plan that the compiler has made.
//   runtime/program/program_cache.hpp    the programs that were used last, found in constant time.
//   runtime/program/static_program.hpp   runs programs that are known while compiling, with code that all of them share.
//   runtime/program/symbol_values.hpp    the values that symbols have in a call, and the arguments that say so.
//   runtime/program/traced_program.hpp   programs traced at run time, by the passes that the compiler uses too.
//   runtime/program/tree_layout.hpp      the positions of the arrays and static values of a tree.
//   runtime/program_device.hpp           devices that run plans, for graphs and for eager ops.
//   runtime/run/executable.hpp           a plan bound to kernels and memory, ready to run.
//   runtime/run/executable_type.hpp      the class of a plan that is bound to kernels and memory.
//   runtime/run/idle_list.hpp            objects that one thread uses at a time, and that are kept for the next one.
//   runtime/run/interpreted_loops.hpp    the loops of programs that are known while compiling, also without optimisation.
//   runtime/run/program_run.hpp          one run of a program on a device, the same for all programs.
//   runtime/run/runner_pool.hpp          idle runs of a program, each laid out for the dynamic extents that it had last.
//   runtime/run/running_loop.hpp         the loop of a step, which the kernel of the next step runs part by part.
//   runtime/run/step_error.hpp           exceptions of the steps of programs, which say where in the program they happened.
//   runtime/run/work.hpp                 the operations and bytes of a step of a program, for profiles.
//   runtime/versioned.hpp                weights in versions, which some threads read while another makes the next one.
#pragma once

#include <tokamax/runtime/any_device.hpp>
#include <tokamax/runtime/captured_values.hpp>
#include <tokamax/runtime/choice.hpp>
#include <tokamax/runtime/compiled.hpp>
#include <tokamax/runtime/composed_kernel.hpp>
#include <tokamax/runtime/describe.hpp>
#include <tokamax/runtime/device_put.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/runtime/kernel.hpp>
#include <tokamax/runtime/passes_of.hpp>
#include <tokamax/runtime/program/argument_types.hpp>
#include <tokamax/runtime/program/filled_literals.hpp>
#include <tokamax/runtime/program/given_tree.hpp>
#include <tokamax/runtime/program/known_arguments.hpp>
#include <tokamax/runtime/program/program.hpp>
#include <tokamax/runtime/program/program_cache.hpp>
#include <tokamax/runtime/program/static_program.hpp>
#include <tokamax/runtime/program/symbol_values.hpp>
#include <tokamax/runtime/program/traced_program.hpp>
#include <tokamax/runtime/program/tree_layout.hpp>
#include <tokamax/runtime/program_device.hpp>
#include <tokamax/runtime/run/executable.hpp>
#include <tokamax/runtime/run/executable_type.hpp>
#include <tokamax/runtime/run/idle_list.hpp>
#include <tokamax/runtime/run/interpreted_loops.hpp>
#include <tokamax/runtime/run/program_run.hpp>
#include <tokamax/runtime/run/runner_pool.hpp>
#include <tokamax/runtime/run/running_loop.hpp>
#include <tokamax/runtime/run/step_error.hpp>
#include <tokamax/runtime/run/work.hpp>
#include <tokamax/runtime/versioned.hpp>
