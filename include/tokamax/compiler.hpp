// tokamax/compiler.hpp: all of compiler.
// SPDX-License-Identifier: Apache-2.0
//
//   compiler/attribute_text.hpp       attributes, constants and types of a graph's nodes as text.
//   compiler/donate.hpp               which results of steps are written over operands that are not read again.
//   compiler/draw.hpp                 programs as Graphviz drawings, before and after compilation.
//   compiler/freeze.hpp               exact-size constant copies of what a constant expression built.
//   compiler/fuse.hpp                 which elementwise ops share one loop, and in which order loops and kernels run.
//   compiler/group.hpp                small loops of one kernel that wait for nothing in between run at the same time.
//   compiler/loop_builder.hpp         builds one fused loop of a plan, line by line.
//   compiler/loop_text.hpp            fused loops as C++ functions, for compilers of other devices and for readers.
//   compiler/lower.hpp                rewrite a traced program into ops that the backend has kernels for.
//   compiler/materialize.hpp          which values of a program lie in memory, and which are computed where they are read.
//   compiler/memory.hpp               one arena for all intermediate buffers of a region.
//   compiler/parse.hpp                graphs from their text.
//   compiler/parts.hpp                kernels and loops write their results where they belong: into a larger array, or in another order.
//   compiler/plan.hpp                 the tables that describe how a program runs.
//   compiler/print.hpp                programs as text, before and after compilation.
//   compiler/schedule.hpp             turns a lowered graph into steps, operands and buffers.
//   compiler/scope_numbers.hpp        the scopes of a graph's nodes as numbers of a list of texts.
//   compiler/scope_text.hpp           the scopes of a graph's nodes as text: ` in blocks[3].attend using attention=compose`.
//   compiler/split.hpp                the order of a fused group that is too large for one loop, so that it can be cut.
//   compiler/sums.hpp                 kernels that add arrays to their result do it for the sums that read the result.
//   compiler/verify.hpp               a verifier of programs: their graph, the lowered graph and the plan.
//   compiler/verify/device_facts.hpp  what the verifier asks a device.
//   compiler/verify/fault.hpp         the names of nodes and steps in errors of the verifier.
//   compiler/verify/graph.hpp         checks that a graph is well formed, traced or lowered.
//   compiler/verify/loops.hpp         checks that the lines of fused loops compute what their slots and registers say.
//   compiler/verify/memory.hpp        follows the steps of a region and checks what lies where in memory.
//   compiler/verify/plan.hpp          checks that a plan reads and writes what it may.
//   compiler/verify/tables.hpp        checks that the tables of a plan fit together, and that it does what its graph says.
//   compiler/views.hpp                which values are the memory of other values, seen with other strides.
#pragma once

#include <tokamax/compiler/attribute_text.hpp>
#include <tokamax/compiler/donate.hpp>
#include <tokamax/compiler/draw.hpp>
#include <tokamax/compiler/freeze.hpp>
#include <tokamax/compiler/fuse.hpp>
#include <tokamax/compiler/group.hpp>
#include <tokamax/compiler/loop_builder.hpp>
#include <tokamax/compiler/loop_text.hpp>
#include <tokamax/compiler/lower.hpp>
#include <tokamax/compiler/materialize.hpp>
#include <tokamax/compiler/memory.hpp>
#include <tokamax/compiler/parse.hpp>
#include <tokamax/compiler/parts.hpp>
#include <tokamax/compiler/plan.hpp>
#include <tokamax/compiler/print.hpp>
#include <tokamax/compiler/schedule.hpp>
#include <tokamax/compiler/scope_numbers.hpp>
#include <tokamax/compiler/scope_text.hpp>
#include <tokamax/compiler/split.hpp>
#include <tokamax/compiler/sums.hpp>
#include <tokamax/compiler/verify.hpp>
#include <tokamax/compiler/verify/device_facts.hpp>
#include <tokamax/compiler/verify/fault.hpp>
#include <tokamax/compiler/verify/graph.hpp>
#include <tokamax/compiler/verify/loops.hpp>
#include <tokamax/compiler/verify/memory.hpp>
#include <tokamax/compiler/verify/plan.hpp>
#include <tokamax/compiler/verify/tables.hpp>
#include <tokamax/compiler/views.hpp>
