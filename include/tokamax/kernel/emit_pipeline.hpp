// tokamax/kernel/emit_pipeline.hpp: a grid inside of a kernel, whose blocks are copied while the steps before them run.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/async_copy.cpp
#pragma once

#include <tokamax/kernel/async_copy.hpp>      // make_async_copy
#include <tokamax/kernel/grid_as_scan.hpp>    // indices_of
#include <tokamax/kernel/kernel_program.hpp>  // kernel_program

namespace tokamax {

/// The grid of a pipeline, and the blocks of its refs. Blocks tile their refs.
struct pipeline_options {
  shape grid;
  vec<block_spec> in = {}, out = {};
};

namespace detail {

/// The blocks of one ref outside, and the memory for them.
class pipeline_ref {
 public:
  constexpr pipeline_ref(const ref& outside, const block_spec& spec, int slot_count)
      : outside_(outside), spec_(spec), slots_(slot_count) {}

  /// Memory for the blocks, and the semaphores of their copies.
  constexpr void add_scratch(vec<kernel_scratch>& to) const {
    shape held{slots_};
    for (const std::int64_t e : spec_.block)
      if (e != squeezed) held.push_back(e);
    to.push_back({{outside_.dtype(), false, held}});
    to.push_back(semaphores({slots_}));
  }
  constexpr void place(const kernel_program& p, int first) { blocks_ = first, trace_ = &p.trace(); }

  /// Where the block of a step begins.
  constexpr arrays start(const arrays& indices) const {
    arrays numbers;
    if (spec_.index_map)
      numbers = spec_.index_map(indices);
    else
      for (int i = 0; i < spec_.block.rank(); ++i) {
        const std::int64_t axis = i < spec_.index.rank() ? spec_.index[i] : first_block;
        numbers.push_back(axis < 0 ? array(0.0, {i32, false, {}}) : indices[axis]);
      }
    for (int i = 0; i < numbers.count(); ++i)
      if (spec_.block[i] != squeezed) numbers[i] = numbers[i] * static_cast<std::int32_t>(spec_.block[i]);
    return numbers;
  }
  constexpr std::int32_t slot_count() const { return static_cast<std::int32_t>(slots_); }
  constexpr ref block(const array& slot) const { return ref(*trace_, blocks_).at({slot}); }
  /// The copy of the block of a step, in or out.
  constexpr async_copy copy(const arrays& indices, const array& slot, bool out) const {
    const arrays at = start(indices);
    vec<ref_index> part;
    for (int i = 0; i < at.count(); ++i)
      part.push_back(spec_.block[i] == squeezed ? ref_index(at[i]) : ds(at[i], spec_.block[i]));
    const ref there = outside_.at(part), arrived = ref(*trace_, blocks_ + 1).at({slot});
    return out ? make_async_copy(block(slot), there, arrived) : make_async_copy(there, block(slot), arrived);
  }

 private:
  ref outside_;
  block_spec spec_;
  std::int64_t slots_;
  int blocks_ = 0;
  kernel_trace* trace_ = nullptr;
};

/// Does any number differ?
constexpr array any_differs(const arrays& a, const arrays& b) {
  array differs = array(false);
  for (int i = 0; i < a.count(); ++i) differs = logical_or(differs, a[i] != b[i]);
  return differs;
}

}  // namespace detail

/// Runs body(input blocks, output blocks) for each step of a grid, on refs of whole arrays (memory_space::any). Each input has
/// memory for `buffers` blocks of its spec: the next ones arrive while the body works on one. A block of an output keeps its
/// values as long as steps name it, and is then copied out.
///
/// shapes  blocks tile the refs
/// errors  "emit_pipeline: specs" if their number is not that of the refs, "block_spec: buffers"; those of make_async_copy
/// source  jax.experimental.pallas.tpu.emit_pipeline
template <class Body, class... Refs>
constexpr void emit_pipeline(const kernel_program& p, const Body& body, const pipeline_options& o,
                             const Refs&... refs) {
  constexpr int count = sizeof...(Refs);
  graph* const g = p.trace().now;
  if (o.in.count() + o.out.count() != count)
    return reject(g, {}, "emit_pipeline: specs", message() << o.in.count() + o.out.count(), message() << count);
  vec<detail::pipeline_ref> all;
  vec<kernel_scratch> scratch;
  const auto add = [&](const ref& r) {
    const int k = all.count(), inputs = o.in.count();
    const block_spec& spec = k < inputs ? o.in[k] : o.out[k - inputs];
    if (spec.buffers < 1) reject(g, {}, "block_spec: buffers", message() << spec.buffers, "at least 1");
    all.push_back(detail::pipeline_ref(r, spec, k < inputs && spec.buffers > 0 ? spec.buffers : 1));
    all.back().add_scratch(scratch);
  };
  (add(refs), ...);
  const int first = p.allocate(scratch), inputs = o.in.count();
  for (int k = 0; k < count; ++k) all[k].place(p, first + 2 * k);
  const auto steps = static_cast<std::int32_t>(size(o.grid));
  const array zero(0.0, {i32, false, {}});
  const auto slot = [&](int k, const array& i) { return rem(i, all[k].slot_count()); };
  const auto fetch = [&](int k, const array& i) {
    all[k].copy(detail::indices_of(i, o.grid), slot(k, i), false).start();
  };
  for (int k = 0; k < inputs; ++k)
    for (std::int32_t i = 0; i < all[k].slot_count() - 1 && i < steps; ++i)
      fetch(k, array(static_cast<double>(i), {i32, false, {}}));
  p.fori_loop(0, steps, [&](const array& i) {
    for (int k = 0; k < inputs; ++k) {
      const array ahead = i + (all[k].slot_count() - 1);
      p.when(ahead < steps, [&] { fetch(k, ahead); });
    }
    const arrays now = detail::indices_of(i, o.grid), next = detail::indices_of(i + 1, o.grid);
    for (int k = 0; k < inputs; ++k) all[k].copy(now, slot(k, i), false).wait();
    [&]<std::size_t... Index>(std::index_sequence<Index...>) {
      const ref blocks[]{
          all[Index].block(static_cast<int>(Index) < inputs ? slot(static_cast<int>(Index), i) : zero)...};
      body(blocks[Index]...);
    }(std::make_index_sequence<static_cast<std::size_t>(count)>{});
    for (int k = inputs; k < count; ++k)
      p.when(logical_or(i == steps - 1, detail::any_differs(all[k].start(now), all[k].start(next))), [&] {
        const async_copy store = all[k].copy(now, zero, true);
        store.start();
        store.wait();
      });
  });
  p.release(first);
}

}  // namespace tokamax
