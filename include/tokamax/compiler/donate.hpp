// tokamax/compiler/donate.hpp: which results of a region's steps are written over operands that nobody reads again.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/donate.cpp
#pragma once

#include <tokamax/compiler/plan.hpp>  // plan

namespace tokamax::detail {

/// Collects what may be written over what while the steps of one region are made.
///
/// A loop's result may take the place of an operand that it reads in the same order: in the arena, or an output over an
/// input that the caller gives away. The result of an update, which is its operand but for some elements, does more: a
/// chain of updates is one buffer. If it ends in an output, all of it lies in that output's memory, which is the input's
/// where the chain begins with one that is given away, so that nothing is copied.
class donations {
 public:
  constexpr explicit donations(plan& p) : p_(p), first_(p.buffers.count()) {}

  constexpr void note_loop(const plan_step& st) {
    for (int r = 0; r < st.out_count; ++r)
      for (int k = 0; k < st.in_count; ++k)
        if (note(st, k, r, by_loop)) break;
  }
  /// Result r of a step is its operand k with some elements changed.
  constexpr void note_update(const plan_step& st, int k, int r) { note(st, k, r, by_update); }

  /// Writes what was found into the buffers of the region.
  constexpr void finish(const plan_region& r) {
    source_.resize(static_cast<std::size_t>(r.buffer_count), -1);
    for (int b = 0; b < r.buffer_count; ++b) buffer(b).reuse = source_[b];
    find_lives(r);
    for (int b = 0; b < r.buffer_count; ++b)
      if (buffer(b).kind == plan_buffer::what::output && buffer(b).reuse >= 0 && writer_[b] >= 0) follow(b);
  }

 private:
  enum : char { nobody, by_loop, by_update };

  constexpr plan_buffer& buffer(int b) { return p_.buffers[first_ + b]; }

  constexpr bool note(const plan_step& st, int k, int r, char how) {
    const plan_operand &in = p_.operands[st.operands + k], &out = p_.operands[st.operands + st.in_count + r];
    if (in.buffer < 0 || !may_replace(st, k, out, how)) return false;
    const auto count = p_.buffers.size() - static_cast<std::size_t>(first_);
    source_.resize(count, -1);
    taken_.resize(count, nobody);
    char& taken = taken_[in.buffer - first_];  // only the last step that reads it can, so an update tries again
    if (taken == by_loop && how == by_loop) return false;
    taken = how;
    source_[out.buffer - first_] = in.buffer - first_;
    return true;
  }

  /// Is operand k read exactly where `out` is written, by nothing else in this step, and of the kind that can be given
  /// away?
  constexpr bool may_replace(const plan_step& st, int k, const plan_operand& out, char how) const {
    const plan_operand& in = p_.operands[st.operands + k];
    const plan_buffer &from = p_.buffers[in.buffer], &to = p_.buffers[out.buffer];
    if (in.offset != 0 || size_of(in.type) != size_of(out.type) || from.bytes != to.bytes) return false;
    if (from.kind == plan_buffer::what::output) return false;
    if (how == by_loop && (to.kind == plan_buffer::what::output) != (from.kind == plan_buffer::what::input))
      return false;
    const int numbers = st.kind == plan_step::what::loop ? st.rank : 2 * out.rank;
    if (st.kind != plan_step::what::loop && in.rank != out.rank) return false;
    for (int a = 0; a < numbers; ++a)
      if (p_.numbers[in.numbers + a] != p_.numbers[out.numbers + a]) return false;
    for (int j = 0; j < st.in_count; ++j)
      if (j != k && p_.operands[st.operands + j].buffer == in.buffer) return false;
    return true;
  }

  /// The step that writes each buffer first, and the last one that touches it.
  constexpr void find_lives(const plan_region& r) {
    last_.resize(static_cast<std::size_t>(r.buffer_count), -1);
    writer_.resize(static_cast<std::size_t>(r.buffer_count), -1);
    for (int s = 0; s < r.step_count; ++s) {
      const plan_step& st = p_.steps[r.first_step + s];
      for (int k = 0; k < st.in_count + st.out_count; ++k) {
        const int b = p_.operands[st.operands + k].buffer - first_;
        if (b < 0) continue;
        if (k < st.in_count)
          last_[b] = s;
        else if (writer_[b] < 0)
          writer_[b] = s;
      }
    }
  }
  /// Moves the updates that an output ends into its memory, and notes the input whose memory that may be.
  constexpr void follow(int out) {
    int b = out;
    for (int d = buffer(b).reuse; d >= 0 && last_[d] == writer_[b]; d = buffer(b).reuse) {
      if (buffer(d).kind == plan_buffer::what::input) {
        buffer(out).donor = buffer(d).index;
        return;
      }
      if (taken_[d] != by_update || buffer(d).kind != plan_buffer::what::arena) return;
      buffer(d).kind = plan_buffer::what::output;
      buffer(d).index = buffer(out).index;
      b = d;
    }
  }

  plan& p_;
  int first_;
  vec<int> source_;  // of each buffer: the one whose place it may take
  vec<char> taken_;  // of each buffer: how its place may be taken
  vec<int> last_, writer_;
};

}  // namespace tokamax::detail
