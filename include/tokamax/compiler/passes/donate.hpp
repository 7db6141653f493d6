// tokamax/compiler/passes/donate.hpp: which results of steps are written over operands that are not read again.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/passes/donate.cpp
#pragma once

#include <tokamax/compiler/plan.hpp>  // plan

namespace tokamax::detail {

/// Collects, while the steps of one region are made, which result may be written over which operand.
///
/// The result of a loop may take the place of an operand that the loop reads in the same order. Both lie in the arena, or
/// the operand is an input that the caller gives away and the result an output.
///
/// An update returns its operand with some elements changed. A chain of updates is one buffer. If the chain ends in an
/// output, all of it lies in the memory of that output. If it also begins with an input that the caller gives away, it lies
/// in the memory of that input, and nothing is copied. A chain from such an input to an output may have loops between its
/// updates, as the running sum of a kernel has: set to zero in the first step, then added to.
class donations {
 public:
  constexpr explicit donations(plan& p) : p_(p), first_(p.buffers.count()) {}

  /// Notes for each result of a loop an operand whose place it may take. An output prefers the input of its own number: in a
  /// step that returns its state they belong together, and other inputs, such as gradients, are seldom given away.
  constexpr void note_loop(const plan_step& st) {
    const plan_operand* const operands = p_.operands.data() + st.operands;
    const plan_buffer* const buffers = p_.buffers.data();
    const int results = st.in_count + st.out_count;
    for (int r = st.in_count; r < results; ++r) {
      const int own = buffers[operands[r].buffer].index;
      for (int k = 0; k < st.in_count; ++k)
        if (const int b = operands[k].buffer; b >= 0 && buffers[b].index == own && note(st, operands, k, r, by_loop))
          break;
    }
    for (int r = st.in_count; r < results; ++r) {
      if (buffers[operands[r].buffer].kind != buffer_kind::output) continue;
      bool found = source_of(operands[r].buffer - first_) >= 0;
      for (int k = 0; k < st.in_count && !found; ++k)
        found = operands[k].buffer >= 0 && note(st, operands, k, r, by_loop);
      if (!found) note_through(st, r);
    }
  }
  /// Result r of a step is its operand k with some elements changed.
  constexpr void note_update(const plan_step& st, int k, int r) {
    const plan_operand* const operands = p_.operands.data() + st.operands;
    if (operands[k].buffer >= 0) note(st, operands, k, st.in_count + r, by_update);
  }

  /// The buffer, a number within the region, whose place buffer `b` may take; -1 if there is none.
  constexpr int source_of(int b) const { return b < source_.count() ? source_[b] : -1; }

  /// Writes the findings into the buffers of the region.
  constexpr void finish(const plan_region& r) {
    buffers_ = p_.buffers.data() + first_;
    source_.resize(static_cast<std::size_t>(r.buffer_count), -1);
    const int* const source = source_.data();
    find_lives(r);
    for (int b = 0; b < through_.count(); ++b)
      if (through_[b] >= 0 && source_[b] < 0 && begins_with_input(b) && runs_alone(r, writer_[b]))
        source_[b] = through_[b];
    for (int b = 0; b < r.buffer_count; ++b) buffers_[b].reuse = source[b];
    for (int b = 0; b < r.buffer_count; ++b)
      if (source[b] >= 0 && buffers_[b].kind == buffer_kind::output) follow(b);
  }

 private:
  // The functions below use raw pointers, because calls of accessors are slow in constant expressions.
  enum : char { nobody, by_loop, by_update };

  constexpr bool note(const plan_step& st, const plan_operand* operands, int k, int r, char how) {
    if (!may_replace(st, operands, k, operands[r], how)) return false;
    const auto count = p_.buffers.size() - static_cast<std::size_t>(first_);
    source_.resize(count, -1);
    taken_.resize(count, nobody);
    // A later step may take the place over from an earlier one, unless both are loops.
    char& taken = taken_[operands[k].buffer - first_];
    if (taken == by_loop && how == by_loop) return false;
    taken = how;
    source_[operands[r].buffer - first_] = operands[k].buffer - first_;
    return true;
  }

  /// Notes the first operand in the arena over which a loop may write output r, if a chain from an input needs it.
  constexpr void note_through(const plan_step& st, int r) {
    const plan_operand* const operands = p_.operands.data() + st.operands;
    for (int k = 0; k < st.in_count; ++k) {
      if (operands[k].buffer < 0 || !may_replace(st, operands, k, operands[r], by_update) ||
          p_.buffers[operands[k].buffer].kind != buffer_kind::arena)
        continue;
      through_.resize(p_.buffers.size() - static_cast<std::size_t>(first_), -1);
      through_[operands[r].buffer - first_] = operands[k].buffer - first_;
      return;
    }
  }
  /// Does output b end a chain, each link of which is the last reader of the one before, that begins with an input?
  constexpr bool begins_with_input(int b) const {
    int d = through_[b];
    while (d >= 0 && last_[d] == writer_[b] && buffers_[d].kind == buffer_kind::arena) {
      b = d;
      d = source_[b];
    }
    return d >= 0 && last_[d] == writer_[b] && buffers_[d].kind == buffer_kind::input;
  }

  /// Does no other step run at the same time as step s of a region? One of them may read what this one writes over.
  constexpr bool runs_alone(const plan_region& r, int s) const {
    const plan_step* const steps = p_.steps.data() + r.first_step;
    for (int begin = 0; begin <= s; begin = end_of_joined(steps, begin))
      if (end_of_joined(steps, begin) > s) return end_of_joined(steps, begin) == begin + 1;
    return true;
  }

  /// May `out` be written over operand k? They must be of one size and lie in the same order, no other operand of the step
  /// may read that buffer, and the buffer must be of a kind that can be given away.
  constexpr bool may_replace(const plan_step& st, const plan_operand* operands, int k, const plan_operand& out,
                             char how) const {
    const plan_operand& in = operands[k];
    const plan_buffer* const buffers = p_.buffers.data();
    const plan_buffer &from = buffers[in.buffer], &to = buffers[out.buffer];
    if (in.offset != 0 || out.offset != 0 || from.bytes != to.bytes || size_of(in.type) != size_of(out.type))
      return false;
    if (from.kind == buffer_kind::output || from.kind == buffer_kind::constant) return false;
    if (how == by_loop && (to.kind == buffer_kind::output) != (from.kind == buffer_kind::input)) return false;
    const int count = st.kind == step_kind::loop ? st.rank : 2 * out.rank;
    if (st.kind != step_kind::loop && in.rank != out.rank) return false;
    const std::int64_t* const numbers = p_.numbers.data();
    for (int a = 0; a < count; ++a)
      if (numbers[in.numbers + a] != numbers[out.numbers + a]) return false;
    for (int j = 0; j < st.in_count; ++j)
      if (j != k && operands[j].buffer == in.buffer) return false;
    return true;
  }

  /// Finds for each buffer the first step that writes it and the last step that reads it.
  constexpr void find_lives(const plan_region& r) {
    lives_.resize(2 * static_cast<std::size_t>(r.buffer_count), -1);
    last_ = lives_.data();
    writer_ = last_ + r.buffer_count;
    const plan_step* const steps = p_.steps.data() + r.first_step;
    const plan_operand* const operands = p_.operands.data();
    for (int s = 0; s < r.step_count; ++s) {
      const plan_operand* const mine = operands + steps[s].operands;
      const int in = steps[s].in_count, all = in + steps[s].out_count;
      for (int k = 0; k < in; ++k)
        if (mine[k].buffer >= first_) last_[mine[k].buffer - first_] = s;
      for (int k = in; k < all; ++k)
        if (mine[k].buffer >= first_ && writer_[mine[k].buffer - first_] < 0) writer_[mine[k].buffer - first_] = s;
    }
  }
  /// Follows the chain of updates that ends in an output. Moves its buffers into the memory of the output, and notes the
  /// input at the beginning of the chain, whose memory the output may take.
  constexpr void follow(int out) {
    int b = out, first = out;
    while (buffers_[first].reuse >= 0 && last_[buffers_[first].reuse] == writer_[first] &&
           buffers_[first].kind != buffer_kind::input)
      first = buffers_[first].reuse;
    const bool whole = buffers_[first].kind == buffer_kind::input;
    for (int d = buffers_[b].reuse; d >= 0 && last_[d] == writer_[b]; d = buffers_[b].reuse) {
      if (buffers_[d].kind == buffer_kind::input) {
        buffers_[out].donor = buffers_[d].index;
        return;
      }
      if ((!whole && taken_[d] != by_update) || buffers_[d].kind != buffer_kind::arena) return;
      buffers_[d].kind = buffer_kind::output;
      buffers_[d].index = buffers_[out].index;
      b = d;
    }
  }

  plan& p_;
  int first_;
  vec<int> source_;   // of each buffer: the one whose place it may take
  vec<int> through_;  // of each output of a loop: the one in the arena whose place it may take in a chain
  vec<char> taken_;   // of each buffer: how its place may be taken
  vec<int> lives_;
  int *last_ = nullptr, *writer_ = nullptr;
  plan_buffer* buffers_ = nullptr;
};

}  // namespace tokamax::detail
