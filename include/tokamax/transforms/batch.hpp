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

constexpr arrays batch_here(graph& g, std::int64_t n, const arrays& xs, const arrays& batched_xs, const arrays& ys) {
  int top = -1;
  for (const array& y : ys)
    if (y.trace() == &g && y.id() > top) top = y.id();
  vec<array> batched(static_cast<std::size_t>(top) + 1);
  for (int k = 0; k < xs.count(); ++k)
    if (xs[k].id() <= top && batched_xs[k].exists()) batched[xs[k].id()] = batched_xs[k];
  for (int i = 0; i <= top; ++i) {
    const op* kind = g[i].kind;
    if (batched[i].exists() || !kind || kind == &get_p) continue;
    bool any = false;
    for (int k = 0; k < g[i].operand_count; ++k) any = any || batched[g.operand(g[i], k)].exists();
    if (!any) continue;
    detail::recalled_call r(g, i, {});
    for (int k = 0; k < r.inputs.count(); ++k) {
      const array& b = batched[r.inputs[k].id()];
      r.flags[k] = b.exists();
      if (b.exists()) r.inputs[k] = b;
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
  for (const array& y : ys) result.push_back(y.trace() == &g && y.id() <= top ? batched[y.id()] : array());
  return result;
}
/// `ys` with a leading axis of extent n, given what the nodes `xs` become with one. A y that depends on no x does not
/// exist in the result.
constexpr arrays batch(graph& g, std::int64_t n, const arrays& xs, const arrays& batched_xs, const arrays& ys) {
  return linked<batch_here>(g, n, xs, batched_xs, ys);
}

}  // namespace tokamax
