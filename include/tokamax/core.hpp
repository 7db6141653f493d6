// tokamax/core.hpp: all of core.
// SPDX-License-Identifier: Apache-2.0
//
//   core/arguments.hpp                  how functions refuse the arguments that they share: axes, extents and counts.
//   core/array.hpp                      the one array type, abstract, traced or concrete.
//   core/arrays_of.hpp                  a known number of arrays, which can be taken apart.
//   core/attributes/dot_algorithm.hpp   how the products of an op multiply and add.
//   core/attributes/facts.hpp           facts among the attributes of nodes and calls, found by their kind.
//   core/attributes/kinds.hpp           the kinds of attributes, and the C++ types that stand for them in options records.
//   core/attributes/pack.hpp            options records as lists of 64-bit words, in which graphs keep attributes.
//   core/attributes/schema.hpp          what an op's options record tells about its attribute words.
//   core/attributes/text_attribute.hpp  text as an attribute of an op, such as the name of an axis.
//   core/bind.hpp                       apply an op to arrays: trace it, run it, or work out its type.
//   core/context.hpp                    what the work of a thread has around it, such as a trace, an observer and choices.
//   core/device.hpp                     where arrays lie and programs run: memory, a queue, and kernels for ops.
//   core/eager.hpp                      ops and graphs that run at once, on the device of their data.
//   core/effect.hpp                     which calls have an effect, and effects that belong to no program.
//   core/event.hpp                      the end of work that a device does asynchronously.
//   core/graph.hpp                      the flat table of nodes that every pass reads and writes. Equal nodes are in it once.
//   core/graph/composed.hpp             the meaning of a call in smaller ops, as a graph.
//   core/graph/cost.hpp                 the cost of calls and of graphs, from the facts of their ops.
//   core/graph/dependencies.hpp         the nodes that some values depend on, in an order that the program alone decides.
//   core/graph/inline.hpp               copy the nodes of one graph into another, and replace some of them on the way.
//   core/graph/open_graph.hpp           functions of constants that are traced while compiling, inside other traces or outside.
//   core/kernel_arguments.hpp           the arguments of a kernel, and how the kernel of an op with bodies calls them.
//   core/leaf_filter.hpp                filters that choose leaves of a tree by kind, layer or path, joined by &&, || and !.
//   core/leaf_kind.hpp                  kinds of leaves, which types tell apart: parameters are trained, others are not.
//   core/memory/buffer.hpp              reference-counted storage.
//   core/memory/buffer_pool.hpp         the pool of host memory, so that a repeated step allocates nothing and idle memory is released.
//   core/memory/literal_data.hpp        the elements of arrays that are one number everywhere, for those who read them.
//   core/memory/step_scratch.hpp        scratch memory of the host's kernels, borrowed from the pool until a step ends.
//   core/number_dtype.hpp               the dtypes that numbers of C++ have in arrays.
//   core/op.hpp                         the op descriptor: a name and rules, which are constexpr functions with one signature.
//   core/op_cost.hpp                    the work of an op: floating-point operations, transcendental functions, and bytes.
//   core/partition.hpp                  split a tree in two by the paths of its leaves, and put it together again.
//   core/print.hpp                      arrays as text, in NumPy's format.
//   core/refused_arrays.hpp             arrays that no op takes: of a trace that has ended, or without data beside others.
//   core/scope/copied_scopes.hpp        the scopes of nodes that are copied from one graph into another.
//   core/scope/layer_scope.hpp          names the nodes of a layer by the path of the layer in its model.
//   core/scope/leaf_path.hpp            the path of the argument's leaf that a value of a trace is.
//   core/scope/name_table.hpp           the names of the parts of a program, kept once each and numbered.
//   core/scope/named_inputs.hpp         the leaves of an argument as inputs of a graph, which know their paths.
//   core/scope/named_scope.hpp          names for the parts of a program, which its nodes keep.
//   core/scope/scope.hpp                to which part of a program nodes belong, and what was decided for it.
//   core/scope/scope_list.hpp           scopes as one table of text, for what outlives the graph.
//   core/scope/use_implementation.hpp   names the implementation of an op for a part of a program.
//   core/spelled.hpp                    a value type that records what an element function does, so that loops can be printed.
//   core/structural_ops.hpp             the ops that a graph has of itself: constants, captured data, and results of several.
//   core/symbolic.hpp                   arguments with extents that are symbols, so that one trace at run time serves all values.
//   core/tensor.hpp                     an array whose dtype and shape are part of its type, for the boundaries of a program.
//   core/trace.hpp                      call a function with its arguments as nodes of a graph.
//   core/trace_life.hpp                 how an array knows at run time whether the graph that it points to still exists.
//   core/type.hpp                       what is known of an array without its data, and its text form for messages.
//   core/with_context.hpp               functions that other threads run as if they were on this one.
#pragma once

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
#include <tokamax/core/with_context.hpp>
