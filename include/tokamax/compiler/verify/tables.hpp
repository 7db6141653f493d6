// tokamax/compiler/verify/tables.hpp: checks that the tables of a plan fit together, and that it does what its graph says.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/verify.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/verify/loops.hpp>  // loop_verifier
  #include <tokamax/core/attributes/facts.hpp>  // append_words

  #include <string>  // string
  #include <vector>  // vector

namespace tokamax::detail {

/// Everything about a plan that does not depend on where its buffers lie: ranges, kinds, loops, the order of effects.
class plan_tables {
 public:
  plan_tables(const plan_view& p, const graph* lowered) : p_(p), graphs_(count_of(p.region_count), nullptr) {
    if (p.region_count > 0) graphs_[0] = lowered;
  }
  /// The lowered graph of a region; null if it is not known.
  const graph* graph_of(int region) const { return graphs_[count_of(region)]; }

  void run() {
    check_regions();
    for (int r = 0; r < p_.region_count; ++r)
      for (int s = first_step(r); s < end_step(r); ++s) check_step(r, s);
    std::vector<char> effect(count_of(p_.region_count), 0);
    for (int r = p_.region_count - 1; r >= 0; --r) check_effects(r, effect);
    for (int r = 0; r < p_.region_count; ++r)
      if (graph_of(r)) check_against(r, *graph_of(r));
  }

 private:
  static std::size_t count_of(int n) { return static_cast<std::size_t>(n); }
  // The steps of a region follow one another.
  int first_step(int r) const { return p_.regions[r].first_step; }
  int end_step(int r) const { return first_step(r) + p_.regions[r].step_count; }
  /// Are these places of a table?
  static bool holds(int size, std::int64_t first, std::int64_t count) {
    return first >= 0 && count >= 0 && first + count <= size;
  }
  [[noreturn]] void fail(int r, int s, const std::string& what, const std::string& found,
                         const std::string& expected) const {
    throw_fault(what, name_of_step(p_, s, graph_of(r)), found, expected);
  }
  [[noreturn]] static void fail_region(int r, const std::string& what, const std::string& found,
                                       const std::string& expected) {
    throw_fault(what, {r ? "body " + std::to_string(r) : std::string("program"), {}}, found, expected);
  }

  /// Each step and each buffer is in one region, and each body is called by one step of a region before it.
  void check_regions() {
    std::vector<int> steps(count_of(p_.step_count), 0), buffers(count_of(p_.buffer_count), 0),
        callers(count_of(p_.region_count), 0);
    for (int r = 0; r < p_.region_count; ++r) {
      const plan_region& g = p_.regions[r];
      if (!holds(p_.step_count, g.first_step, g.step_count) || !holds(p_.buffer_count, g.first_buffer, g.buffer_count))
        fail_region(r, "range", "outside", "steps and buffers of the plan");
      for (int s = first_step(r); s < end_step(r); ++s)
        if (steps[count_of(s)]++) fail_region(r, "step " + std::to_string(s), "in two regions", "in one");
      for (int b = g.first_buffer; b < g.first_buffer + g.buffer_count; ++b)
        if (buffers[count_of(b)]++) fail_region(r, "buffer " + std::to_string(b), "in two regions", "in one");
      check_ends(r, g.inputs, g.input_count, buffer_kind::input, "input ");
      check_ends(r, g.outputs, g.output_count, buffer_kind::output, "output ");
      for (int s = first_step(r); s < end_step(r); ++s) find_bodies(r, s, callers);
    }
    for (int s = 0; s < p_.step_count; ++s)
      if (!steps[count_of(s)]) fail(0, s, "region", "none", "one");
    for (int r = 1; r < p_.region_count; ++r)
      if (callers[count_of(r)] != 1)
        fail_region(r, "callers", std::to_string(callers[count_of(r)]), "1, in a region before it");
  }
  /// The lists of inputs and outputs name one buffer for each, with its kind and number.
  void check_ends(int r, int first, int count, buffer_kind kind, const std::string& what) const {
    const plan_region& g = p_.regions[r];
    if (!holds(p_.number_count, first, count)) fail_region(r, what + "list", "outside", "numbers of the plan");
    for (int k = 0; k < count; ++k) {
      const std::int64_t b = p_.numbers[first + k];
      if (b == -1 && kind == buffer_kind::input) continue;
      if (b < g.first_buffer || b >= g.first_buffer + g.buffer_count || p_.buffers[b].kind != kind ||
          p_.buffers[b].index != k)
        fail_region(r, what + std::to_string(k), "buffer " + std::to_string(b), "a buffer of this kind and number");
    }
  }
  /// Notes the regions that a call runs, and their graphs.
  void find_bodies(int r, int s, std::vector<int>& callers) {
    const plan_step& st = p_.steps[s];
    if (st.kind != step_kind::call) return;
    if (st.region <= r || st.region_count < 1 || !holds(p_.region_count, st.region, st.region_count) ||
        !holds(p_.number_count, st.numbers, st.number_count) || !holds(p_.op_count, st.function, 1) ||
        p_.ops[st.function]->attributes.bodies_in(p_.numbers + st.numbers) != st.region_count)
      fail(r, s, "bodies", std::to_string(st.region) + " and on", "regions after its own");
    for (int b = 0; b < st.region_count; ++b) {
      const int body = st.region + b;
      ++callers[count_of(body)];
      const std::int64_t k = p_.numbers[st.numbers + p_.ops[st.function]->attributes.body_place(b)];
      if (const graph* const g = graph_of(r); g && k >= 0 && k < g->bodies.count())
        graphs_[count_of(body)] = &g->bodies[k];
    }
  }

  /// The ranges of a step first, then what is special about its kind.
  void check_step(int r, int s) {
    const plan_step& st = p_.steps[s];
    if (!holds(p_.operand_count, st.operands, std::int64_t{st.in_count} + st.out_count) || st.in_count < 0)
      fail(r, s, "operands", "another range", "operands of the plan");
    if (!holds(p_.number_count, st.numbers, st.number_count))
      fail(r, s, "numbers", "another range", "numbers of the plan");
    for (int k = 0; k < st.in_count + st.out_count; ++k) check_operand(r, s, k);
    if (st.kind == step_kind::loop)
      check_loop(r, s);
    else
      check_kernel(r, s);
    for (int t = s + 1; t <= s + st.together; ++t)
      if (t >= end_step(r) || p_.steps[t].kind != step_kind::loop || p_.steps[t].produces ||
          p_.steps[t].function != st.function || p_.steps[t].rank != st.rank || p_.steps[t].together != 0)
        fail(r, s, "loops at the same time", std::to_string(st.together), "as many equal loops that follow");
  }
  static std::string text_of_operand(int k) { return "operand " + std::to_string(k); }
  /// Does a loop make the first operand of step s?
  bool is_joined(int r, int s) const { return s > first_step(r) && p_.steps[s - 1].produces; }
  /// Operands and results are buffers of the same region. Counts are operands of loops only, and parts go from a loop to the
  /// kernel behind it.
  void check_operand(int r, int s, int k) const {
    const plan_step& st = p_.steps[s];
    const plan_operand& o = p_.operands[st.operands + k];
    const bool loop = st.kind == step_kind::loop, result = k >= st.in_count;
    if (o.rank < 0 || o.rank > max_rank || (loop && o.rank != st.rank) ||
        !holds(p_.number_count, o.numbers, loop ? o.rank : 2 * o.rank))
      fail(r, s, text_of_operand(k), "rank " + std::to_string(o.rank), "extents and strides in the plan");
    if (o.type == dtype::none) fail(r, s, text_of_operand(k), "no dtype", "a dtype");
    const bool handed = loop ? result && st.produces : k == 0 && is_joined(r, s);
    if (handed != (o.buffer == plan_operand::handed_over))
      fail(r, s, text_of_operand(k), "buffer " + std::to_string(o.buffer), handed ? "parts" : "memory");
    if (o.buffer < 0) {
      if (!handed && !(loop && !result && o.buffer == plan_operand::count))
        fail(r, s, text_of_operand(k), "buffer " + std::to_string(o.buffer), "a buffer");
      return;
    }
    const plan_region& g = p_.regions[r];
    if (o.buffer < g.first_buffer || o.buffer >= g.first_buffer + g.buffer_count)
      fail(r, s, text_of_operand(k), "buffer " + std::to_string(o.buffer), "one of its region");
    const buffer_kind kind = p_.buffers[o.buffer].kind;
    if (result && kind != buffer_kind::arena && kind != buffer_kind::output)
      fail(r, s, "result " + std::to_string(k - st.in_count), kind == buffer_kind::input ? "an input" : "a constant",
           "memory that may be written");
  }

  /// A step has the slots and constants of its loop. All steps of one loop share its lines, which are checked once.
  void check_loop(int r, int s) {
    const plan_step& st = p_.steps[s];
    if (st.rank < 1 || st.number_count < st.rank) fail(r, s, "axes", std::to_string(st.rank), "1 or more");
    if (st.produces && (s + 1 >= end_step(r) || p_.steps[s + 1].kind != step_kind::kernel || st.out_count != 1))
      fail(r, s, "parts", "no kernel after it", "a kernel that takes them");
    if (!p_.loops) return;  // compiled functions
    if (st.function < 0 || st.function >= p_.loop_count)
      fail(r, s, "loop", std::to_string(st.function), "one of the plan");
    const loop_kernel& loop = p_.loops[st.function];
    if (st.in_count + st.out_count != loop.slot_count || st.out_count != loop.stores ||
        st.number_count != st.rank + loop.constants)
      fail(r, s, "slots", std::to_string(st.in_count) + " and " + std::to_string(st.out_count), "those of its loop");
    known_.resize(count_of(p_.loop_count), 0);
    if (!known_[count_of(st.function)]) loop_verifier(p_, loop, name_of_step(p_, s, graph_of(r))).run();
    known_[count_of(st.function)] = 1;
    for (int i = loop.first; i < loop.first + loop.count; ++i) check_slot(r, s, p_.instructions[i]);
  }
  /// A compiled loop moves along the innermost axis as its lines say, whatever the strides of the step are.
  void check_slot(int r, int s, const instruction& l) const {
    if (l.kind == instruction_kind::constant || l.kind == instruction_kind::apply) return;
    const plan_step& st = p_.steps[s];
    const int slot = l.kind == instruction_kind::store ? l.b : l.a;
    const plan_operand& o = p_.operands[st.operands + slot];
    if (o.type != l.type) fail(r, s, text_of_operand(slot), std::string(name(o.type)), std::string(name(l.type)));
    if (l.kind == instruction_kind::store) return;
    if ((l.kind == instruction_kind::iota) != (o.buffer == plan_operand::count))
      fail(r, s, text_of_operand(slot), "buffer " + std::to_string(o.buffer),
           l.kind == instruction_kind::iota ? "a count" : "memory");
    const std::int64_t stride = p_.numbers[o.numbers + st.rank - 1];
    if ((l.inner == instruction::step::none && stride != 0) || (l.inner == instruction::step::unit && stride != 1))
      fail(r, s, text_of_operand(slot), "stride " + std::to_string(stride), "the step of its loop");
  }
  /// A call has the bodies of its op, with as many inputs and outputs as it runs them with.
  void check_kernel(int r, int s) const {
    const plan_step& st = p_.steps[s];
    if (st.function < 0 || st.function >= p_.op_count || !p_.ops[st.function])
      fail(r, s, "op", std::to_string(st.function), "one of the plan");
    const op& o = *p_.ops[st.function];
    const int bodies = o.attributes.bodies_in(p_.numbers + st.numbers);
    if ((st.kind == step_kind::call) != (bodies > 0) || (bodies > 0 && bodies != st.region_count))
      fail(r, s, "bodies", std::to_string(st.region_count), std::to_string(bodies));
    const bool loops = bodies > 0 && o.bodies.carries;
    const int carries = loops ? o.bodies.carries(p_.numbers + st.numbers) : 0;
    if (st.carries != carries || carries > st.in_count || (bodies > 0 && carries >= st.out_count))
      fail(r, s, "carries", std::to_string(st.carries), std::to_string(carries));
    for (int b = st.region; b < st.region + st.region_count; ++b) {
      const plan_region& body = p_.regions[b];
      const int inputs = o.bodies.branches ? st.in_count - 1 : loops ? st.in_count : body.input_count;
      if (body.input_count != inputs)
        fail(r, s, "inputs of body " + std::to_string(b), std::to_string(body.input_count), std::to_string(inputs));
      const bool all = o.bodies.branches, last = loops && b + 1 == st.region + st.region_count;
      if ((all && body.output_count != st.out_count - 1) || (last && body.output_count < st.out_count - 1))
        fail(r, s, "outputs of body " + std::to_string(b), std::to_string(body.output_count),
             std::to_string(st.out_count - 1));
    }
  }
  /// Steps with an effect keep the order of their nodes.
  void check_effects(int r, std::vector<char>& effect) const {
    int before = -1;
    for (int s = first_step(r); s < end_step(r); ++s) {
      const plan_step& st = p_.steps[s];
      bool has = st.kind != step_kind::loop && p_.ops[st.function]->effect != effect_kind::none;
      for (int b = st.region; b < st.region + st.region_count; ++b) has = has || effect[count_of(b)];
      if (!has) continue;
      if (st.node <= before) fail(r, s, "effect", "after that of %" + std::to_string(before), "before it");
      before = st.node;
      effect[count_of(r)] = 1;
    }
  }

  // --- the lowered graph
  /// Each kernel of the graph has one step. Loops compute any number of nodes, which their memory decides.
  void check_against(int r, const graph& g) const {
    const plan_region& region = p_.regions[r];
    if (region.input_count != g.inputs.count() || region.output_count != g.outputs.count())
      fail_region(r, "inputs and outputs",
                  std::to_string(region.input_count) + " and " + std::to_string(region.output_count),
                  std::to_string(g.inputs.count()) + " and " + std::to_string(g.outputs.count()));
    std::vector<char> done(g.nodes.size(), 0);
    for (int s = first_step(r); s < end_step(r); ++s) {
      const plan_step& st = p_.steps[s];
      if (st.node < 0 || st.node >= g.count()) fail(r, s, "node", std::to_string(st.node), "one of the graph");
      if (st.kind == step_kind::loop) continue;
      if (done[count_of(st.node)]++) fail(r, s, "node", "a second step", "one");
      check_call(r, s, g);
    }
    for (int i = 0; i < g.count(); ++i) {
      const op* const o = g[i].op;
      const bool asks = o && o->memory.kind == op_kind::general && !o->memory.joins && (o->infer || o->infer_all);
      if (asks && !done[count_of(i)]) throw_fault("node", name_of_node(g, i), "no step", "one");
    }
  }
  /// A step has the op, attributes and types of its node.
  void check_call(int r, int s, const graph& g) const {
    const plan_step& st = p_.steps[s];
    const node& n = g[st.node];
    if (n.op != p_.ops[st.function] || n.operand_count != st.in_count || n.word_count != st.number_count)
      fail(r, s, "op", std::string(p_.ops[st.function]->name), name_of_node(g, st.node).name);
    words planned(p_.numbers + st.numbers, static_cast<std::size_t>(st.number_count)), traced;
    append_words(traced, g, n);
    for (int k = 0; k < n.word_count; ++k)
      if (traced[k] != planned[k])
        fail(r, s, "attribute word " + std::to_string(k), std::to_string(planned[k]), std::to_string(traced[k]));
    for (int k = 0; k < st.in_count; ++k) check_type(r, s, k, g[g.operand(n, k)].type);
    if (!n.op->infer_all) check_type(r, s, st.in_count, n.type);
  }
  /// The extents are compared as symbols where they are dynamic.
  void check_type(int r, int s, int k, const array_type& t) const {
    const plan_operand& o = p_.operands[p_.steps[s].operands + k];
    array_type found{o.type, false, {}};
    for (int a = 0; a < o.rank; ++a) found.shape.push_back(p_.numbers[o.numbers + a]);
    if (!(found == t)) fail(r, s, text_of_operand(k), text_of(found), text_of(t));
  }

  plan_view p_;
  std::vector<const graph*> graphs_;  // of each region the lowered graph; null if it is not known
  std::vector<char> known_;           // loops that are verified
};

}  // namespace tokamax::detail
#endif
