// tokamax/transforms.hpp: all of transforms.
// SPDX-License-Identifier: Apache-2.0
//
//   transforms/arguments.hpp                         how transformations select and check the arguments of a function.
//   transforms/associative_scan.hpp                  all prefixes of a sequence under an associative function, in few large steps.
//   transforms/body.hpp                              functions as bodies of ops: how they are traced, differentiated and batched.
//   transforms/callable.hpp                          what transformations take as a function: objects, functions of the library, and members.
//   transforms/callback.hpp                          lets a program call functions on the host while it runs.
//   transforms/collectives.hpp                       how entries of a named axis communicate: all_gather, psum, pmean, axis_index.
//   transforms/compute_dtype.hpp                     copy a program of f32 into a narrower dtype, except for sums of many numbers.
//   transforms/control_flow/array_function.hpp       what loops see of the functions that they repeat: arrays to arrays.
//   transforms/control_flow/cond.hpp                 one of two functions, or of several, chosen when the program runs.
//   transforms/control_flow/cond_rules.hpp           the op that runs one of several bodies, its derivatives and batches, and how it runs.
//   transforms/control_flow/custom_linear_solve.hpp  solutions of linear systems that are differentiated as such.
//   transforms/control_flow/custom_root.hpp          roots of functions that are differentiated as such.
//   transforms/control_flow/fori_loop.hpp            a loop over the integers from one bound to another.
//   transforms/control_flow/scan.hpp                 a loop over the leading axis whose body is traced once.
//   transforms/control_flow/scan_rules.hpp           the scan op and its derivative and batching rules.
//   transforms/control_flow/scan_run.hpp             how a scan runs its body.
//   transforms/control_flow/scan_unroll.hpp          a scan in which one step of the loop does several steps.
//   transforms/control_flow/while_loop.hpp           a loop that goes on while a predicate holds.
//   transforms/control_flow/while_rules.hpp          the while_loop op, its forward mode and batches, and how it runs.
//   transforms/cost_analysis.hpp                     how much a function computes and how much memory it accesses.
//   transforms/custom/custom_jvp.hpp                 functions with a derivative of their own.
//   transforms/custom/custom_rules.hpp               the parts that custom_jvp and custom_vjp share.
//   transforms/custom/custom_vjp.hpp                 functions with a gradient of their own.
//   transforms/custom/custom_vmap.hpp                functions with a batch rule of their own.
//   transforms/debug_print.hpp                       values printed while a program runs.
//   transforms/eval_shape.hpp                        the types and the graph of a function, without computing it: eval_shape, make_graph.
//   transforms/grad.hpp                              gradients of functions on trees.
//   transforms/jacobian.hpp                          whole Jacobians and Hessians: jacfwd, jacrev, hessian.
//   transforms/jvp.hpp                               the derivative of a function along a direction.
//   transforms/linear_function.hpp                   the linear part of a derivative, as a function that can be called many times.
//   transforms/linear_transpose.hpp                  the transpose of a function that is linear.
//   transforms/linearize.hpp                         a function's value together with its derivative there as a function.
//   transforms/map.hpp                               calls a function for each entry of a sequence, one after the other or a few at a time.
//   transforms/passes/backward.hpp                   reverse mode as a pass over the node table.
//   transforms/passes/batch.hpp                      vectorisation as a pass over the node table. The batch axis is always the first one.
//   transforms/passes/forward.hpp                    forward mode as a pass over the node table.
//   transforms/precision.hpp                         choose the number formats in which a function computes, without changing the function.
//   transforms/remat.hpp                             computes a function again in the backward pass instead of keeping its values in memory.
//   transforms/remat/checkpoint_name.hpp             names of values, by which policies of remat choose.
//   transforms/remat/policies.hpp                    which values remat keeps: those of products, those with names, or some of both.
//   transforms/vjp.hpp                               a function's value together with the transpose of its derivative.
//   transforms/vmap.hpp                              a function of one example as a function of a batch.
#pragma once

#include <tokamax/transforms/arguments.hpp>
#include <tokamax/transforms/associative_scan.hpp>
#include <tokamax/transforms/body.hpp>
#include <tokamax/transforms/callable.hpp>
#include <tokamax/transforms/callback.hpp>
#include <tokamax/transforms/collectives.hpp>
#include <tokamax/transforms/compute_dtype.hpp>
#include <tokamax/transforms/control_flow/array_function.hpp>
#include <tokamax/transforms/control_flow/cond.hpp>
#include <tokamax/transforms/control_flow/cond_rules.hpp>
#include <tokamax/transforms/control_flow/custom_linear_solve.hpp>
#include <tokamax/transforms/control_flow/custom_root.hpp>
#include <tokamax/transforms/control_flow/fori_loop.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/control_flow/scan_rules.hpp>
#include <tokamax/transforms/control_flow/scan_run.hpp>
#include <tokamax/transforms/control_flow/scan_unroll.hpp>
#include <tokamax/transforms/control_flow/while_loop.hpp>
#include <tokamax/transforms/control_flow/while_rules.hpp>
#include <tokamax/transforms/cost_analysis.hpp>
#include <tokamax/transforms/custom/custom_jvp.hpp>
#include <tokamax/transforms/custom/custom_rules.hpp>
#include <tokamax/transforms/custom/custom_vjp.hpp>
#include <tokamax/transforms/custom/custom_vmap.hpp>
#include <tokamax/transforms/debug_print.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/jacobian.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/linear_function.hpp>
#include <tokamax/transforms/linear_transpose.hpp>
#include <tokamax/transforms/linearize.hpp>
#include <tokamax/transforms/map.hpp>
#include <tokamax/transforms/passes/backward.hpp>
#include <tokamax/transforms/passes/batch.hpp>
#include <tokamax/transforms/passes/forward.hpp>
#include <tokamax/transforms/precision.hpp>
#include <tokamax/transforms/remat.hpp>
#include <tokamax/transforms/remat/checkpoint_name.hpp>
#include <tokamax/transforms/remat/policies.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>
