// tokamax/transforms/passes/batch.hpp: vectorisation as a pass over the node table. The batch axis is always the first one.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/vmap.cpp
#pragma once

#include <tokamax/base/linked.hpp>                 // linked
#include <tokamax/transforms/passes/backward.hpp>  // recalled_call

namespace tokamax {

/// Represents one entry of a batch while a function is traced for vmap.
inline constexpr op placeholder_p{.name = "placeholder", .unique = true};

constexpr array placeholder(graph& g, array_type type) {  // by value, as the type may be in a node, and nodes move
  return array(&g, detail::add_node(g, placeholder_p, nullptr, 0, {}, type, {}), type);
}

/// The values of nodes for a batch, with a leading batch axis or without one. A value that does not exist is that of the
/// node itself.
struct batched_arrays {
  arrays values;
  vec<char> mapped;  ///< does the value have the axis?
};

constexpr batched_arrays batch_all_here(graph& g, std::int64_t n, const arrays& xs, const arrays& batched_xs,
                                        const arrays& ys, std::string_view axis);

namespace detail {

/// Removes the effects of nodes that were traced on one example. The effects of the batched nodes take their place.
constexpr vec<int> take_effects(graph& g, const arrays& xs, const arrays& batched_xs) {
  vec<int> taken;
  if (g.effects.empty()) return taken;
  int first = g.count(), kept = 0;
  for (int k = 0; k < xs.count(); ++k)
    if (batched_xs[k].exists() && xs[k].id() < first) first = xs[k].id();
  for (int e : g.effects) {
    if (e < first)
      ++kept;
    else
      taken.push_back(e);
  }
  g.effects.resize(static_cast<std::size_t>(kept));
  return taken;
}
/// Does a node, or one of its bodies, refer to the named axis?
constexpr bool is_along(const graph& g, const node& n, std::string_view axis) {
  if (names_axis(*n.op, g.words_of(n), axis)) return true;
  for (int b = 0; b < body_count(g, n); ++b) {
    const graph& body = body_of(g, n, b);
    for (const node& inner : body.nodes)
      if (inner.op && is_along(body, inner, axis)) return true;
  }
  return false;
}
/// The nodes up to `top` that refer to the named axis and that ys or effects depend on.
constexpr vec<char> nodes_along(const graph& g, const arrays& ys, const vec<int>& effects, int top,
                                std::string_view axis) {
  vec<char> along(static_cast<std::size_t>(top) + 1, 0);
  if (axis.empty()) return along;
  vec<char> needed = along;
  for (const array& y : ys)
    if (y.trace() == &g) needed[y.id()] = 1;
  for (const int e : effects) needed[e] = 1;
  for (int i = top; i >= 0; --i) {
    if (!needed[i] || !g[i].op) continue;
    for (int k = 0; k < g[i].operand_count; ++k) needed[g.operand(g[i], k)] = 1;
    along[i] = is_along(g, g[i], axis);
  }
  return along;
}
/// Batches an op without a batch rule: its meaning in smaller ops is traced for one example, and then batched.
constexpr batched_arrays batch_composed(graph& g, const recalled_call& r, int node) {
  arrays vars, batched_vars;
  for (int k = 0; k < r.inputs.count(); ++k) {
    const int operand = g.operand(g[node], k);
    vars.push_back(r.flags[k] ? placeholder(g, g[operand].type) : r.inputs[k]);
    batched_vars.push_back(r.flags[k] ? r.inputs[k] : array());
  }
  call inner = r.c;
  inner.inputs = vars.data();
  inner.flags = nullptr;
  const arrays composed = r.c.self->compose(inner);
  batched_arrays out = batch_all_here(g, r.c.batch_size, vars, batched_vars, composed, r.c.axis);
  for (int k = 0; k < composed.count(); ++k)
    if (!out.values[k].exists()) out.values[k] = composed[k];
  return out;
}

}  // namespace detail

constexpr batched_arrays batch_all_here(graph& g, std::int64_t n, const arrays& xs, const arrays& batched_xs,
                                        const arrays& ys, std::string_view axis) {
  const ambient_trace scope(g);  // rules may make values that have no operands
  int top = -1;
  for (const array& y : ys)
    if (y.trace() == &g && y.id() > top) top = y.id();
  const vec<int> effects = detail::take_effects(g, xs, batched_xs);
  if (!effects.empty() && effects.back() > top) top = effects.back();
  int next_effect = 0;
  vec<array> now(static_cast<std::size_t>(top) + 1);  // by node: its value for the batch, where that is another node
  vec<char> mapped(now.size(), 0);                    // by node: has that value the batch axis?
  for (int k = 0; k < xs.count(); ++k)
    if (xs[k].id() <= top && batched_xs[k].exists()) now[xs[k].id()] = batched_xs[k], mapped[xs[k].id()] = 1;
  const vec<char> along = detail::nodes_along(g, ys, effects, top, axis);
  for (int i = 0; i <= top; ++i) {
    const op* o = g[i].op;
    if (now[i].exists() || !o || o == &get_p) continue;
    const bool effect = next_effect < effects.count() && effects[next_effect] == i;  // made again, so that order stays
    next_effect += effect;
    bool changed = along[i] || effect, any = along[i];
    for (int k = 0; k < g[i].operand_count; ++k) {
      changed = changed || now[g.operand(g[i], k)].exists();
      any = any || mapped[g.operand(g[i], k)];
    }
    if (!changed) continue;
    detail::recalled_call r(g, i, {});
    for (int k = 0; k < r.inputs.count(); ++k) {
      const int operand = r.inputs[k].id();
      r.flags[k] = mapped[operand];
      if (now[operand].exists()) r.inputs[k] = now[operand];
    }
    r.c.batch_size = n;
    r.c.axis = axis;
    batched_arrays out;
    if (!any) {  // an operand is new but has no batch axis: the same op, on the new operands
      out.values = detail::emit_op(g, *o, r.inputs.data(), r.inputs.count(), r.attributes, r.c.where);
      out.mapped = vec<char>(out.values.size(), 0);
    } else if (o->batch) {
      out.values = o->batch(r.c);
      const bool gathered = o->axis == axis_role::gathers && names_axis(*o, r.attributes.data(), axis);
      out.mapped = vec<char>(out.values.size(), !gathered);
    } else if (o->compose) {
      out = detail::batch_composed(g, r, i);
    } else {
      r.c.fail(message(o->name) << ": vmap", "no batch rule", "a rule or compose");
      continue;
    }
    for (int k = 0; k < out.values.count(); ++k) {
      const int id = r.outputs[k].id();
      if (id > top || !out.values[k].exists()) continue;
      now[id] = lift(g, out.values[k]);
      mapped[id] = out.mapped[k];
    }
  }
  batched_arrays result{arrays(ys.size()), vec<char>(ys.size(), 0)};
  for (int k = 0; k < ys.count(); ++k)
    if (ys[k].trace() == &g && ys[k].id() <= top)
      result.values[k] = now[ys[k].id()], result.mapped[k] = mapped[ys[k].id()];
  return result;
}
/// The values of `ys` for a batch of n, given the values `xs` of some nodes with a leading batch axis. `axis` is the name
/// of the axis if it has one.
constexpr batched_arrays batch_all(graph& g, std::int64_t n, const arrays& xs, const arrays& batched_xs,
                                   const arrays& ys, std::string_view axis) {
  return linked<batch_all_here>(g, n, xs, batched_xs, ys, axis);
}
/// The same, but a y that depends neither on an x nor on the named axis does not exist in the result.
constexpr arrays batch(graph& g, std::int64_t n, const arrays& xs, const arrays& batched_xs, const arrays& ys,
                       std::string_view axis = {}) {
  batched_arrays all = batch_all(g, n, xs, batched_xs, ys, axis);
  for (int k = 0; k < ys.count(); ++k)
    if (all.values[k].exists() && !all.mapped[k]) all.values[k] = lift(g, with_leading_axis(all.values[k], n));
  return std::move(all.values);
}

}  // namespace tokamax
