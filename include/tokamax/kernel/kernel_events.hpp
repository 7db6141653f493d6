// tokamax/kernel/kernel_events.hpp: what a kernel does, step by step: copies of blocks, and the ops of its body.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_events.cpp
#pragma once

#include <tokamax/core/graph/cost.hpp>      // operations_of
#include <tokamax/kernel/kernel_rules.hpp>  // kernel_attributes, starts_of_blocks

#include <vector>  // vector

namespace tokamax {

/// Something that a step of a kernel does.
struct kernel_event {
  enum class kind : std::uint8_t {
    copy_in,   ///< a block arrives, because the step before had another one
    compute,   ///< an op of the body
    copy_out,  ///< a block of an output leaves, because the next step has another one, or there is none
  };
  kind what = kind::compute;
  std::int64_t step = 0;           ///< number of the step, in the order of the grid
  int ref = -1;                    ///< copies: the number of the ref, inputs first
  shape start = {}, extents = {};  ///< copies: the part of the array
  double bytes = 0;                ///< copies: how many are copied
  const op* function = nullptr;    ///< compute: the op, such as dot_general or ref_get
  vec<array_type> operands = {};
  array_type result = {};
  op_cost cost = {};
  const call* use = nullptr;  ///< compute: the op with its attributes, as long as the visit lasts
  double times = 1;           ///< compute: how often the step does this, in loops of known length
};

namespace detail {

/// Walks over the steps of one kernel.
template <class Visit>
class kernel_walk {
 public:
  kernel_walk(const graph& g, const node& n, const arrays& prefetched, const Visit& visit)
      : layout_(unpack<kernel_attributes>(g.words_of(n))),
        body_(g.bodies[layout_.body]),
        maps_(g.bodies[layout_.maps]),
        prefetched_(prefetched),
        visit_(visit) {}

  void run() {
    const std::int64_t steps = size(layout_.grid);
    const int copied = layout_.inputs + layout_.outputs;
    std::vector<shape> now(static_cast<std::size_t>(copied)), next = steps > 0 ? blocks_of(0) : now;
    for (std::int64_t s = 0; s < steps; ++s) {
      for (int r = 0; r < layout_.inputs; ++r)
        if (s == 0 || !(now[at(r)] == next[at(r)])) copy(kernel_event::kind::copy_in, s, r, next[at(r)]);
      now = next;
      compute(s);
      if (s + 1 < steps) next = blocks_of(s + 1);
      for (int r = layout_.inputs; r < copied; ++r)
        if (s + 1 == steps || !(now[at(r)] == next[at(r)])) copy(kernel_event::kind::copy_out, s, r, now[at(r)]);
    }
  }

 private:
  static std::size_t at(int r) { return static_cast<std::size_t>(r); }
  arrays indices(std::int64_t step) const {
    arrays ids(static_cast<std::size_t>(layout_.grid.rank()));
    for (int i = layout_.grid.rank() - 1; i >= 0; step /= layout_.grid[i--])
      ids[i] = array(static_cast<double>(step % layout_.grid[i]), {i32, false, {}});
    return ids;
  }
  /// Where the block of each ref begins in a step.
  std::vector<shape> blocks_of(std::int64_t step) const {
    arrays in = indices(step);
    for (const array& p : prefetched_) in.push_back(p);
    arrays mapped;
    if (!maps_.outputs.empty()) mapped = execute_graph(maps_, in);
    std::vector<shape> all;
    for (const arrays& starts : starts_of_blocks(layout_, in, mapped)) {
      all.push_back({});
      for (const array& s : starts) all.back().push_back(s.item<std::int32_t>());
    }
    return all;
  }
  void copy(kernel_event::kind what, std::int64_t step, int r, const shape& start) const {
    const block_info& b = layout_.refs[r];
    if (b.space == memory_space::any) return;
    kernel_event e{.what = what, .step = step, .ref = r, .start = start, .extents = b.block};
    for (int i = 0; i < start.rank(); ++i)
      e.extents[i] = std::min(b.block[i], std::max<std::int64_t>(0, b.array.shape[i] - start[i]));
    e.bytes = tokamax::bytes_of(array_type{b.array.dtype, false, e.extents});
    visit_(e);
  }
  /// The body with the indices of the step as constants, so that branches on them are decided.
  void compute(std::int64_t step) const {
    graph g;
    arrays args;
    for (const array& i : indices(step)) args.push_back(lift(g, i));
    for (int k = args.count(); k < body_.inputs.count(); ++k)
      args.push_back(body_input(g, body_[body_.inputs[k]].type));
    for (const array& y : inline_graph(g, body_, args.data())) g.outputs.push_back(lift(g, y).id());
    visit_nodes(g, step, 1);
  }
  void visit_nodes(const graph& g, std::int64_t step, double times) const {
    const vec<char> live = live_nodes(g);
    for (int i = 0; i < g.count(); ++i) {
      const node& n = g[i];
      if (!live[i] || !n.op || n.op == &get_p || n.op == &constant_p) continue;
      kernel_event e{.step = step, .function = n.op, .result = n.type, .times = times};
      arrays in;
      for (int k = 0; k < n.operand_count; ++k) {
        e.operands.push_back(g[g.operand(n, k)].type);
        in.push_back(array(e.operands.back()));
      }
      const call c = call_of(g, n, in, const_cast<graph*>(&g));  // only read
      if (!n.op->attributes.has_bodies()) {
        e.cost = operations_of(c);
        e.use = &c;
        visit_(e);
        continue;
      }
      const double often = n.op->bodies.repeats ? static_cast<double>(n.op->bodies.repeats(c.attributes)) : 1;
      for (int b = n.op->bodies.branches ? body_count(c) - 1 : 0; b < body_count(c); ++b)
        visit_nodes(c.body(b), step, times * often);
    }
  }

  const kernel_attributes layout_;
  const graph &body_, &maps_;
  const arrays prefetched_;
  const Visit& visit_;
};

}  // namespace detail

/// Calls visit(kernel_event) for all that the kernel in node `n` of `g` does, in the order of its steps. Branches on the index
/// of the step are decided; of others the last body counts, and of a loop whose length is not known one step.
///
/// Machine models and printers of kernels are such visitors.
/// errors  those of index maps; `prefetched` are the values of the prefetched arguments, if there are any
template <class Visit>
void walk_kernel(const graph& g, const node& n, const Visit& visit, const arrays& prefetched = {}) {
  detail::kernel_walk<Visit>(g, n, prefetched, visit).run();
}

/// The operations of a kernel and the bytes that it copies between memories.
/// source  jax.experimental.pallas.estimate_cost, which needs no grid because it counts each branch and block
inline op_cost kernel_cost(const graph& g, const node& n, const arrays& prefetched = {}) {
  op_cost all;
  const auto add = [&](const kernel_event& e) {
    all += e.cost * e.times;
    all.bytes_accessed += e.bytes;
  };
  walk_kernel(g, n, add, prefetched);
  return all;
}

}  // namespace tokamax
