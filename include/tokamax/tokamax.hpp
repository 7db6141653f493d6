// tokamax/tokamax.hpp: what most programs use: arrays, operations, transformations, layers, optimizers, and the CPU.
// SPDX-License-Identifier: Apache-2.0
//
//   backend/cpu.hpp                        all of backend/cpu.
//   base.hpp                               all of base.
//   compiler.hpp                           all of compiler.
//   core/arguments.hpp                     how functions refuse the arguments that they share: axes, extents and counts.
//   core/array.hpp                         the one array type, abstract, traced or concrete.
//   core/arrays_of.hpp                     a known number of arrays, which can be taken apart.
//   core/attributes/dot_algorithm.hpp      how the products of an op multiply and add.
//   core/attributes/facts.hpp              facts among the attributes of nodes and calls, found by their kind.
//   core/attributes/kinds.hpp              the kinds of attributes, and the C++ types that stand for them in options records.
//   core/attributes/pack.hpp               options records as lists of 64-bit words, in which graphs keep attributes.
//   core/attributes/schema.hpp             what an op's options record tells about its attribute words.
//   core/attributes/text_attribute.hpp     text as an attribute of an op, such as the name of an axis.
//   core/bind.hpp                          apply an op to arrays: trace it, run it, or work out its type.
//   core/context.hpp                       what the work of a thread has around it, such as a trace, an observer and choices.
//   core/device.hpp                        where arrays lie and programs run: memory, a queue, and kernels for ops.
//   core/eager.hpp                         ops and graphs that run at once, on the device of their data.
//   core/effect.hpp                        which calls have an effect, and effects that belong to no program.
//   core/event.hpp                         the end of work that a device does asynchronously.
//   core/graph.hpp                         the flat table of nodes that every pass reads and writes. Equal nodes are in it once.
//   core/graph/composed.hpp                the meaning of a call in smaller ops, as a graph.
//   core/graph/cost.hpp                    the cost of calls and of graphs, from the facts of their ops.
//   core/graph/dependencies.hpp            the nodes that some values depend on, in an order that the program alone decides.
//   core/graph/inline.hpp                  copy the nodes of one graph into another, and replace some of them on the way.
//   core/graph/open_graph.hpp              functions of constants that are traced while compiling, inside other traces or outside.
//   core/kernel_arguments.hpp              the arguments of a kernel, and how the kernel of an op with bodies calls them.
//   core/leaf_filter.hpp                   filters that choose leaves of a tree by kind, layer or path, joined by &&, || and !.
//   core/leaf_kind.hpp                     kinds of leaves, which types tell apart: parameters are trained, others are not.
//   core/memory/buffer.hpp                 reference-counted storage.
//   core/memory/buffer_pool.hpp            the pool of host memory, so that a repeated step allocates nothing and idle memory is released.
//   core/memory/literal_data.hpp           the elements of arrays that are one number everywhere, for those who read them.
//   core/memory/step_scratch.hpp           scratch memory of the host's kernels, borrowed from the pool until a step ends.
//   core/number_dtype.hpp                  the dtypes that numbers of C++ have in arrays.
//   core/op.hpp                            the op descriptor: a name and rules, which are constexpr functions with one signature.
//   core/op_cost.hpp                       the work of an op: floating-point operations, transcendental functions, and bytes.
//   core/partition.hpp                     split a tree in two by the paths of its leaves, and put it together again.
//   core/print.hpp                         arrays as text, in NumPy's format.
//   core/refused_arrays.hpp                arrays that no op takes: of a trace that has ended, or without data beside others.
//   core/scope/copied_scopes.hpp           the scopes of nodes that are copied from one graph into another.
//   core/scope/layer_scope.hpp             names the nodes of a layer by the path of the layer in its model.
//   core/scope/leaf_path.hpp               the path of the argument's leaf that a value of a trace is.
//   core/scope/name_table.hpp              the names of the parts of a program, kept once each and numbered.
//   core/scope/named_inputs.hpp            the leaves of an argument as inputs of a graph, which know their paths.
//   core/scope/named_scope.hpp             names for the parts of a program, which its nodes keep.
//   core/scope/scope.hpp                   to which part of a program nodes belong, and what was decided for it.
//   core/scope/scope_list.hpp              scopes as one table of text, for what outlives the graph.
//   core/scope/use_implementation.hpp      names the implementation of an op for a part of a program.
//   core/spelled.hpp                       a value type that records what an element function does, so that loops can be printed.
//   core/structural_ops.hpp                the ops that a graph has of itself: constants, captured data, and results of several.
//   core/symbolic.hpp                      arguments with extents that are symbols, so that one trace at run time serves all values.
//   core/tensor.hpp                        an array whose dtype and shape are part of its type, for the boundaries of a program.
//   core/trace.hpp                         call a function with its arguments as nodes of a graph.
//   core/trace_life.hpp                    how an array knows at run time whether the graph that it points to still exists.
//   core/type.hpp                          what is known of an array without its data, and its text form for messages.
//   lax.hpp                                all of lax.
//   models/gpt.hpp                         a decoder-only transformer, with its size fixed in its type or chosen at run time.
//   nn/attention/attention.hpp             multi-head self-attention with learned projections.
//   nn/copies.hpp                          equal layers in a row.
//   nn/dropout.hpp                         zero random elements while training.
//   nn/initializers/init.hpp               give the parameters of a model their first values.
//   nn/initializers/initializers.hpp       functions (key, shape) -> array that parameters start from.
//   nn/linear/embed.hpp                    a learned vector for each of a number of ids.
//   nn/linear/linear.hpp                   a matrix product with learned weights.
//   nn/linear/mlp.hpp                      two linear layers with a nonlinearity between them, plain and gated.
//   nn/mode.hpp                            whether a layer is trained or used.
//   nn/norms/layer_norm.hpp                layer_norm with a learned scale and offset.
//   nn/norms/rms_norm.hpp                  rms_norm with a learned scale.
//   nn/statistic.hpp                       an array that a layer computes while it is trained, such as a running mean.
//   numpy/arange.hpp                       numbers in order, and the identity matrix: arange and eye.
//   numpy/clip.hpp                         numbers held between two bounds.
//   numpy/creation/matrices.hpp            diagonals and triangles of matrices: eye, tri, tril, diag, trace, vander, tril_indices.
//   numpy/creation/ranges.hpp              numbers in order: arange with a step, linspace, logspace, geomspace, meshgrid.
//   numpy/einsum.hpp                       sums of products written as an equation, as transposes, sums and dot_generals.
//   numpy/elementwise/arithmetic.hpp       NumPy's arithmetic of two arrays: fmax, fmod, divmod, gcd, heaviside, rounding.
//   numpy/elementwise/bits.hpp             NumPy's names for logic and bits, and truth values packed into bytes.
//   numpy/elementwise/exponential.hpp      logarithms to other bases, hypot, angles in degrees, and sinc.
//   numpy/elementwise/parts.hpp            signs, fractions and exponents of numbers, and what replaces NaN.
//   numpy/elementwise/predicates.hpp       questions about numbers: NaN, infinite, close, equal.
//   numpy/elementwise/trigonometric.hpp    NumPy's names of inverse functions, and unwrap.
//   numpy/floor_divide.hpp                 quotients and remainders of flooring division.
//   numpy/indexing/at.hpp                  parts of arrays by any indices, x(...), and arrays with parts changed, x.at(...).set(y).
//   numpy/indexing/choose.hpp              elements by conditions and numbers: select, choose, piecewise, put_along_axis, delete.
//   numpy/indexing/index_expression.hpp    what may stand between the parentheses of x(...): numbers, ranges, arrays, masks.
//   numpy/indexing/plan.hpp                indices of every kind, brought to one form: the rows of a table and their places.
//   numpy/manipulation/axes.hpp            the order and number of axes: moveaxis, squeeze, ravel, atleast_2d, broadcast_arrays.
//   numpy/manipulation/flip.hpp            elements in another order: flip, rot90, roll.
//   numpy/manipulation/join.hpp            arrays put together and taken apart: hstack, append, block, array_split, unstack.
//   numpy/manipulation/pad.hpp             elements added around an array: constants, copies of its edges, mirror images.
//   numpy/manipulation/repeat.hpp          copies of elements and of whole arrays: repeat, tile, resize.
//   numpy/matmul.hpp                       matrix products, batched and broadcast as NumPy does.
//   numpy/reductions/cumulative.hpp        running products and differences: cumulative_sum, nancumsum, diff, ediff1d.
//   numpy/reductions/products.hpp          counts, products, ranges and averages of elements: count_nonzero, ptp, std, average.
//   numpy/sorting/order.hpp                orders by several keys, partitions, and places in sorted arrays.
//   numpy/statistics.hpp                   mean and variance.
//   numpy/take.hpp                         elements by index along one axis.
//   numpy/take_along_axis.hpp              one index per line of an array.
//   numpy/where.hpp                        one of two values by a condition.
//   ops/activations.hpp                    the nonlinearities between layers.
//   ops/attention.hpp                      scaled dot-product attention with grouped heads, biases, masks, windows and sinks.
//   ops/attention/attention.hpp            the op attention and its gradients, which devices have kernels for.
//   ops/attention/fast_attention.hpp       attention with the options that the op attention has, by that op.
//   ops/attention/flex_blocks.hpp          flex_attention block by block, in memory that grows with the lengths alone.
//   ops/attention/flex_functions.hpp       the score and mask functions of flex_attention, and what can be made of them.
//   ops/attention/layout.hpp               the attributes of attention, and the products with heads that are grouped by key.
//   ops/attention/mask.hpp                 which keys a query sees, as a value: ranges, windows, chunks, segments, and their unions.
//   ops/attention/mask_operands.hpp        a mask as attributes and operands of the op attention, small ones where it can be.
//   ops/attention/operands.hpp             checks the arrays of dot_product_attention, and gives them one batch axis.
//   ops/attention/options.hpp              how dot_product_attention is asked to behave.
//   ops/attention/partial_attention.hpp    attention to a part of the keys, and how such parts become one result.
//   ops/attention/plain.hpp                attention in plain ops, with everything that may be done to its scores.
//   ops/attention/window.hpp               how far around its own position a query sees.
//   ops/attention/with_options.hpp         attention with any options in plain ops, from arrays with any batch axes.
//   ops/cross_entropy.hpp                  the loss of classification, without a table of probabilities in memory.
//   ops/gated_linear_unit.hpp              a product of two projections, one of them after an activation.
//   ops/layer_norm.hpp                     normalise an axis to zero mean and unit variance.
//   ops/layer_norm_across.hpp              layer_norm of an axis with long rows after it, as one op.
//   ops/linear_cross_entropy.hpp           the loss of a last layer and its softmax, without all logits in memory.
//   ops/linear_softmax_cross_entropy.hpp   the loss of a language model from its last layer's input to one number.
//   ops/piecewise_activations.hpp          activations of few operations: hard_tanh, hard_sigmoid, celu, mish, glu, squareplus.
//   ops/rms_norm.hpp                       scale an axis to a root mean square of one.
//   ops/rotary_embedding.hpp               turn pairs of features by angles that grow with the position.
//   ops/softmax.hpp                        softmax, log_softmax and logsumexp, stable for large values.
//   ops/standardize.hpp                    arrays of mean 0 and variance 1, without parameters.
//   optim/adaptive/adam.hpp                adam, and adamw with decoupled weight decay.
//   optim/adaptive/rmsprop.hpp             rmsprop and adagrad, which divide by the root of squares seen so far.
//   optim/descent/lion.hpp                 steps by the sign of an average gradient.
//   optim/descent/sgd.hpp                  gradient descent, with momentum if asked for.
//   optim/schedules/join_schedules.hpp     schedules made of others, or of pieces.
//   optim/schedules/reduce_on_plateau.hpp  smaller steps when the loss stops falling.
//   optim/schedules/schedule.hpp           learning rates as functions of the step.
//   optim/transform.hpp                    gradient transforms as values, chained, and applied to parameters.
//   optim/transforms/clip.hpp              bound updates, element by element or by their joint norm.
//   optim/transforms/masked.hpp            transforms for some of the parameters, chosen by path or array.
//   optim/transforms/moments.hpp           averages of gradients and of their squares, which several transforms divide by one another.
//   optim/transforms/scale.hpp             multiply updates, by a number or by the learning rate of the step, and add weight decay.
//   random.hpp                             all of random.
//   runtime/any_device.hpp                 a device that is chosen at run time, as a value.
//   runtime/captured_values.hpp            finds functions whose captured values have changed since they were traced.
//   runtime/choice.hpp                     which implementation of an op computes a call: named, chosen by measurement, or the kernel.
//   runtime/composed_kernel.hpp            the meaning of an op as a kernel: a program of the smaller ops that compose names.
//   runtime/describe.hpp                   the graph and the plan of a compiled function, as text.
//   runtime/device_put.hpp                 move arrays to a device, and wait for what devices compute.
//   runtime/jit.hpp                        compile a function on trees once, run it many times.
//   runtime/kernel.hpp                     how the kernel of an op on a device is found, and the arguments of loops.
//   runtime/passes_of.hpp                  what each pass makes of a program, as text and as drawings.
//   runtime/program/argument_types.hpp     checks arrays that a function takes as tensors, at the call of the jitted function.
//   runtime/program/filled_literals.hpp    data for arguments that are one number in every element.
//   runtime/program/given_tree.hpp         the arguments and the result of one call of a program, as trees of any types.
//   runtime/program/known_arguments.hpp    which calls of a function the compiler can trace, and what is not known of the others.
//   runtime/program/program.hpp            a function on trees as a plan that the compiler has made.
//   runtime/program/program_cache.hpp      the programs that were used last, found in constant time.
//   runtime/program/static_program.hpp     runs programs that are known while compiling, with code that all of them share.
//   runtime/program/symbol_values.hpp      the values that symbols have in a call, and the arguments that say so.
//   runtime/program/traced_program.hpp     programs traced at run time, by the passes that the compiler uses too.
//   runtime/program/tree_layout.hpp        the positions of the arrays and static values of a tree.
//   runtime/program_device.hpp             devices that run plans, for graphs and for eager ops.
//   runtime/run/executable.hpp             a plan bound to kernels and memory, ready to run.
//   runtime/run/executable_type.hpp        the class of a plan that is bound to kernels and memory.
//   runtime/run/idle_list.hpp              objects that one thread uses at a time, and that are kept for the next one.
//   runtime/run/interpreted_loops.hpp      the loops of programs that are known while compiling, also without optimisation.
//   runtime/run/program_run.hpp            one run of a program on a device, the same for all programs.
//   runtime/run/runner_pool.hpp            idle runs of a program, each laid out for the dynamic extents that it had last.
//   runtime/run/running_loop.hpp           the loop of a step, which the kernel of the next step runs part by part.
//   runtime/run/step_error.hpp             exceptions of the steps of programs, which say where in the program they happened.
//   runtime/run/work.hpp                   the operations and bytes of a step of a program, for profiles.
//   train.hpp                              all of train.
//   transforms.hpp                         all of transforms.
//
// Further headers, which programs include beside it:
//
//   backend/cuda.hpp      NVIDIA GPUs.
//   backend/far.hpp       devices for tests.
//   backend/systolic.hpp  a simulated TPU: its chips, arrays, clock and pictures.
//   benchmarking.hpp      all of benchmarking. A program includes it where it measures itself.
//   checkpoint.hpp        model, optimiser state and position in the data, saved whole or not at all.
//   complex.hpp           all of complex.
//   core.hpp              all of core.
//   data.hpp              pipelines from a text to batches, read from any position.
//   images.hpp            all of images: pixels of JPEG and PNG files, for programs that link tokamax::images.
//   kernel.hpp            kernels on blocks of arrays, written once for all devices.
//   linalg.hpp            all of linalg.
//   models.hpp            all of models.
//   nn.hpp                all of nn.
//   numpy.hpp             all of numpy.
//   ops.hpp               all of ops.
//   optim.hpp             all of optim.
//   profile.hpp           all of profile. A program includes it where it looks at itself.
//   quant.hpp             all of quant.
//   runtime.hpp           all of runtime.
//   scipy.hpp             all of scipy.
//   serve/grammar.hpp     all of serve/grammar: answers that are held to schemas and grammars, for programs that link tokamax::text.
//   serve/http.hpp        all of serve/http: a server of language models over HTTP, for programs that link tokamax::http.
//   serve/llm.hpp         all of serve/llm: an engine that answers many requests of a language model at once.
//   stablehlo.hpp         programs that were exported as StableHLO; link tokamax::stablehlo.
//   text.hpp              all of text: tokenizers, for programs that link tokamax::text.
//   zlib.hpp              all of zlib: files compressed by deflate, for programs that link tokamax::zlib.
//   zstd.hpp              all of zstd: files compressed by Zstandard, for programs that link tokamax::zstd.
#pragma once

#include <tokamax/backend/cpu.hpp>
#include <tokamax/base.hpp>
#include <tokamax/compiler.hpp>
#include <tokamax/core/arguments.hpp>
#include <tokamax/core/array.hpp>
#include <tokamax/core/arrays_of.hpp>
#include <tokamax/core/attributes/dot_algorithm.hpp>
#include <tokamax/core/attributes/facts.hpp>
#include <tokamax/core/attributes/kinds.hpp>
#include <tokamax/core/attributes/pack.hpp>
#include <tokamax/core/attributes/schema.hpp>
#include <tokamax/core/attributes/text_attribute.hpp>
#include <tokamax/core/bind.hpp>
#include <tokamax/core/context.hpp>
#include <tokamax/core/device.hpp>
#include <tokamax/core/eager.hpp>
#include <tokamax/core/effect.hpp>
#include <tokamax/core/event.hpp>
#include <tokamax/core/graph.hpp>
#include <tokamax/core/graph/composed.hpp>
#include <tokamax/core/graph/cost.hpp>
#include <tokamax/core/graph/dependencies.hpp>
#include <tokamax/core/graph/inline.hpp>
#include <tokamax/core/graph/open_graph.hpp>
#include <tokamax/core/kernel_arguments.hpp>
#include <tokamax/core/leaf_filter.hpp>
#include <tokamax/core/leaf_kind.hpp>
#include <tokamax/core/memory/buffer.hpp>
#include <tokamax/core/memory/buffer_pool.hpp>
#include <tokamax/core/memory/literal_data.hpp>
#include <tokamax/core/memory/step_scratch.hpp>
#include <tokamax/core/number_dtype.hpp>
#include <tokamax/core/op.hpp>
#include <tokamax/core/op_cost.hpp>
#include <tokamax/core/partition.hpp>
#include <tokamax/core/print.hpp>
#include <tokamax/core/refused_arrays.hpp>
#include <tokamax/core/scope/copied_scopes.hpp>
#include <tokamax/core/scope/layer_scope.hpp>
#include <tokamax/core/scope/leaf_path.hpp>
#include <tokamax/core/scope/name_table.hpp>
#include <tokamax/core/scope/named_inputs.hpp>
#include <tokamax/core/scope/named_scope.hpp>
#include <tokamax/core/scope/scope.hpp>
#include <tokamax/core/scope/scope_list.hpp>
#include <tokamax/core/scope/use_implementation.hpp>
#include <tokamax/core/spelled.hpp>
#include <tokamax/core/structural_ops.hpp>
#include <tokamax/core/symbolic.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/core/trace.hpp>
#include <tokamax/core/trace_life.hpp>
#include <tokamax/core/type.hpp>
#include <tokamax/lax.hpp>
#include <tokamax/models/gpt.hpp>
#include <tokamax/nn/attention/attention.hpp>
#include <tokamax/nn/copies.hpp>
#include <tokamax/nn/dropout.hpp>
#include <tokamax/nn/initializers/init.hpp>
#include <tokamax/nn/initializers/initializers.hpp>
#include <tokamax/nn/linear/embed.hpp>
#include <tokamax/nn/linear/linear.hpp>
#include <tokamax/nn/linear/mlp.hpp>
#include <tokamax/nn/mode.hpp>
#include <tokamax/nn/norms/layer_norm.hpp>
#include <tokamax/nn/norms/rms_norm.hpp>
#include <tokamax/nn/statistic.hpp>
#include <tokamax/numpy/arange.hpp>
#include <tokamax/numpy/clip.hpp>
#include <tokamax/numpy/creation/matrices.hpp>
#include <tokamax/numpy/creation/ranges.hpp>
#include <tokamax/numpy/einsum.hpp>
#include <tokamax/numpy/elementwise/arithmetic.hpp>
#include <tokamax/numpy/elementwise/bits.hpp>
#include <tokamax/numpy/elementwise/exponential.hpp>
#include <tokamax/numpy/elementwise/parts.hpp>
#include <tokamax/numpy/elementwise/predicates.hpp>
#include <tokamax/numpy/elementwise/trigonometric.hpp>
#include <tokamax/numpy/floor_divide.hpp>
#include <tokamax/numpy/indexing/at.hpp>
#include <tokamax/numpy/indexing/choose.hpp>
#include <tokamax/numpy/indexing/index_expression.hpp>
#include <tokamax/numpy/indexing/plan.hpp>
#include <tokamax/numpy/manipulation/axes.hpp>
#include <tokamax/numpy/manipulation/flip.hpp>
#include <tokamax/numpy/manipulation/join.hpp>
#include <tokamax/numpy/manipulation/pad.hpp>
#include <tokamax/numpy/manipulation/repeat.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/reductions/cumulative.hpp>
#include <tokamax/numpy/reductions/products.hpp>
#include <tokamax/numpy/sorting/order.hpp>
#include <tokamax/numpy/statistics.hpp>
#include <tokamax/numpy/take.hpp>
#include <tokamax/numpy/take_along_axis.hpp>
#include <tokamax/numpy/where.hpp>
#include <tokamax/ops/activations.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/ops/attention/attention.hpp>
#include <tokamax/ops/attention/fast_attention.hpp>
#include <tokamax/ops/attention/flex_blocks.hpp>
#include <tokamax/ops/attention/flex_functions.hpp>
#include <tokamax/ops/attention/layout.hpp>
#include <tokamax/ops/attention/mask.hpp>
#include <tokamax/ops/attention/mask_operands.hpp>
#include <tokamax/ops/attention/operands.hpp>
#include <tokamax/ops/attention/options.hpp>
#include <tokamax/ops/attention/partial_attention.hpp>
#include <tokamax/ops/attention/plain.hpp>
#include <tokamax/ops/attention/window.hpp>
#include <tokamax/ops/attention/with_options.hpp>
#include <tokamax/ops/cross_entropy.hpp>
#include <tokamax/ops/gated_linear_unit.hpp>
#include <tokamax/ops/layer_norm.hpp>
#include <tokamax/ops/layer_norm_across.hpp>
#include <tokamax/ops/linear_cross_entropy.hpp>
#include <tokamax/ops/linear_softmax_cross_entropy.hpp>
#include <tokamax/ops/piecewise_activations.hpp>
#include <tokamax/ops/rms_norm.hpp>
#include <tokamax/ops/rotary_embedding.hpp>
#include <tokamax/ops/softmax.hpp>
#include <tokamax/ops/standardize.hpp>
#include <tokamax/optim/adaptive/adam.hpp>
#include <tokamax/optim/adaptive/rmsprop.hpp>
#include <tokamax/optim/descent/lion.hpp>
#include <tokamax/optim/descent/sgd.hpp>
#include <tokamax/optim/schedules/join_schedules.hpp>
#include <tokamax/optim/schedules/reduce_on_plateau.hpp>
#include <tokamax/optim/schedules/schedule.hpp>
#include <tokamax/optim/transform.hpp>
#include <tokamax/optim/transforms/clip.hpp>
#include <tokamax/optim/transforms/masked.hpp>
#include <tokamax/optim/transforms/moments.hpp>
#include <tokamax/optim/transforms/scale.hpp>
#include <tokamax/random.hpp>
#include <tokamax/runtime/any_device.hpp>
#include <tokamax/runtime/captured_values.hpp>
#include <tokamax/runtime/choice.hpp>
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
#include <tokamax/train.hpp>
#include <tokamax/transforms.hpp>

#include <tokamax/core/generated/declared_elsewhere.hpp>
