// tokamax/kernel/grid_as_scan.hpp: the meaning of a kernel in smaller ops: a scan over its steps.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/kernel/kernel_attributes.hpp>      // kernel_attributes
#include <tokamax/kernel/ref_ops.hpp>                // unwritten
#include <tokamax/lax/elementwise/division.hpp>      // quotient, rem
#include <tokamax/lax/indexing/slice.hpp>            // pad, slice
#include <tokamax/transforms/body.hpp>               // inline_graph
#include <tokamax/transforms/control_flow/scan.hpp>  // scan

#include <vector>  // vector

namespace tokamax::detail {

/// The array with room for blocks that hang over, which holds what was never written.
constexpr array with_overhang(const array& x, const block_info& b) {
  if (b.divides()) return x;
  shape low, high;
  for (int i = 0; i < b.block.rank(); ++i) {
    const std::int64_t unit = b.unit(i), extent = b.array.shape[i];
    const std::int64_t last = extent > 0 ? (extent - 1) / unit * unit : 0;  // where the last block begins
    low.push_back(0);
    high.push_back(last + b.block[i] > extent ? last + b.block[i] - extent : 0);
  }
  return pad(x, unwritten({b.array.dtype, false, {}}, b.space), low, high, low);
}
constexpr array without_overhang(const array& x, const block_info& b) {
  shape start;
  for (int i = 0; i < b.block.rank(); ++i) start.push_back(0);
  return b.divides() ? x : slice(x, start, b.array.shape);
}

/// The indices of step number `step` of a grid.
constexpr arrays indices_of(const array& step, const shape& grid) {
  arrays ids(static_cast<std::size_t>(grid.rank()));
  array left = step;
  for (int i = grid.rank() - 1; i >= 0; --i) {
    const auto extent = static_cast<std::int32_t>(grid[i]);
    ids[i] = rem(left, extent);
    left = quotient(left, extent);
  }
  return ids;
}

/// Where the blocks of all refs begin in a step, from the indices and prefetched scalars.
constexpr vec<arrays> starts_of_blocks(const kernel_attributes& k, const arrays& indices, const arrays& mapped) {
  vec<arrays> all;
  int next = 0;
  for (int r = 0; r < k.inputs + k.outputs; ++r) {
    const block_info& b = k.refs[r];
    arrays starts;
    for (int i = 0; i < b.block.rank(); ++i) {
      const std::int64_t index = b.index[i];
      const array number = index == block_info::by_map ? mapped[next++] : index < 0 ? array(0) : indices[index];
      starts.push_back(number * static_cast<std::int32_t>(b.unit(i)));
    }
    all.push_back(starts);
  }
  return all;
}

/// One step: what the outputs and scratch refs hold after it. `state` is [step number, outputs, scratch].
constexpr std::vector<array> grid_step(const call& c, const kernel_attributes& k, const arrays& inputs,
                                       const std::vector<array>& state) {
  graph& g = *state[0].trace();
  arrays args = indices_of(state[0], k.grid);
  for (int i = 0; i < k.prefetch; ++i) args.push_back(c[i]);
  const graph body(c.body(0)), maps(c.body(1));
  const vec<arrays> starts = starts_of_blocks(k, args, inline_graph(g, maps, args.data()));
  array first = array(true);  // of the steps that share scratch memory
  for (int i = k.parallel; i < k.grid.rank(); ++i) first = logical_and(first, args[i] == 0);
  for (int r = 0; r < k.refs.count(); ++r) {
    const block_info& b = k.refs[r];
    if (r >= k.inputs + k.outputs) {
      const array& held = state[static_cast<std::size_t>(1 + r - k.inputs)];
      args.push_back(select(broadcast_in_dim(first, held.shape(), {}), unwritten(held.type(), b.space), held));
      continue;
    }
    const array& whole = r < k.inputs ? inputs[r] : state[static_cast<std::size_t>(1 + r - k.inputs)];
    const array block = dynamic_slice(whole, starts[r], b.block);
    if (!b.window) {
      args.push_back(reshape(block, b.type().shape));
      continue;
    }
    shape low, high;  // a window is the beginning of an array
    for (int i = 0; i < b.block.rank(); ++i) low.push_back(0), high.push_back(b.array.shape[i] - b.block[i]);
    args.push_back(pad(block, array(0.0, {b.array.dtype, false, {}}), low, high, low));
  }
  const arrays ys = inline_graph(g, body, args.data());
  std::vector<array> next{state[0] + 1};
  for (int o = 0; o < k.writable(); ++o) {
    if (o >= k.outputs) {
      next.push_back(ys[o]);
      continue;
    }
    const block_info& b = k.output(o);
    next.push_back(
        dynamic_update_slice(state[static_cast<std::size_t>(1 + o)], reshape(ys[o], b.block), starts[k.inputs + o]));
  }
  return next;
}

constexpr arrays grid_as_scan(const call& c) {
  const auto k = unpack<kernel_attributes>(c.attributes);
  arrays inputs, out;
  for (int r = 0; r < k.inputs; ++r) inputs.push_back(with_overhang(c[k.prefetch + r], k.refs[r]));
  std::vector<array> state{array(0.0, {i32, false, {}})};
  for (int r = k.inputs; r < k.refs.count(); ++r) {
    const block_info& b = k.refs[r];
    if (r >= k.inputs + k.outputs)
      state.push_back(unwritten(b.type(), b.space));
    else
      state.push_back(with_overhang(b.alias >= 0 ? c[b.alias] : unwritten(b.array, b.space), b));
  }
  for (array& s : state) s = lift(*c.trace, s);
  if (const std::int64_t steps = size(k.grid); steps > 0)
    state = scan([&](const std::vector<array>& s,
                     const nothing&) { return std::pair{grid_step(c, k, inputs, s), nothing{}}; },
                 state, nothing{}, {.length = steps})
                .first;
  for (int o = 0; o < k.outputs; ++o)
    out.push_back(without_overhang(state[static_cast<std::size_t>(1 + o)], k.output(o)));
  return out;
}

}  // namespace tokamax::detail
