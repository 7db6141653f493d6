// tokamax/transforms/batch.hpp: vectorisation as a pass over the node table; the batch axis is always the first.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/vmap.cpp
#pragma once

#include <tokamax/base/linked.hpp>          // linked
#include <tokamax/transforms/backward.hpp>  // recalled_call

namespace tokamax {

/// Stands for one entry of a batch while a function is traced for vmap.
inline constexpr op placeholder_p{.name = "placeholder", .unique = true};

constexpr array placeholder(graph& g, array_type type) {  // a copy: the type may be that of a node, and nodes move
  return array(&g, detail::add_node(g, placeholder_p, nullptr, 0, {}, type, {}), type);
}

namespace detail {
/// Takes the effects of what was traced on examples out of the trace: those on batches come in their place.
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
}  // namespace detail

constexpr arrays batch_here(graph& g, std::int64_t n, const arrays& xs, const arrays& batched_xs, const arrays& ys) {
  int top = -1;
  for (const array& y : ys)
    if (y.trace() == &g && y.id() > top) top = y.id();
  const vec<int> effects = detail::take_effects(g, xs, batched_xs);
  if (!effects.empty() && effects.back() > top) top = effects.back();
  int next_effect = 0;
  vec<array> batched(static_cast<std::size_t>(top) + 1);
  vec<array> again(batched.size());  // results of effects that all examples share: made anew to stay in order
  for (int k = 0; k < xs.count(); ++k)
    if (xs[k].id() <= top && batched_xs[k].exists()) batched[xs[k].id()] = batched_xs[k];
  for (int i = 0; i <= top; ++i) {
    const op* kind = g[i].kind;
    if (batched[i].exists() || !kind || kind == &get_p) continue;
    const bool effect = next_effect < effects.count() && effects[next_effect] == i;
    next_effect += effect;
    bool any = false, anew = effect;
    for (int k = 0; k < g[i].operand_count; ++k) {
      any = any || batched[g.operand(g[i], k)].exists();
      anew = anew || again[g.operand(g[i], k)].exists();
    }
    if (!any && !anew) continue;
    detail::recalled_call r(g, i, {});
    for (int k = 0; k < r.inputs.count(); ++k) {
      const array& b = batched[r.inputs[k].id()];
      r.flags[k] = b.exists();
      if (const array& same = again[r.inputs[k].id()]; same.exists()) r.inputs[k] = same;
      if (b.exists()) r.inputs[k] = b;
    }
    if (!any) {
      const arrays same = bind_all(*kind, r.inputs.data(), r.inputs.count(), r.attributes, r.c.where);
      for (int k = 0; k < same.count(); ++k)
        if (r.outputs[k].id() <= top) again[r.outputs[k].id()] = same[k];
      continue;
    }
    r.c.batch_size = n;
    arrays out;
    if (kind->batch) {
      out = kind->batch(r.c);
    } else if (kind->compose) {
      arrays vars, batched_vars;
      for (int k = 0; k < r.inputs.count(); ++k) {
        const int operand = g.operand(g[i], k);
        vars.push_back(r.flags[k] ? placeholder(g, g[operand].type) : r.inputs[k]);
        batched_vars.push_back(r.flags[k] ? r.inputs[k] : array());
      }
      call inner = r.c;
      inner.inputs = vars.data();
      inner.flags = nullptr;
      const arrays composed = kind->compose(inner);
      out = batch_here(g, n, vars, batched_vars, composed);
      for (int k = 0; k < out.count(); ++k)
        if (!out[k].exists()) out[k] = with_leading_axis(composed[k], n);
    } else {
      r.c.fail(text(kind->name) << ": vmap", "no batch rule", "a rule or compose");
      continue;
    }
    for (int k = 0; k < out.count(); ++k)
      if (r.outputs[k].id() <= top) batched[r.outputs[k].id()] = out[k].exists() ? lift(g, out[k]) : out[k];
  }
  arrays result;
  for (const array& y : ys) {
    result.push_back(array());
    if (y.trace() != &g || y.id() > top) continue;
    result.back() = batched[y.id()];
    if (const array& same = again[y.id()]; same.exists()) result.back() = with_leading_axis(same, n);
  }
  return result;
}
/// `ys` with a leading axis of extent n, given what the nodes `xs` become with one. A y that depends on no x does not
/// exist in the result.
constexpr arrays batch(graph& g, std::int64_t n, const arrays& xs, const arrays& batched_xs, const arrays& ys) {
  return linked<batch_here>(g, n, xs, batched_xs, ys);
}

}  // namespace tokamax
