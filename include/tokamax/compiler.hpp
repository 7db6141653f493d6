// tokamax/compiler.hpp: all of compiler.
// SPDX-License-Identifier: Apache-2.0
//
//   compiler/freeze.hpp               exact-size constant copies of what a constant expression built.
//   compiler/passes/donate.hpp        which results of steps are written over operands that are not read again.
//   compiler/passes/fuse.hpp          which elementwise ops share one loop, and in which order loops and kernels run.
//   compiler/passes/group.hpp         small loops of one kernel that wait for nothing in between run at the same time.
//   compiler/passes/loop_builder.hpp  builds one fused loop of a plan, line by line.
//   compiler/passes/lower.hpp         rewrite a traced program into ops that the backend has kernels for.
//   compiler/passes/materialize.hpp   which values of a program lie in memory, and which are computed where they are read.
//   compiler/passes/memory.hpp        one arena for all intermediate buffers of a region.
//   compiler/passes/parts.hpp         kernels and loops write their results where they belong: into a larger array, or in another order.
//   compiler/passes/schedule.hpp      turns a lowered graph into steps, operands and buffers.
//   compiler/passes/split.hpp         the order of a fused group that is too large for one loop, so that it can be cut.
//   compiler/passes/sums.hpp          kernels that add arrays to their result do it for the sums that read the result.
//   compiler/passes/views.hpp         which values are the memory of other values, seen with other strides.
//   compiler/plan.hpp                 the tables that describe how a program runs.
//   compiler/scope_numbers.hpp        the scopes of a graph's nodes as numbers of a list of texts.
//   compiler/text/attribute_text.hpp  attributes, constants and types of a graph's nodes as text.
//   compiler/text/draw.hpp            programs as Graphviz drawings, before and after compilation.
//   compiler/text/loop_text.hpp       fused loops as C++ functions, for compilers of other devices and for readers.
//   compiler/text/parse.hpp           graphs from their text.
//   compiler/text/print.hpp           programs as text, before and after compilation.
//   compiler/text/scope_text.hpp      the scopes of a graph's nodes as text: ` in blocks[3].attend using attention=compose`.
//   compiler/verify.hpp               a verifier of programs: their graph, the lowered graph and the plan.
//   compiler/verify/device_facts.hpp  what the verifier asks a device.
//   compiler/verify/fault.hpp         the names of nodes and steps in errors of the verifier.
//   compiler/verify/graph.hpp         checks that a graph is well formed, traced or lowered.
//   compiler/verify/loops.hpp         checks that the lines of fused loops compute what their slots and registers say.
//   compiler/verify/memory.hpp        follows the steps of a region and checks what lies where in memory.
//   compiler/verify/plan.hpp          checks that a plan reads and writes what it may.
//   compiler/verify/tables.hpp        checks that the tables of a plan fit together, and that it does what its graph says.
#pragma once

#include <tokamax/compiler/freeze.hpp>
#include <tokamax/compiler/passes/donate.hpp>
#include <tokamax/compiler/passes/fuse.hpp>
#include <tokamax/compiler/passes/group.hpp>
#include <tokamax/compiler/passes/loop_builder.hpp>
#include <tokamax/compiler/passes/lower.hpp>
#include <tokamax/compiler/passes/materialize.hpp>
#include <tokamax/compiler/passes/memory.hpp>
#include <tokamax/compiler/passes/parts.hpp>
#include <tokamax/compiler/passes/schedule.hpp>
#include <tokamax/compiler/passes/split.hpp>
#include <tokamax/compiler/passes/sums.hpp>
#include <tokamax/compiler/passes/views.hpp>
#include <tokamax/compiler/plan.hpp>
#include <tokamax/compiler/scope_numbers.hpp>
#include <tokamax/compiler/text/attribute_text.hpp>
#include <tokamax/compiler/text/draw.hpp>
#include <tokamax/compiler/text/loop_text.hpp>
#include <tokamax/compiler/text/parse.hpp>
#include <tokamax/compiler/text/print.hpp>
#include <tokamax/compiler/text/scope_text.hpp>
#include <tokamax/compiler/verify.hpp>
#include <tokamax/compiler/verify/device_facts.hpp>
#include <tokamax/compiler/verify/fault.hpp>
#include <tokamax/compiler/verify/graph.hpp>
#include <tokamax/compiler/verify/loops.hpp>
#include <tokamax/compiler/verify/memory.hpp>
#include <tokamax/compiler/verify/plan.hpp>
#include <tokamax/compiler/verify/tables.hpp>
