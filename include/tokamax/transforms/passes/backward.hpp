// tokamax/transforms/passes/backward.hpp: reverse mode as a pass over the node table.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/vjp.cpp
#pragma once

#include <tokamax/base/linked.hpp>                 // linked
#include <tokamax/core/graph/dependencies.hpp>     // dependencies
#include <tokamax/core/trace.hpp>                  // ambient_trace
#include <tokamax/lax/elementwise/arithmetic.hpp>  // +: cotangents add up
#include <tokamax/lax/stop_gradient.hpp>           // variable_p

namespace tokamax {

namespace detail {

constexpr array node_array(graph& g, int id) { return array(&g, id, g[id].type); }

/// The nodes up to `top` that depend on one of `wrt` through floating values.
constexpr vec<char> active_nodes(const graph& g, const vec<int>& wrt, int top) {
  vec<char> active(static_cast<std::size_t>(top) + 1, 0);
  int first = top;
  for (int w : wrt) {
    if (w <= top && is_floating(g[w].type.dtype)) active[w] = 1;
    if (w < first) first = w;
  }
  for (int i = first; i <= top; ++i) {
    const node& n = g[i];
    if (active[i] || (n.op && n.op->algebra.constant)) continue;
    if (n.type.dtype != dtype::none && !is_floating(n.type.dtype)) continue;
    for (int k = 0; k < n.operand_count && !active[i]; ++k) active[i] = active[g.operand(n, k)];
  }
  return active;
}

/// A node as the call that made it. Operands and attributes are copies, because rules append to the graph's pools, which
/// may move. During its lifetime, new nodes get the scope of the node.
struct recalled_call {
  vec<array> inputs;
  words attributes;
  arrays outputs;
  vec<char> flags;
  call c;
  node_scope scope_before;

  constexpr recalled_call(graph& g, int id, const vec<char>& active) : scope_before(g.scope) {
    const node n = g[id];
    g.scope = n.scope;
    for (int k = 0; k < n.operand_count; ++k) {
      const int o = g.operand(n, k);
      inputs.push_back(node_array(g, o));
      flags.push_back(o < active.count() ? active[o] : char(0));
    }
    append_words(attributes, g, n);
    c = call_of(*n.op, inputs, attributes, &g, n.where);
    c.type = n.type;
    c.flags = flags.data();
    if (n.op->infer_all) {
      const types ts = n.op->infer_all(c);
      for (int k = 0; k < ts.count(); ++k)
        outputs.push_back(array(&g, add_node(g, get_p, &id, 1, {k}, ts[k], n.where), ts[k]));
    } else {
      outputs.push_back(node_array(g, id));
    }
    c.outputs = outputs.data();
  }
  constexpr ~recalled_call() { c.trace->scope = scope_before; }
  recalled_call(const recalled_call&) = delete;
};

/// a + b. If one of them is the result of an op that can add to an existing array, that rule is used. So the gradient of
/// a table that is looked up twice is one array.
constexpr array add_cotangents(graph& g, const array& a, const array& b) {
  const auto rule = [&](const array& x) { return x.trace() == &g && g[x.id()].op ? g[x.id()].op->add_to : nullptr; };
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || !(rule(a) || rule(b))) return a + b;
  const array &sum = rule(b) ? a : b, &added = rule(b) ? b : a;
  const node n = g[added.id()];
  arrays in;
  for (int k = 0; k < n.operand_count; ++k) in.push_back(node_array(g, g.operand(n, k)));
  const words w(g.words_of(n), static_cast<std::size_t>(n.word_count));
  return rule(added)(call_of(*n.op, in, w, &g, n.where), sum);
}

}  // namespace detail

constexpr arrays backward_here(graph& g, const arrays& ys, const arrays& cts, const arrays& wrt);

namespace detail {

/// The cotangents of the operands of a call, by the rule of its op. An op without a rule is differentiated as the smaller
/// ops that it means. Nothing, and a diagnostic, if it has neither.
constexpr arrays operand_cotangents(graph& g, recalled_call& r) {
  const op& o = *r.c.self;
  if (o.vjp) return o.vjp(r.c);
  if (!o.compose) {
    r.c.fail(message(o.name) << ": derivative", "no vjp rule", "a rule or compose");
    return {};
  }
  arrays vars, cts;
  for (const array& x : r.inputs) vars.push_back(bind(described<variable_p>(), {x}, words{}, r.c.where));
  for (int k = 0; k < r.outputs.count(); ++k) cts.push_back(r.c.cotangents[k]);
  call inner = r.c;
  inner.inputs = vars.data();
  return backward_here(g, o.compose(inner), cts, vars);
}

}  // namespace detail

constexpr arrays backward_here(graph& g, const arrays& ys, const arrays& cts, const arrays& wrt) {
  const ambient_trace scope(g);  // rules may make values that have no operands
  int top = -1;
  vec<int> wrt_ids;
  for (const array& y : ys)
    if (y.trace() == &g && y.id() > top) top = y.id();
  for (const array& w : wrt) wrt_ids.push_back(w.id());
  const vec<char> active = detail::active_nodes(g, wrt_ids, top);
  struct entry {  // the cotangent of one output of a node with several; entries of one node form a list
    int output = 0, next = -1;
    array ct;
  };
  vec<array> ct(static_cast<std::size_t>(top) + 1);  // by node: the sum of what its users have passed on so far
  vec<int> list(static_cast<std::size_t>(top) + 1, -1);
  vec<entry> entries;
  auto accumulate = [&](int id, const array& value) {
    if (id > top || !active[id] || !value.exists()) return;
    if (ct[id].exists())
      ct[id] = detail::add_cotangents(g, lift(g, ct[id]), value);
    else
      ct[id] = value;
  };
  vec<int> roots;
  for (int k = 0; k < ys.count(); ++k)
    if (ys[k].trace() == &g) accumulate(ys[k].id(), cts[k]), roots.push_back(ys[k].id());
  // From the results backwards, each node passes its cotangent on to its operands. A node comes after all its users, so its
  // cotangent is complete then.
  const vec<int> order = dependencies(g, roots, active);
  for (int at = order.count() - 1; at >= 0; --at) {
    const int i = order[at];
    if (!ct[i].exists() && list[i] < 0) continue;
    const op* o = g[i].op;
    if (!o) continue;
    if (o == &get_p) {
      const int t = g.operand(g[i], 0);
      entries.push_back({picked_output(g, g[i]), list[t], ct[i]});
      list[t] = entries.count() - 1;
      continue;
    }
    detail::recalled_call r(g, i, active);
    arrays out_cts;
    if (o->infer_all) {
      out_cts = arrays(static_cast<std::size_t>(r.outputs.count()));
      for (int e = list[i]; e >= 0; e = entries[e].next) out_cts[entries[e].output] = entries[e].ct;
    } else {
      out_cts.push_back(ct[i]);
    }
    r.c.cotangents = out_cts.data();
    const arrays in_cts = detail::operand_cotangents(g, r);
    for (int k = 0; k < in_cts.count(); ++k)
      if (r.flags[k]) accumulate(r.inputs[k].id(), in_cts[k]);
  }
  arrays result;
  for (int w : wrt_ids) {
    result.push_back(array());
    if (w <= top) result.back() = ct[w];
  }
  return result;
}
/// Reverse mode: the cotangents of `wrt` (nodes of `g`), given those of `ys`. A cotangent that does not exist is zero.
///
/// Nodes are visited from the results to their operands. Each passes its cotangent on by its `vjp` rule, or by
/// differentiating its `compose`.
constexpr arrays backward(graph& g, const arrays& ys, const arrays& cts, const arrays& wrt) {
  return linked<backward_here>(g, ys, cts, wrt);
}

}  // namespace tokamax
