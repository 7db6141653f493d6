// tokamax/compiler/verify.hpp: a verifier of programs: their graph, the lowered graph and the plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>            // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/verify/device_facts.hpp>  // device_facts

namespace tokamax {

struct graph;

/// Is each program verified when it is made? The variable TOKAMAX_VERIFY=1 of the environment asks for it, and
/// `verify_programs`. A program that is known while compiling is verified at its first call, others after each pass.
///
/// errors  what is wrong, of which node or step, what was found and expected, and its scope and line. Such an error is a mistake
///         of a pass, of a rule of an op or of a device's facts about its kernels
bool verifies_programs();
/// Asks that all programs made from now on are verified, or that none is.
void verify_programs(bool on);

/// Checks a traced graph and its bodies:
///
///   order       operands are earlier nodes, outputs and effects are nodes, effects in the order of the program
///   types       those that `infer` gives for the types of the operands; `get` picks a result that exists
///   attributes  the words are those of the schema: their number, lists, truth values and dtypes; constants have their elements
///   bodies      inputs and outputs of loops and branches fit operands and results; captured data is there
///
/// errors  tokamax::error "verify: ..." with the op, the number, the scope and the line of the node
void verify_graph(const graph& g);

/// The same for a lowered graph: types may also be those of operands that products round, and of joined sums. Markers are gone,
/// and so is each op that has a meaning in smaller ops and no kernel on the device.
void verify_lowered(const graph& g, const device_facts& device);

/// Checks a plan:
///
///   tables   ranges, kinds and dtypes; the lines of loops; effects in the order of the program; bodies that fit their calls
///   strides  offset + strides x extents of each operand inside of its buffer
///   order    nothing is read before it is written in full, and each part of a buffer has one writer
///   memory   a result lies where nothing is that is read later, unless the plan lets the step write over its operand; this holds
///            whether inputs are donated or not. Offsets in the arena are multiples of 64 bytes
///
/// A plan with dynamic extents is laid out and checked for several values of its symbols, 0 among them. `takes` are the facts of
/// the kernels of `p.ops`. With the graph, each node has its step, with its types and attributes, and errors name the line.
///
/// errors  tokamax::error "verify: ..." with the number of the step, its op or loop, scope and line
void verify_plan(const plan_view& p, const kernel_takes* takes = nullptr, const graph* lowered = nullptr);

}  // namespace tokamax

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/verify/graph.hpp>  // graph_verifier
  #include <tokamax/compiler/verify/plan.hpp>   // plan_layout

  #include <atomic>   // atomic
  #include <cstdlib>  // getenv
  #include <vector>   // vector

namespace tokamax {
namespace detail {
inline std::atomic<bool>& program_verification() {
  static std::atomic<bool> on = [] {
    const char* const asked = std::getenv("TOKAMAX_VERIFY");
    return asked && *asked == '1';
  }();
  return on;
}
}  // namespace detail

TOKAMAX_COMPILED_ONCE bool verifies_programs() {
  return detail::program_verification().load(std::memory_order_relaxed);
}
TOKAMAX_COMPILED_ONCE void verify_programs(bool on) {
  detail::program_verification().store(on, std::memory_order_relaxed);
}

TOKAMAX_COMPILED_ONCE void verify_graph(const graph& g) { detail::graph_verifier(g, nullptr).run(); }
TOKAMAX_COMPILED_ONCE void verify_lowered(const graph& g, const device_facts& device) {
  detail::graph_verifier(g, &device).run();
}
TOKAMAX_COMPILED_ONCE void verify_plan(const plan_view& p, const kernel_takes* takes, const graph* lowered) {
  detail::plan_tables tables(p, lowered);
  tables.run();
  detail::plan_layout(p, one_of_each_symbol, takes, tables).run();
  bool dynamic = false;
  for (int b = 0; b < p.buffer_count; ++b) dynamic = dynamic || is_dyn(p.buffers[b].bytes);
  if (!dynamic) return;
  std::vector<plan_buffer> buffers(p.buffers, p.buffers + p.buffer_count);
  std::vector<plan_region> regions(p.regions, p.regions + p.region_count);
  plan_view other = p;
  other.buffers = buffers.data();
  other.regions = regions.data();
  for (const auto& symbols : detail::symbol_samples) {
    assign_arenas(p, buffers.data(), regions.data(), symbols);
    detail::plan_layout(other, symbols, takes, tables).run();
  }
}

}  // namespace tokamax
#endif
