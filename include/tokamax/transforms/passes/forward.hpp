// tokamax/transforms/passes/forward.hpp: forward mode as a pass over the node table.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/jvp.cpp
#pragma once

#include <tokamax/base/linked.hpp>                 // linked
#include <tokamax/transforms/passes/backward.hpp>  // active_nodes, recalled_call; derived rules transpose twice

namespace tokamax {

constexpr arrays forward(graph& g, const arrays& xs, const arrays& tangents, const arrays& ys);  // defined below

namespace detail {

/// The tangents of the outputs of an op without a jvp rule, derived from its other rules.
constexpr arrays derived_jvp(graph& g, call& c) {
  const op& o = *c.self;
  if (o.algebra.linear) {
    vec<array> in;
    for (int k = 0; k < c.count; ++k) in.push_back(c.tangents[k].exists() ? c.tangents[k] : array(0.0, c[k].type()));
    return bind_all(o, in.data(), in.count(), c.attribute_words(), c.where);
  }
  if (o.memory.kind == op_kind::elementwise && o.vjp) {  // the Jacobian is diagonal, so it is its own transpose
    array total;
    for (int k = 0; k < c.count; ++k) {
      if (!c.tangents[k].exists()) continue;
      vec<char> only(static_cast<std::size_t>(c.count), 0);
      only[k] = 1;
      call one = c;
      one.flags = only.data();
      one.cotangents = &c.tangents[k];
      const arrays part = o.vjp(one);
      if (k < part.count() && part[k].exists()) total = total.exists() ? total + part[k] : part[k];
    }
    return total;
  }
  if (o.vjp) {        // the vjp is linear in the cotangent: its transpose is the jvp
    int outputs = 0;  // u: a variable in place of the cotangent of each output
    for (int k = 0; o.infer_all ? k < o.infer_all(c).count() : k < 1; ++k) ++outputs;
    arrays u;
    for (int k = 0; k < outputs; ++k)
      u.push_back(is_floating(c.outputs[k].dtype())
                      ? bind(described<variable_p>(), {lift(g, array(0.0, c.outputs[k].type()))}, words{}, c.where)
                      : array());
    call transposed = c;
    transposed.cotangents = u.data();
    const arrays pulled = o.vjp(transposed);
    arrays ys, cts;
    for (int k = 0; k < pulled.count(); ++k)
      if (pulled[k].exists() && c.tangents[k].exists()) {
        ys.push_back(pulled[k]);
        cts.push_back(c.tangents[k]);
      }
    arrays wrt;
    for (const array& v : u)
      if (v.exists()) wrt.push_back(v);
    const arrays t = backward(g, ys, cts, wrt);
    arrays out(static_cast<std::size_t>(outputs));
    for (int k = 0, j = 0; k < outputs; ++k)
      if (u[k].exists()) out[k] = t[j++];
    return out;
  }
  arrays vars, var_tangents;  // no rule at all: the smaller ops that the op means are pushed forward
  for (int k = 0; k < c.count; ++k) {
    vars.push_back(bind(described<variable_p>(), {c[k]}, words{}, c.where));
    var_tangents.push_back(c.tangents[k]);
  }
  if (!o.compose) {
    c.fail(message(o.name) << ": derivative", "no jvp rule", "a rule or compose");
    return arrays();
  }
  call inner = c;
  inner.inputs = vars.data();
  return forward(g, vars, var_tangents, o.compose(inner));
}

/// Keeps the nodes that ys depend on: a value that nobody asks for needs no rule.
constexpr void keep_needed(const graph& g, const arrays& ys, vec<char>& active) {
  vec<char> needed(active.size(), 0);
  for (const array& y : ys)
    if (y.trace() == &g) needed[y.id()] = 1;
  for (int i = active.count() - 1; i >= 0; --i) {
    active[i] = active[i] && needed[i];
    for (int k = 0; needed[i] && k < g[i].operand_count; ++k) needed[g.operand(g[i], k)] = 1;
  }
}

}  // namespace detail

constexpr arrays forward_here(graph& g, const arrays& xs, const arrays& tangents, const arrays& ys) {
  const ambient_trace scope(g);  // rules may make values that have no operands
  int top = -1;
  for (const array& y : ys)
    if (y.trace() == &g && y.id() > top) top = y.id();
  vec<array> tangent(static_cast<std::size_t>(top) + 1);  // by node; what does not exist is zero
  vec<int> ids;
  for (int k = 0; k < xs.count(); ++k) {
    if (!tangents[k].exists() || !is_floating(xs[k].dtype())) continue;
    ids.push_back(xs[k].id());
    if (xs[k].id() <= top) tangent[xs[k].id()] = tangents[k];
  }
  vec<char> active = detail::active_nodes(g, ids, top);
  detail::keep_needed(g, ys, active);
  for (int i = 0; i <= top; ++i) {
    const op* o = g[i].op;
    if (!active[i] || tangent[i].exists() || !o || o == &get_p) continue;
    detail::recalled_call r(g, i, active);
    arrays in_tangents;
    bool any = false;
    for (const array& x : r.inputs) {
      in_tangents.push_back(x.id() <= top ? tangent[x.id()] : array());
      any = any || in_tangents.back().exists();
    }
    if (!any) continue;  // all tangents are zero, and so is the tangent of the result
    r.c.tangents = in_tangents.data();
    arrays out;
    if (o->jvp)
      out = o->jvp(r.c);
    else
      out = detail::derived_jvp(g, r.c);
    for (int k = 0; k < out.count(); ++k)
      if (r.outputs[k].id() <= top) tangent[r.outputs[k].id()] = out[k];
  }
  arrays result;
  for (const array& y : ys) result.push_back(y.trace() == &g ? tangent[y.id()] : array());
  return result;
}
/// Forward mode: the tangents of `ys`, given those of `xs` (nodes of `g`). A tangent that does not exist is zero.
constexpr arrays forward(graph& g, const arrays& xs, const arrays& tangents, const arrays& ys) {
  return linked<forward_here>(g, xs, tangents, ys);
}

}  // namespace tokamax
