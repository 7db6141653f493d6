// tokamax/backend/systolic/graph_program.hpp: a traced function on blocks in VMEM, as instructions of a simulated TPU.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (what only simulates instructions needs no graphs)
#pragma once

#include <tokamax/backend/systolic/program.hpp>  // program
#include <tokamax/core/graph/cost.hpp>           // cost_of, composed

#include <algorithm>  // max
#include <cmath>      // llround
#include <vector>     // vector

namespace tokamax::systolic_backend {

/// How the arrays take elements of a dtype. Those that no array takes count as f32.
constexpr element element_of(dtype t) {
  if (t == bf16 || t == dtype::f16) return element::bf16;
  if (is_integer(t) && size_of(t) == 1) return element::int8;
  return size_of(t) == 1 && is_floating(t) ? element::fp8 : element::f32;
}

/// The sizes of `count` products of operands with `a` and `b` elements, whose result has `out` and which multiplies `macs`
/// times: macs / b rows, macs / out summands and macs / a columns.
constexpr product_shape shape_of_product(double a, double b, double out, double macs) {
  const auto size = [](double n) { return std::max(1LL, static_cast<long long>(n + 0.5)); };
  return {size(macs / b), size(macs / out), size(macs / a)};
}

namespace detail {

/// Appends the nodes of a graph, each after those that it uses. All values are in VMEM or in registers. Vector units do
/// `share` times the registers of each value: a part of them, or several.
class graph_appender {
 public:
  graph_appender(program& p, const chip& c, double share = 1)
      : p_(p), words_(c.sublanes * c.lanes), lanes_(c.lanes), share_(share) {}

  event_id append(const graph& g, event_id ready) {
    const vec<char> live = live_nodes(g);
    std::vector<event_id> there(static_cast<std::size_t>(g.count()), ready);
    for (int i = 0; i < g.count(); ++i) {
      const node& n = g[i];
      if (!live[i] || !n.op || n.op == &constant_p || n.op == &dense_p || n.op == &captured_p) continue;
      std::vector<event_id> after{ready};
      tokamax::arrays in;
      for (int k = 0; k < n.operand_count; ++k) {
        after.push_back(there[static_cast<std::size_t>(g.operand(n, k))]);
        in.push_back(array(g[g.operand(n, k)].type));
      }
      call c = call_of(*n.op, in.data(), in.count(), g.words_of(n), n.word_count, const_cast<graph*>(&g), n.where);
      c.type = n.type;
      there[static_cast<std::size_t>(i)] = append(c, after);
    }
    std::vector<event_id> out{ready};
    for (const int o : g.outputs) out.push_back(there[static_cast<std::size_t>(o)]);
    return p_.scalar(0, 0, out);
  }
  /// Appends one op, whose `type` is set.
  event_id append(const call& c, const std::vector<event_id>& after) {
    const op& o = *c.self;
    if (o.memory.kind == op_kind::elementwise) return elementwise(c, after);
    if (o.memory.kind == op_kind::general) {
      if (o.attributes.has_bodies()) return bodies(c, wait(after));
      if (o.reduction.combines != combiner::none) return reduction(c, after);
      if (o.precision.product_operands == 2 && o.cost.operations) return product(c, after);
      if (o.compose) return append(composed(c), wait(after));
      if (o.name == "transpose") return p_.vector("transpose", registers(c.type), after);
      if (c.type.dtype != dtype::none) return p_.vector("select", registers(c.type), after);  // it moves registers
    }
    return wait(after);  // another view of the same registers, a number that is counted, or a part of a tuple
  }

 private:
  double registers(const array_type& t) const { return std::ceil(tokamax::detail::elements(t) / words_) * share_; }
  event_id wait(const std::vector<event_id>& after) { return after.size() == 1 ? after[0] : p_.scalar(0, 0, after); }

  /// Functions of the table take its instructions, and others those of their facts.
  event_id elementwise(const call& c, const std::vector<event_id>& after) {
    const double r = registers(c.type);
    std::string_view name = c.self->name == "logistic" ? "sigmoid" : c.self->name == "div" ? "divide" : c.self->name;
    for (const vector_function& f : vector_functions)
      if (f.name == name) return p_.vector(name, r, after);
    const cost_facts& cost = c.self->cost;
    event_id done = p_.vector("add", r * std::max(1.0, cost.flops), after);
    if (cost.transcendentals > 0) done = p_.vector("exp", r * cost.transcendentals, {done});
    return done;
  }

  /// Registers are combined with each other first. If the last axis goes, what is left crosses the lanes.
  event_id reduction(const call& c, const std::vector<event_id>& after) {
    const array_type& x = c[0].type();
    const event_id combined = p_.vector("add", registers(x), after);
    if (!reduced_axes(*c.self, c.attributes).contains(x.shape.rank() - 1)) return combined;
    const double columns = static_cast<double>(x.shape[x.shape.rank() - 1]);
    return p_.vector("lane_reduce", std::ceil(registers(x) / std::max(1.0, std::ceil(columns / lanes_))), {combined});
  }

  /// Products of a batch follow each other.
  event_id product(const call& c, const std::vector<event_id>& after) {
    const double macs = c.self->cost.operations(c).flops / 2;
    using tokamax::detail::elements;
    const double a = elements(c[0].type()), b = elements(c[1].type()), out = elements(c.type);
    if (macs <= 0) return wait(after);
    // a = batch m k, b = batch k n, out = batch m n, macs = batch m k n
    const product_shape p = shape_of_product(a, b, out, macs);
    event_id done = -1;
    for (long long n = std::max(1LL, std::llround(macs / p.macs())); n > 0; --n)
      done = p_.product(p, element_of(c[0].dtype()), after);
    return done;
  }

  /// Of branches the most expensive one, of loops each repetition that is known.
  event_id bodies(const call& c, event_id ready) {
    const body_facts& facts = c.self->bodies;
    const int count = body_count(c);
    if (facts.branches) {
      int most = 0;
      const auto work = [&](int b) { return cost_of(c.body(b)).flops + cost_of(c.body(b)).transcendentals; };
      for (int b = 1; b < count; ++b)
        if (work(b) > work(most)) most = b;
      return append(c.body(most), ready);
    }
    for (std::int64_t n = facts.repeats ? facts.repeats(c.attributes) : 1; n > 0; --n)
      for (int b = 0; b < count; ++b) ready = append(c.body(b), ready);
    return ready;
  }

  program& p_;
  double words_, lanes_, share_;
};

}  // namespace detail

/// Appends the ops of a traced function, after the event `ready`, and returns the event after which all its results are there.
/// It reads the facts of ops only, so that ops of users are simulated too:
///
///   elementwise   the instructions of `vector_functions`, or those of the op's cost
///   reduction     additions of registers, and across lanes if the last axis goes
///   product       the arrays, one product after the other for a batch
///   bodies        loops as often as they say; of branches the most expensive one
///   composition   the smaller ops that it is made of
///   other         one vector instruction for each register of the result
inline event_id append_graph(program& p, const chip& c, const graph& g, event_id ready = -1) {
  return detail::graph_appender(p, c).append(g, ready);
}

}  // namespace tokamax::systolic_backend
