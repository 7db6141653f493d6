// tokamax/core/graph/cost.hpp: the cost of calls and of graphs, from the facts of their ops.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/cost_analysis.cpp
#pragma once

#include <tokamax/core/graph/composed.hpp>  // composed

#include <algorithm>  // max

namespace tokamax {

constexpr op_cost cost_of(const graph& g);

namespace detail {
constexpr double elements(const array_type& t) {
  double n = 1;
  for (std::int64_t e : t.shape) n *= static_cast<double>(e);
  return n;
}

/// One of the bodies runs, so the largest counts; else all run, as often as the op knows.
constexpr op_cost cost_of_bodies(const call& c) {
  const body_facts& facts = c.self->bodies;
  op_cost cost;
  for (int b = 0; b < body_count(c); ++b) {
    const op_cost one = cost_of(c.body(b));
    cost = facts.branches ? largest(cost, one) : cost + one;
  }
  return facts.repeats ? cost * static_cast<double>(facts.repeats(c.attributes)) : cost;
}
}  // namespace detail

/// The operations of a call whose `type` is set, and the bytes that its bodies access. They are counted like this, as in
/// XLA's HloCostAnalysis:
///
///   elementwise   the facts of the op for each element of the result. Comparisons, select and conversions are one
///                 operation; exp, tanh, sqrt and so on are one transcendental function and no operation
///   reduction     one operation for each element that is combined with another one: elements read - elements written
///   product       2 m n k; of a convolution 2 k for each element of the result, with the zeros of padding
///   sort          n log2 n
///   movement      none: reshape, transpose, slices, gather, concatenate, pad, iota and so on
///   composition   those of the smaller ops that it is made of, if it has no rule of its own
///   bodies        scan: the length times the body. while_loop: one step, because the number is not known. cond: the most
///                 expensive branch
constexpr op_cost operations_of(const call& c) {
  const op& o = *c.self;
  if (o.cost.operations) return o.cost.operations(c);
  if (o.memory.kind == op_kind::elementwise)
    return op_cost{.flops = o.cost.flops, .transcendentals = o.cost.transcendentals} * detail::elements(c.type);
  if (o.reduction.combines != combiner::none)
    return {.flops = std::max(0.0, detail::elements(c[0].type()) - detail::elements(c.type))};
  if (o.compose) {
    op_cost cost = cost_of(composed(c));
    if (!o.attributes.has_bodies()) cost.bytes_accessed = 0;  // the op's own operands and results count
    return cost;
  }
  return o.attributes.has_bodies() ? detail::cost_of_bodies(c) : op_cost{};
}

/// The cost of a graph whose ops are run one by one. An op reads its operands and writes its results, or says how much of
/// them it accesses. Numbers that are written in the program are in no memory.
constexpr op_cost cost_of(const graph& g) {
  const vec<char> live = live_nodes(g);
  op_cost all;
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    if (!live[i] || !n.op || n.op == &constant_p || n.op == &dense_p || n.op == &captured_p) continue;
    if (n.op->memory.kind == op_kind::alias || n.op->memory.kind == op_kind::barrier) continue;
    arrays in;
    double bytes = 0;
    for (int k = 0; k < n.operand_count; ++k) {
      const node& operand = g[g.operand(n, k)];
      in.push_back(array(operand.type));
      if (operand.op != &constant_p) bytes += bytes_of(operand.type);
    }
    call c = call_of(*n.op, in.data(), in.count(), g.words_of(n), n.word_count, const_cast<graph*>(&g), n.where);
    c.type = n.type;
    types results{n.type};
    if (n.op->infer_all) {
      results = n.op->infer_all(c);
      if (!results.empty()) c.type = results[0];
    }
    for (const array_type& t : results) bytes += bytes_of(t);
    all += operations_of(c);
    if (n.op->cost.bytes)
      all.bytes_accessed += n.op->cost.bytes(c);
    else if (!n.op->attributes.has_bodies())
      all.bytes_accessed += bytes;
  }
  return all;
}

}  // namespace tokamax
