// tokamax/kernel/kernel_rules.hpp: the kernel op, its batches and its derivative where that is a kernel too.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/core/graph/cost.hpp>             // cost_of
#include <tokamax/kernel/grid_loop.hpp>            // kernel_as_grid_loop
#include <tokamax/lax/reduce.hpp>                  // sum
#include <tokamax/transforms/passes/backward.hpp>  // backward

namespace tokamax {

namespace detail {
/// What the writer of a kernel says that it costs, or else what its steps cost one by one.
constexpr op_cost cost_of_kernel(const call& c) {
  const auto k = unpack<kernel_attributes>(c.attributes);
  return k.estimated ? k.estimate() : cost_of(composed(c));
}
constexpr arrays kernel_vjp(const call& c);
constexpr arrays kernel_jvp(const call& c);
constexpr arrays kernel_batch(const call& c);
}  // namespace detail

/// A kernel. kernel_attributes describes its operands, results and bodies.
inline constexpr op kernel_call_p{
    .name = "kernel_call",
    .unique = true,
    .cost = {.operations = [](const call& c) { return detail::cost_of_kernel(c); }},
    .attributes = schema<kernel_attributes>,
    .infer_all = [](const call& c) -> types { return detail::types_of_outputs(c); },
    .compose = [](const call& c) -> arrays { return detail::kernel_as_grid_loop(c); },
    .vjp = [](const call& c) -> arrays { return detail::kernel_vjp(c); },
    .jvp = [](const call& c) -> arrays { return detail::kernel_jvp(c); },
    .batch = [](const call& c) -> arrays { return detail::kernel_batch(c); },
};

namespace detail {

constexpr kernel_attributes layout_of(const call& c) { return unpack<kernel_attributes>(c.attributes); }

/// A body of the kernel c with one more index in front, that of the entry of a batch. Prefetched operands that have the
/// batch axis are those of the entry.
constexpr graph body_of_entry(const graph& body, const call& c, const kernel_attributes& k) {
  graph b;
  arrays args;
  const array entry = body_input(b, {i32, false, {}});
  for (int i = 0; i < k.grid.rank(); ++i) args.push_back(body_input(b, {i32, false, {}}));
  for (int i = 0; i < k.prefetch; ++i) {
    const array given = body_input(b, c[i].type());
    args.push_back(c.batched(i) ? dynamic_index_in_dim(given, entry, 0, false) : given);
  }
  for (int i = args.count(); i < body.inputs.count(); ++i) args.push_back(body_input(b, body[body.inputs[i]].type));
  for (const array& y : inline_graph(b, body, args.data())) b.outputs.push_back(lift(b, y).id());
  return b;
}

/// The spec of a ref whose array has a further leading axis, of which a step takes the entry that is its first index.
constexpr block_info block_of_entry(const block_info& b, std::int64_t n, bool batched) {
  const auto with_first = [&](const shape& s, std::int64_t v) {
    shape all{v};
    for (const std::int64_t e : s) all.push_back(e);
    return all;
  };
  block_info e = b;
  for (std::int64_t& axis : e.index.values)
    if (axis >= 0) ++axis;
  if (!batched) return e;
  e.array.shape = with_first(b.array.shape, n);
  e.block = with_first(b.block, 1);
  e.kinds = {block_axis::entry};
  for (const block_axis k : b.kinds) e.kinds.push_back(k);
  e.index = with_first(e.index, 0);
  return e;
}

/// The kernel on a grid with a leading axis for the batch. The body stays as it is.
constexpr arrays kernel_batch(const call& c) {
  kernel_attributes k = layout_of(c);
  vec<graph> bodies{body_of_entry(graph(c.body(0)), c, k), body_of_entry(graph(c.body(1)), c, k)};
  arrays operands = c.operands();
  for (int r = 0; r < k.inputs + k.outputs; ++r) {
    const bool output = r >= k.inputs;
    block_info& b = k.refs[r];
    if (output && b.alias >= 0) operands[b.alias] = with_batch_axis(c, b.alias);
    bool batched = output || c.batched(k.prefetch + r);
    for (int o = 0; o < k.outputs; ++o) batched = batched || k.output(o).alias == k.prefetch + r;
    b = block_of_entry(b, c.batch_size, batched);
  }
  shape grid{c.batch_size};
  for (const std::int64_t e : k.grid) grid.push_back(e);
  k.grid = grid;
  ++k.parallel;
  if (k.estimated) k.set_estimate(k.estimate() * static_cast<double>(c.batch_size));
  return bind_bodies(c, std::move(bodies), pack(k), operands);
}

/// Does the index of a ref name every axis along which the grid has steps? Then no two steps share a block.
constexpr vec<int> shared_axes(const block_info& b, const shape& grid) {
  vec<int> shared;
  for (int axis = 0; axis < grid.rank(); ++axis)
    if (grid[axis] != 1 && !b.index.contains(axis)) shared.push_back(axis);
  return shared;
}

/// Why the derivative of a kernel is not that of its steps; empty: it is.
constexpr message unlike_steps(const call& c, const kernel_attributes& k) {
  if (k.scratch != 0) return "scratch memory, which steps share";
  kernel_attributes lowered = k;
  body_on_windows(graph(c.body(0)), lowered);
  bool divides = true, sums = false;
  for (int r = 0; r < k.refs.count(); ++r) {
    const block_info& b = k.refs[r];
    const bool output = r >= k.inputs;
    if (output && lowered.refs[r].reads) return "a step that reads what an earlier one wrote";
    if (b.alias >= 0) return "an output that begins with an argument";
    if (b.space != memory_space::vmem && is_floating(b.array.dtype)) return "a ref of a whole array";
    const bool differs = output || (is_floating(b.array.dtype) && c.needs(k.prefetch + r));
    if (differs && b.index.contains(block_info::by_map)) return "a block that an index map computes";
    const bool shared = !shared_axes(b, k.grid).empty();
    if (output && shared) return "an output block of several steps";
    sums = sums || (differs && shared);
    divides = divides && b.divides();
  }
  return sums && !divides ? "an input block of several steps, and blocks that hang over" : "";
}

/// One step of the backward kernel: the cotangents of the blocks of `wanted`, from the blocks and the cotangents of results.
constexpr graph backward_step(const call& c, const kernel_attributes& k, const vec<int>& wanted) {
  const graph body(c.body(0));
  graph b;
  arrays args, cts, floating;
  for (int i = 0; i < k.input_of(k.inputs); ++i) args.push_back(body_input(b, body[body.inputs[i]].type));
  for (int o = 0; o < k.outputs; ++o)
    if (is_floating(k.output(o).array.dtype)) cts.push_back(body_input(b, k.output(o).type()));
  vec<int> own;
  for (const int r : wanted) own.push_back(b.input(k.refs[r].type()));
  for (int o = 0; o < k.outputs; ++o) args.push_back(lift(b, array(0.0, k.output(o).type())));
  for (const array& y : inline_graph(b, body, args.data(), refs_as_values{}))
    if (is_floating(y.dtype())) floating.push_back(lift(b, y));
  const arrays pulled = backward(b, floating, cts, args);
  for (const int r : wanted) {
    const array& ct = pulled[k.input_of(r)];
    b.outputs.push_back(lift(b, ct.exists() ? ct : zero_like(args[k.input_of(r)])).id());
  }
  return b;
}

/// The derivative of a kernel whose steps are independent: a kernel on the same grid. Steps that share a block of an input
/// make a cotangent each, and these are added up after it.
constexpr arrays kernel_vjp(const call& c) {
  kernel_attributes k = layout_of(c);
  arrays out(static_cast<std::size_t>(c.count));
  if (const message why = unlike_steps(c, k); why.length) {
    c.fail("kernel_call: reverse mode", why, "steps on blocks of their own, or custom_vjp");
    return out;
  }
  vec<int> wanted;
  for (int r = 0; r < k.inputs; ++r)
    if (is_floating(k.refs[r].array.dtype) && c.needs(k.prefetch + r)) wanted.push_back(r);
  kernel_attributes back = k;
  back.set_estimate({});
  arrays operands = c.operands();
  vec<block_info> cotangents;
  for (int o = 0; o < k.outputs; ++o) {
    if (!is_floating(k.output(o).array.dtype)) continue;
    operands.push_back(c.cotangents[o].exists() ? c.cotangents[o] : lift(*c.trace, array(0.0, k.output(o).array)));
    cotangents.push_back(k.output(o));
  }
  back.refs.resize(static_cast<std::size_t>(k.inputs));
  for (const block_info& b : cotangents) back.refs.push_back(b);
  back.inputs = back.refs.count();
  for (const int r : wanted) {
    block_info b = k.refs[r];
    const vec<int> shared = shared_axes(b, k.grid);
    for (int i = shared.count() - 1; i >= 0; --i) {
      b = block_of_entry(b, k.grid[shared[i]], true);
      for (std::int64_t& axis : b.index.values)
        if (axis > 0) --axis;  // the grid stays as it is
      b.index[0] = shared[i];
    }
    back.refs.push_back(b);
  }
  back.outputs = wanted.count();
  graph step = backward_step(c, k, wanted);
  const arrays results = bind_bodies(c, {std::move(step), graph(c.body(1))}, pack(back), operands);
  for (int i = 0; i < wanted.count(); ++i) {
    axes shared;
    for (int a = 0; a < shared_axes(k.refs[wanted[i]], k.grid).count(); ++a) shared.push_back(a);
    out[k.prefetch + wanted[i]] = shared.rank() ? sum(results[i], {shared}) : results[i];
  }
  return out;
}

/// The kernel on values and tangents together.
constexpr arrays kernel_jvp(const call& c) {
  const kernel_attributes k = layout_of(c);
  const graph body(c.body(0));
  const int first = k.input_of(0);
  vec<char> moving(static_cast<std::size_t>(first), 0);
  for (const block_info& b : k.refs) moving.push_back(is_floating(b.array.dtype) && b.space != memory_space::semaphore);
  kernel_attributes both = k;
  both.refs.clear();
  both.set_estimate({});
  const auto add = [&](int from, int count) {
    const int before = both.refs.count();
    for (int r = from; r < from + count; ++r) both.refs.push_back(k.refs[r]);
    for (int r = from; r < from + count; ++r)
      if (moving[first + r]) both.refs.push_back(k.refs[r]);
    return both.refs.count() - before;
  };
  both.inputs = add(0, k.inputs);
  both.outputs = add(k.inputs, k.outputs);
  both.scratch = add(k.inputs + k.outputs, k.scratch);
  vec<int> tangent_of(static_cast<std::size_t>(k.inputs), -1);  // the operand that is the tangent of an input
  for (int r = 0, at = k.prefetch + k.inputs; r < k.inputs; ++r)
    if (moving[first + r]) tangent_of[r] = at++;
  for (int r = both.inputs, at = 0; r < both.inputs + both.outputs; ++r, ++at)
    if (int& alias = both.refs[r].alias; alias >= 0 && at >= k.outputs) alias = tangent_of[alias - k.prefetch];
  graph b = forward_body(c, body, {first, k.inputs, k.outputs, k.scratch}, moving, {k.outputs, k.scratch});
  arrays operands = c.operands();
  for (int r = 0; r < k.inputs; ++r)
    if (moving[first + r]) {
      const array& t = c.tangents[k.prefetch + r];
      operands.push_back(t.exists() ? t : zero_like(c[k.prefetch + r]));
    }
  const arrays results = bind_bodies(c, {std::move(b), graph(c.body(1))}, pack(both), operands);
  arrays tangents(static_cast<std::size_t>(k.outputs));
  for (int o = 0, at = k.outputs; o < k.outputs; ++o)
    if (moving[first + k.inputs + o]) tangents[o] = results[at++];
  return tangents;
}

}  // namespace detail

}  // namespace tokamax
