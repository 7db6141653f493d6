// tokamax/backend/systolic/kernel_grid.hpp: a kernel on blocks as a program of a simulated TPU.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/device.cpp
// umbrella: no (what only simulates instructions needs no kernels)
#pragma once

#include <tokamax/backend/systolic/graph_program.hpp>  // graph_appender
#include <tokamax/backend/systolic/matmul.hpp>         // padded_bytes
#include <tokamax/kernel/async_copy.hpp>               // copy_start_p, copy_wait_p
#include <tokamax/kernel/kernel_events.hpp>            // walk_kernel
#include <tokamax/kernel/semaphore.hpp>                // semaphore_signal_p, semaphore_wait_p

#include <deque>   // deque
#include <string>  // to_string
#include <vector>  // vector

namespace tokamax::systolic_backend {

namespace detail {

/// The bytes of a block in VMEM: its last two axes in whole tiles.
inline double padded_bytes(const chip& c, const array_type& t) {
  const int rank = t.shape.rank();
  double outer = 1;
  for (int i = 0; i + 2 < rank; ++i) outer *= static_cast<double>(t.shape[i]);
  const long long rows = rank > 1 ? t.shape[rank - 2] : 1, columns = rank > 0 ? t.shape[rank - 1] : 1;
  return outer * padded_bytes(c, rows, columns, element_of(t.dtype));
}

/// What a step of a kernel does: instructions, each of which waits for the one before.
class step_work {
 public:
  /// Notes an op. An op in a loop happens so many times.
  void add(const chip& c, const kernel_event& e) {
    if (e.function == &copy_start_p) return all_.push_back(copy(e));
    if (e.function == &copy_wait_p) {
      instruction wait;
      wait.on = unit::ici;  // of no link: it waits for the oldest copy
      return all_.push_back({wait, {}, 1});
    }
    for (const op* free : {&ref_get_p, &ref_set_p, &ref_empty_p, &semaphore_signal_p, &semaphore_wait_p})
      if (e.function == free) return;
    if (e.use == nullptr) return;
    program alone;
    call use = *e.use;
    use.type = e.result;
    graph_appender(alone, c, e.times).append(use, {});
    for (const instruction& i : alone.instructions())
      if (i.on == unit::mxu)
        all_.push_back({i, alone.product(i), std::max(1LL, std::llround(e.times))});
      else if (i.on != unit::scalar)
        all_.push_back({i, {}, 1});
  }
  /// Appends the instructions to a program; returns the event after which all is done.
  event_id append(program& p, event_id ready) const {
    event_id over = ready;
    std::deque<event_id> copies;
    for (const work& w : all_) {
      if (w.what.on == unit::dma) {
        copies.push_back(p.transfer(w.what.from, w.what.to, w.what.amount, {over}));
      } else if (w.what.on == unit::ici) {
        if (copies.empty()) continue;  // started by a step before
        over = p.scalar(0, 0, {over, copies.front()});
        copies.pop_front();
      } else if (w.what.on == unit::mxu) {
        event_id last = over;
        for (long long n = 0; n < w.times; ++n) last = p.product(w.product, w.what.type, {over}, w.what.accumulates);
        over = last;
      } else {
        over = p.vector(w.what.function->name, w.what.amount, {over});
      }
    }
    for (const event_id c : copies) over = p.scalar(0, 0, {over, c});
    return over;
  }

 private:
  struct work {
    instruction what;
    product_shape product;
    long long times = 1;
  };
  /// The larger one of the two refs is taken to be the array outside.
  static work copy(const kernel_event& e) {
    instruction i;
    i.on = unit::dma;
    const bool in = tokamax::bytes_of(e.operands[0]) >= tokamax::bytes_of(e.operands[1]);
    i.from = in ? memory::hbm : memory::vmem, i.to = in ? memory::vmem : memory::hbm;
    i.amount = tokamax::detail::bytes_of_copy(*e.use, 1) * e.times;
    return {i, {}, 1};
  }
  std::vector<work> all_;
};

/// The blocks and the work of all steps of a kernel.
class kernel_steps {
 public:
  kernel_steps(const chip& c, const graph& g, const node& n)
      : chip_(c),
        k_(unpack<kernel_attributes>(g.words_of(n))),
        blocks_(static_cast<std::size_t>(k_.inputs + k_.outputs)),
        works_(static_cast<std::size_t>(size(k_.grid))) {
    tokamax::arrays prefetched;
    for (int i = 0; i < k_.prefetch; ++i) prefetched.push_back(array(0.0, g[g.operand(n, i)].type));
    for (int i = 0; i < k_.parallel; ++i) chunks_ *= k_.grid[i];
    for (std::vector<int>& b : blocks_) b.assign(works_.size() + 1, 0);
    const auto note = [&](const kernel_event& e) {
      const auto step = static_cast<std::size_t>(e.step);
      if (e.what == kernel_event::kind::compute)
        works_[step].add(chip_, e);
      else  // an output leaves because the next step has another block
        blocks_[static_cast<std::size_t>(e.ref)][step + (e.what == kernel_event::kind::copy_out)] = 1;
    };
    walk_kernel(g, n, note, prefetched);
    for (std::vector<int>& b : blocks_)
      for (std::size_t s = 1; s < b.size(); ++s) b[s] += b[s - 1];
  }
  std::int64_t chunks() const { return chunks_; }

  /// Appends the chunks from `first` to `last` - 1 on a core.
  void append(program& p, int core, std::int64_t first, std::int64_t last) const {
    const std::int64_t steps = chunks_ > 0 ? static_cast<std::int64_t>(works_.size()) / chunks_ : 0;
    const program::place where{core, "kernel"};
    p.at(where);
    for (int r = k_.inputs + k_.outputs; r < k_.refs.count(); ++r)
      if (k_.refs[r].space == memory_space::vmem) p.reserve("scratch", padded_bytes(chip_, k_.refs[r].type()), 1);
    const std::vector<operand> operands = operands_of(first * steps, last * steps);
    if (!operands.empty()) {
      const auto from = static_cast<std::size_t>(first * steps);
      run_pipeline(p, operands, where,
                   [&](int s, event_id ready) { return works_[from + static_cast<std::size_t>(s)].append(p, ready); });
      return;
    }
    event_id over = -1;  // the kernel copies its blocks itself
    for (std::int64_t s = first * steps; s < last * steps; ++s)
      over = works_[static_cast<std::size_t>(s)].append(p, p.scalar(0, 1, {over}));
  }

 private:
  std::vector<operand> operands_of(std::int64_t first, std::int64_t last) const {
    std::vector<operand> all;
    for (int r = 0; r < k_.inputs + k_.outputs; ++r) {
      if (k_.refs[r].space == memory_space::any) continue;
      const std::vector<int>& b = blocks_[static_cast<std::size_t>(r)];
      all.push_back({r < k_.inputs ? "input " + std::to_string(r) : "output " + std::to_string(r - k_.inputs),
                     padded_bytes(chip_, k_.refs[r].type()),
                     {b.begin() + first, b.begin() + last},
                     k_.refs[r].buffers,
                     r >= k_.inputs});
    }
    return all;
  }

  const chip& chip_;
  const kernel_attributes k_;
  std::int64_t chunks_ = 1;
  std::vector<std::vector<int>> blocks_;  // by ref and step: the number of its block
  std::vector<step_work> works_;
};

/// The cores of a chip that work together as one device.
inline int cores_of(const chip& c) { return c.megacore > 0 ? static_cast<int>(count_of(c.cores)) : 1; }

}  // namespace detail

/// The kernel in node `n` of `g` on a chip: blocks arrive and leave in a pipeline with the buffers that their specs ask for,
/// and the ops of each step, whose branches on its indices are decided, run one after the other. On a chip with several cores
/// that are one device, these share the parallel steps. Prefetched arguments, which are not known before a run, count as
/// zeros. A loop inside of a step is one instruction for each of its ops, so that it overlaps no copies.
///
/// errors  tokamax::error for blocks and scratch memory that do not fit into VMEM, when the program is simulated
inline program kernel_program(const chip& c, const graph& g, const node& n) {
  const detail::kernel_steps steps(c, g, n);
  program p;
  const auto cores = std::min<std::int64_t>(detail::cores_of(c), steps.chunks());
  for (std::int64_t core = 0; core < cores; ++core)
    steps.append(p, static_cast<int>(core), steps.chunks() * core / cores, steps.chunks() * (core + 1) / cores);
  return p;
}

}  // namespace tokamax::systolic_backend
