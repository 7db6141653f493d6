// tokamax/backend/systolic/pipeline.hpp: a grid of steps whose blocks are copied while other steps compute.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/systolic/program.hpp>  // program

#include <algorithm>  // max
#include <string>     // string
#include <vector>     // vector

namespace tokamax::systolic_backend {

/// An operand of a kernel, cut into blocks. `block[step]` is the number of the block that a step uses: the same number in
/// consecutive steps is not copied again.
struct operand {
  std::string name;
  double bytes = 0;        ///< of a block, padded to tiles
  std::vector<int> block;  ///< by step
  int buffers = 2;         ///< 1: nothing is copied while a step computes
  bool output = false;     ///< copied out, when the next step uses another block
};

namespace detail {

/// The copies of the operands of a pipeline.
class pipeline_copies {
 public:
  pipeline_copies(program& p, const std::vector<operand>& operands, int core)
      : p_(p), operands_(operands), core_(core) {
    for (const operand& o : operands) {
      p.reserve(o.name, o.bytes, o.buffers);
      steps_ = std::max(steps_, o.block.size());
      buffers_.push_back({std::vector<event_id>(o.output ? 0 : o.block.size(), -1),
                          std::vector<event_id>(static_cast<std::size_t>(std::max(1, o.buffers)), -1)});
    }
    for (const operand& o : operands)
      if (o.block.size() != steps_)
        throw error("systolic pipeline: steps of operand " + o.name, std::to_string(o.block.size()),
                    std::to_string(steps_));
  }

  std::size_t steps() const { return steps_; }

  /// Asks for the blocks of up to buffers - 1 steps ahead, those of near steps first: copies are served in this order.
  void ask(std::size_t step, event_id started) {
    bool more = true;
    for (std::size_t next = step; next < steps_ && more; ++next) {
      more = false;
      for (std::size_t o = 0; o < operands_.size(); ++o) {
        if (operands_[o].output || next >= step + buffers_[o].written.size()) continue;
        more = true;
        if (next >= buffers_[o].asked) ask_one(operands_[o], buffers_[o], next, started);
      }
    }
  }

  /// What a step waits for: its inputs, and for each output that begins a block the copy that still reads the buffer.
  void waits_of(std::size_t step, std::vector<event_id>& waits) const {
    for (std::size_t o = 0; o < operands_.size(); ++o) {
      const state& s = buffers_[o];
      if (!operands_[o].output) waits.push_back(s.copied[step]);
      if (operands_[o].output && (step == 0 || changes(operands_[o], step)))
        waits.push_back(s.written[s.writes % s.written.size()]);
    }
  }

  /// Copies out what the next step does not go on with.
  void write(std::size_t step, event_id over) {
    for (std::size_t o = 0; o < operands_.size(); ++o) {
      const operand& x = operands_[o];
      state& s = buffers_[o];
      if (!x.output || (step + 1 < steps_ && !changes(x, step + 1))) continue;
      p_.at({core_, x.name, static_cast<int>(step)});
      s.written[s.writes++ % s.written.size()] = p_.transfer(memory::vmem, memory::hbm, x.bytes, {over});
    }
  }

  void last_writes(std::vector<event_id>& waits) const {
    for (const state& s : buffers_) waits.insert(waits.end(), s.written.begin(), s.written.end());
  }

 private:
  struct state {
    std::vector<event_id> copied;   // by step: the copy in that it waits for
    std::vector<event_id> written;  // by buffer: the copy out that reads it
    std::size_t asked = 0, writes = 0;
  };

  static bool changes(const operand& x, std::size_t step) { return x.block[step] != x.block[step - 1]; }

  void ask_one(const operand& x, state& s, std::size_t step, event_id started) {
    s.asked = step + 1;
    if (step > 0 && !changes(x, step)) {
      s.copied[step] = s.copied[step - 1];
      return;
    }
    p_.at({core_, x.name, static_cast<int>(step)});
    s.copied[step] = p_.transfer(memory::hbm, memory::vmem, x.bytes, {started});
  }

  program& p_;
  const std::vector<operand>& operands_;
  int core_;
  std::size_t steps_ = 0;
  std::vector<state> buffers_;
};

}  // namespace detail

/// Runs a step for each block of the operands, on the core of `where`, as the pipelines that Pallas emits. `body(step,
/// ready)` appends the instructions of a step, which wait for the event `ready`, and returns the event after which the step
/// is over.
///
/// At its start a step pays the chip's cost of a step, and asks for the blocks that are buffers - 1 steps ahead. Then it
/// waits for its own inputs, and for the buffers of its outputs to be written. Returns the event after which all is in HBM.
///
/// errors  tokamax::error for operands with different numbers of steps
template <class Body>
event_id run_pipeline(program& p, const std::vector<operand>& operands, program::place where, Body body) {
  p.at(where);
  detail::pipeline_copies copies(p, operands, where.core);
  event_id over = -1;
  std::vector<event_id> waits;
  for (std::size_t step = 0; step < copies.steps(); ++step) {
    p.at({where.core, "step", static_cast<int>(step)});
    const event_id started = p.scalar(0, 1, {over});
    copies.ask(step, started);
    waits.assign(1, started);
    copies.waits_of(step, waits);
    p.at({where.core, "wait", static_cast<int>(step)});
    const event_id ready = p.scalar(0, 0, waits);
    p.at({where.core, where.name, static_cast<int>(step)});
    over = body(static_cast<int>(step), ready);
    copies.write(step, over);
  }
  waits.assign(1, over);
  copies.last_writes(waits);
  p.at({where.core, "end", -1});
  return p.scalar(0, 0, waits);
}

}  // namespace tokamax::systolic_backend
