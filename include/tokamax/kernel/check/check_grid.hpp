// tokamax/kernel/check/check_grid.hpp: the steps of a kernel that is checked, and the blocks that they share.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/check/check_kernel.cpp
// umbrella: no (programs that check kernels include kernel/check/check_kernel.hpp)
#pragma once

#include <tokamax/kernel/check/check_run.hpp>  // check_run

#include <numeric>  // iota

namespace tokamax::detail {

/// One kernel. Each ref has a block of its own; blocks of outputs go back to the array when the next step has another one.
class grid_check {
 public:
  grid_check(check_run& run, check_state& state, const graph& g, const node& n, const arrays& operands)
      : run_(run),
        state_(state),
        k_(unpack<kernel_attributes>(g.words_of(n))),
        body_(g.bodies[k_.body]),
        maps_(g.bodies[k_.maps]),
        where_(n.where) {
    for (int i = 0; i < k_.prefetch; ++i) {
      numbers_.push_back({operands[i]});
      prefetched_.push_back(memory("prefetched argument " + std::to_string(i), operands[i].type(), memory_space::smem));
      prefetched_.back()->hold(operands[i]);
    }
    double vmem = 0, smem = 0;
    for (int r = 0; r < k_.refs.count(); ++r) {
      refs_.push_back(ref_of(r, operands));
      const block_info& b = k_.refs[r];
      const double bytes = padded_bytes(b.type()) * (r < k_.inputs + k_.outputs ? b.buffers : 1);
      (b.space == memory_space::vmem ? vmem : smem) += b.space == memory_space::any ? 0 : bytes;
    }
    const double limit = k_.vmem_limit > 0 ? static_cast<double>(k_.vmem_limit) : state.options.vmem_bytes;
    if (vmem > limit) overflow("VMEM", vmem, limit);
    if (smem > state.options.smem_bytes) overflow("SMEM", smem, state.options.smem_bytes);
    state_.scoped_bytes = vmem;
  }

  /// Runs all steps and returns the outputs. Parallel axes make chunks of steps, which come in an order that the seed gives; the
  /// steps of a chunk follow each other.
  checked_values run() {
    std::int64_t chunks = 1, steps = 1;
    for (int i = 0; i < k_.grid.rank(); ++i) (i < k_.parallel ? chunks : steps) *= k_.grid[i];
    std::vector<std::int64_t> order(static_cast<std::size_t>(chunks));
    std::iota(order.begin(), order.end(), 0);
    std::minstd_rand random(static_cast<unsigned>(state_.options.seed) + 1);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    for (const std::int64_t chunk : order) run_chunk(chunk, steps);
    state_.step.clear();
    state_.scoped_bytes = 0;
    checked_values out;
    for (int r = k_.inputs; r < k_.inputs + k_.outputs; ++r) {
      const checked_memory& whole = *refs_[at(r)].whole;
      if (whole.unwritten() > 0)
        state_.report(kernel_mistake::uninitialized, where_, where_,
                      "never writes " + std::to_string(whole.unwritten()) + " elements of " +
                          whole.text(memory_range::all_of(whole.type().shape)));
      out.push_back({whole.read(memory_range::all_of(whole.type().shape), whole.type())});
    }
    return out;
  }

 private:
  using memory_owner = std::unique_ptr<checked_memory>;
  /// A block that a step has written and left.
  struct left_block {
    memory_range range;
    std::int64_t chunk;
    std::string step;
    location where;
  };
  /// What a ref of the body names: the array outside (null for scratch memory), and its block (null if the ref lies outside).
  struct ref_state {
    memory_owner whole, block;
    memory_range now = {};              ///< the part of the array that the block holds
    bool entered = false;               ///< does the block hold a part, in this chunk?
    std::string step = {};              ///< the last one that had the block
    std::vector<left_block> left = {};  // outputs
  };
  static std::size_t at(int r) { return static_cast<std::size_t>(r); }
  memory_owner memory(const std::string& name, const array_type& t, memory_space space) const {
    return std::make_unique<checked_memory>(name, array_type{t.dtype, false, t.shape}, space, where_);
  }
  /// The bytes of a block in tiles of 8 x 128 words.
  static double padded_bytes(const array_type& t) {
    double n = static_cast<double>(size_of(t.dtype));
    for (int i = 0; i < t.shape.rank(); ++i) {
      const std::int64_t unit = i == t.shape.rank() - 1 ? 128 : i == t.shape.rank() - 2 ? 8 : 1;
      n *= static_cast<double>((t.shape[i] + unit - 1) / unit * unit);
    }
    return n;
  }
  /// Reports that the blocks do not fit, with a table of them. Blocks of arguments and outputs count once for each buffer.
  void overflow(const char* space, double bytes, double limit) {
    std::string table;
    for (int r = 0; r < k_.refs.count(); ++r)
      table += (r ? ", " : "") + std::string(message(k_.refs[r].type()).view()) +
               (r < k_.inputs + k_.outputs ? " x " + std::to_string(k_.refs[r].buffers) : "");
    state_.report(kernel_mistake::memory_overflow, where_, where_,
                  "needs " + std::to_string(static_cast<std::int64_t>(bytes)) + " bytes of " + space + " of " +
                      std::to_string(static_cast<std::int64_t>(limit)) + ": " + table);
  }
  /// The memory of ref r. Inputs, and outputs that begin with an argument, hold its elements; other outputs are poison.
  ref_state ref_of(int r, const arrays& operands) const {
    const block_info& b = k_.refs[r];
    const bool input = r < k_.inputs, output = !input && r < k_.inputs + k_.outputs;
    const std::string name = input    ? "input " + std::to_string(r)
                             : output ? "output " + std::to_string(r - k_.inputs)
                                      : "scratch memory " + std::to_string(r - k_.inputs - k_.outputs);
    ref_state s;
    if (input || output) {
      s.whole = memory(name, b.array, memory_space::any);
      if (input)
        s.whole->borrow(operands[k_.prefetch + r]);
      else if (b.alias >= 0)
        s.whole->hold(operands[b.alias]);
      else
        s.whole->poison(state_.poison);
    }
    if (b.space != memory_space::any) s.block = memory("block of " + name, {b.array.dtype, false, b.block}, b.space);
    return s;
  }

  /// Scratch memory begins as poison in each chunk, because another core may run it.
  void run_chunk(std::int64_t chunk, std::int64_t steps) {
    state_.chunk = chunk;
    for (int r = 0; r < k_.refs.count(); ++r) {
      refs_[at(r)].entered = false;
      if (r >= k_.inputs + k_.outputs) refs_[at(r)].block->poison(state_.poison);
    }
    for (std::int64_t s = 0; s < steps; ++s) step(chunk * steps + s);
    for (int r = k_.inputs; r < k_.inputs + k_.outputs; ++r) leave(r);
    for (const bool semaphores : {true, false})
      for (int r = 0; r < k_.refs.count(); ++r)
        for (checked_memory* m : {refs_[at(r)].block.get(), refs_[at(r)].whole.get()})
          if (m && (m->space() == memory_space::semaphore) == semaphores) end_copies(*m, "at the end of the kernel");
  }
  /// Reports the copies that have no proof of their end when memory ends or gets another block. If their semaphore was waited for,
  /// the bytes are wrong, and if not, the wait is missing.
  void end_copies(const checked_memory& m, const char* when) {
    state_.copies.end(
        m,
        [&](const copy_under_way& c, bool waited) {
          state_.report(waited ? kernel_mistake::semaphore_left : kernel_mistake::missing_wait, c.where, where_,
                        "starts a copy to " + c.to.memory->text(c.to.range) + " that is under way " + when);
        },
        [&](location signal, double count) { state_.report_left(m, signal, where_, count); });
  }

  /// Runs the body on the blocks of a step. An output that the body returns as a value, and not as memory, is written here.
  void step(std::int64_t number) {
    arrays ids(static_cast<std::size_t>(k_.grid.rank()));
    shape index = k_.grid;
    for (int i = k_.grid.rank() - 1; i >= 0; number /= k_.grid[i--]) {
      index[i] = number % k_.grid[i];
      ids[i] = array(static_cast<double>(index[i]), {i32, false, {}});
    }
    state_.step = k_.grid.rank() ? "(" : "";
    for (int i = 0; i < index.rank(); ++i) state_.step += (i ? ", " : "") + std::to_string(index[i]);
    if (k_.grid.rank()) state_.step += ")";
    checked_values in;
    for (const array& i : ids) in.push_back({i});
    find_blocks(in, index);
    for (const memory_owner& p : prefetched_) in.push_back({{}, p.get()});
    for (int r = 0; r < k_.refs.count(); ++r) {
      const ref_state& s = refs_[at(r)];
      if (s.block && k_.refs[r].type().shape != k_.refs[r].block) s.block->view_as(k_.refs[r].type().shape);
      in.push_back({{}, s.block ? s.block.get() : s.whole.get()});
    }
    const checked_values out = run_.run(body_, in, where_);
    for (int o = 0; o < k_.writable(); ++o) {
      const checked_value& held = out[static_cast<std::size_t>(o)];
      checked_memory* const m = in[static_cast<std::size_t>(k_.input_of(k_.inputs + o))].memory;
      if (!held.memory) m->write(memory_range::all_of(m->type().shape), held.data);
    }
  }

  /// Blocks of outputs leave before those of the step arrive.
  void find_blocks(const checked_values& ids, const shape& index) {
    checked_values given = ids, mapped;
    given.insert(given.end(), numbers_.begin(), numbers_.end());
    if (!maps_.outputs.empty()) mapped = run_.run(maps_, given, where_);
    std::size_t next = 0;
    std::vector<memory_range> now;
    for (int r = 0; r < k_.inputs + k_.outputs; ++r) {
      now.push_back(block_of(r, index, mapped, next));
      if (r >= k_.inputs && refs_[at(r)].entered && refs_[at(r)].now.start != now.back().start) leave(r);
    }
    for (int r = 0; r < k_.inputs + k_.outputs; ++r) {
      ref_state& s = refs_[at(r)];
      if (s.block && (!s.entered || s.now.start != now[at(r)].start)) enter(r, now[at(r)]);
      s.step = state_.step;
    }
  }
  /// The block of a step. One that does not exist is reported, and moved into the array.
  memory_range block_of(int r, const shape& index, const checked_values& mapped, std::size_t& next) {
    const block_info& b = k_.refs[r];
    memory_range now{b.block, b.block};
    bool exists = true;
    for (int i = 0; i < b.block.rank(); ++i) {
      const std::int64_t axis = b.index[i];
      const std::int64_t number = axis == block_info::by_map ? mapped[next++].data.item<std::int32_t>()
                                  : axis < 0                 ? 0
                                                             : index[static_cast<int>(axis)];
      now.start[i] = number * b.unit(i);
      exists = exists && number >= 0 && (now.start[i] < b.array.shape[i] || b.array.shape[i] == 0);
    }
    if (exists) return now;
    state_.report(kernel_mistake::out_of_bounds, where_, where_, "takes block " + refs_[at(r)].whole->text(now));
    for (int i = 0; i < b.block.rank(); ++i)
      now.start[i] = std::max<std::int64_t>(0, std::min(now.start[i], b.array.shape[i] - b.block[i]));
    return now;
  }

  /// The part of a block that is inside of its array, there and in the block.
  std::pair<memory_range, memory_range> valid(int r) const {
    memory_range there = refs_[at(r)].now;
    for (int i = 0; i < there.start.rank(); ++i)
      there.sizes[i] = std::min(there.sizes[i], k_.refs[r].array.shape[i] - there.start[i]);
    memory_range here = there;
    for (std::int64_t& s : here.start.values) s = 0;
    return {there, here};
  }
  /// Brings a block. What hangs over the array, and a new block of an output, is poison.
  void enter(int r, const memory_range& now) {
    ref_state& s = refs_[at(r)];
    s.now = now, s.entered = true;
    s.block->view_as(k_.refs[r].block);
    end_copies(*s.block, "when its block leaves");
    const auto [there, here] = valid(r);
    if (r < k_.inputs && here.sizes == k_.refs[r].block)
      s.block->mark_all();
    else
      s.block->poison(state_.poison);
    if (r < k_.inputs) check_alias(r, there);
    if (r >= k_.inputs) check_revisit(r, there);
    if (r < k_.inputs || k_.refs[r].alias >= 0) s.block->copy(here, *s.whole, there);
  }
  /// Writes a block of an output back, and remembers who has written it.
  void leave(int r) {
    ref_state& s = refs_[at(r)];
    if (!s.entered || !s.block) return;
    s.entered = false;
    s.block->view_as(k_.refs[r].block);
    end_copies(*s.block, "when its block leaves");
    const auto [there, here] = valid(r);
    s.whole->copy(there, *s.block, here);
    s.left.push_back({there, state_.chunk, s.step, s.block->last_write()});
  }
  /// An output's block that was written and left may not come again: the chip does not read it back.
  void check_revisit(int r, const memory_range& now) {
    for (const left_block& b : refs_[at(r)].left) {
      if (!b.range.overlaps(now)) continue;
      state_.report(b.chunk != state_.chunk ? kernel_mistake::parallel_race : kernel_mistake::revisited_output, where_,
                    b.where.line ? b.where : where_,
                    "has " + refs_[at(r)].whole->text(now) + " again, which step " + b.step + " wrote");
      return;
    }
  }
  /// An argument whose memory an output shares may not be read where that output was written before.
  void check_alias(int r, const memory_range& now) {
    for (int o = 0; o < k_.outputs; ++o) {
      if (k_.output(o).alias != k_.prefetch + r) continue;
      for (const left_block& b : refs_[at(k_.inputs + o)].left)
        if (b.range.overlaps(now))
          state_.report(kernel_mistake::read_after_alias, where_, b.where.line ? b.where : where_,
                        "reads " + refs_[at(r)].whole->text(now) + ", which step " + b.step + " wrote");
    }
  }

  check_run& run_;
  check_state& state_;
  const kernel_attributes k_;
  const graph &body_, &maps_;
  const location where_;
  checked_values numbers_;
  std::vector<memory_owner> prefetched_;
  std::vector<ref_state> refs_;
};

inline checked_values check_grid(check_run& run, check_state& state, const graph& g, const node& n,
                                 const arrays& operands) {
  return grid_check(run, state, g, n, operands).run();
}

}  // namespace tokamax::detail
