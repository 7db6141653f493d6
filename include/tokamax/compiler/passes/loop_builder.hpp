// tokamax/compiler/passes/loop_builder.hpp: builds one fused loop of a plan, line by line.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/passes/schedule.cpp
#pragma once

#include <tokamax/compiler/passes/donate.hpp>  // donations
#include <tokamax/compiler/plan.hpp>           // plan
#include <tokamax/core/op.hpp>                 // op names

namespace tokamax {

/// Collects the lines, slots and constants of a loop, and appends the loop to a plan as a step.
///
/// Each line computes one register, except a store. The functions that add a line return the number of its register.
class loop_builder {
 public:
  constexpr loop_builder(plan& p, detail::donations& d) : p_(p), donations_(d) {}

  constexpr int add_constant(element_bits bits, dtype t) {
    instruction line;
    line.kind = instruction_kind::constant;
    line.type = t;
    line.a = static_cast<short>(constants_.count());
    constants_.push_back(static_cast<std::int64_t>(bits.value));
    return add(line);
  }
  /// Adds an operand. The buffer -1 stands for no memory but a count (an iota) that starts at `offset`.
  constexpr int add_load(int buffer, std::int64_t offset, const shape& strides, dtype t) {
    instruction line;
    line.kind = buffer < 0 ? instruction_kind::iota : instruction_kind::load;
    line.type = t;
    line.a = static_cast<short>(slots_.count());
    slots_.push_back({buffer, offset, strides, t});
    return add(line);
  }
  constexpr int add(const instruction& line) {
    lines_.push_back(line);
    return lines_.count() - 1;
  }
  constexpr void add_store(int reg, int buffer, std::int64_t offset, const array_type& t) {
    instruction line;
    line.kind = instruction_kind::store;
    line.type = line.operand = t.dtype;
    line.a = static_cast<short>(reg);
    line.b = static_cast<short>(slots_.count());
    slots_.push_back({buffer, offset, row_major(t.shape), t.dtype});
    ++stores_;
    lines_.push_back(line);
  }

  /// Is the loop within its bounds after so many more slots and lines?
  constexpr bool has_room(int slot_count, int lines) const {
    return slots_.count() + slot_count <= max_loop_slots && lines_.count() + lines <= max_loop_lines;
  }
  /// Throws the unfinished loop away.
  constexpr void abandon() {
    lines_.clear();
    slots_.clear();
    constants_.clear();
    stores_ = 0;
  }

  /// Appends the loop over the extents `s` to the plan and starts a new one. If it `produces`, the kernel of the next step
  /// runs it, part by part.
  constexpr void finish(const shape& s, int node_id, bool produces = false) {
    if (!has_room(0, 0))
      detail::throw_error("loop: operands and lines", message() << slots_.count(), "as many as fit", {});
    shape extents, source;  // the loop's axes, and the innermost axis of s that each one covers
    merge_axes(s, extents, source);
    plan_step st;
    st.rank = extents.count;
    st.node = node_id;
    st.operands = p_.operands.count();
    st.in_count = slots_.count() - stores_;
    st.out_count = stores_;
    auto stride = [&](const slot& x, int axis) -> std::int64_t {
      const auto from = static_cast<int>(source[axis]);
      return from < 0 ? 0 : x.strides[from];
    };
    for (instruction& line : lines_)
      if (line.kind == instruction_kind::load || line.kind == instruction_kind::iota) {
        const std::int64_t inner = stride(slots_[line.a], extents.rank() - 1);
        line.inner = inner == 0   ? instruction::step::none
                     : inner == 1 ? instruction::step::unit
                                  : instruction::step::any;
      }
    for (const slot& x : slots_) {
      plan_operand o;
      o.buffer = x.buffer;
      o.type = x.type;
      o.rank = extents.count;
      o.offset = x.offset;
      o.numbers = p_.numbers.count();
      for (int a = 0; a < extents.rank(); ++a) p_.numbers.push_back(stride(x, a));
      p_.operands.push_back(o);
    }
    st.copies = lines_.count() == 2 && lines_[0].kind == instruction_kind::load &&
                slots_[0].offset == slots_[1].offset && slots_[0].type == slots_[1].type &&
                slots_[0].strides == slots_[1].strides;
    st.numbers = p_.numbers.count();
    for (std::int64_t e : extents) p_.numbers.push_back(e);
    for (std::int64_t c : constants_) p_.numbers.push_back(c);
    st.number_count = p_.numbers.count() - st.numbers;
    st.produces = produces;
    if (!produces) donations_.note_loop(st);
    st.function = loop_index();
    p_.steps.push_back(st);
    abandon();
  }

 private:
  struct slot {
    int buffer = -1;
    std::int64_t offset = 0;
    shape strides;
    dtype type = dtype::none;
  };

  /// Merges neighbouring axes that every slot walks through as if they were one axis. Loops over few axes are faster.
  constexpr void merge_axes(const shape& s, shape& extents, shape& source) const {
    for (int i = 0; i < s.rank(); ++i) {
      if (s[i] == 1) continue;
      bool merge = extents.rank() > 0 && !(is_dyn(extents[-1]) && is_dyn(s[i]));
      for (int k = 0; merge && k < slots_.count(); ++k)
        merge = slots_[k].strides[static_cast<int>(source[-1])] == mul_extent(slots_[k].strides[i], s[i]);
      if (merge) {
        extents[-1] = mul_extent(extents[-1], s[i]);
        source[-1] = i;
      } else {
        extents.push_back(s[i]);
        source.push_back(i);
      }
    }
    if (extents.rank() == 0) {
      extents.push_back(1);
      source.push_back(-1);
    }
  }

  /// The number of the loop kernel with these lines. Loops with equal lines share one kernel, so that it is compiled once.
  /// The hash only finds candidates quickly; the comparison of the lines decides.
  constexpr int loop_index() {
    loop_kernel k;
    k.count = lines_.count();
    k.slot_count = slots_.count();
    k.stores = stores_;
    k.constants = constants_.count();
    k.hash = 17;
    for (const instruction& l : lines_)
      k.hash = (k.hash ^ (static_cast<std::uint64_t>(l.a + 1) | static_cast<std::uint64_t>(l.b + 1) << 12 |
                          static_cast<std::uint64_t>(l.c + 1) << 24 | static_cast<std::uint64_t>(l.kind) << 36 |
                          static_cast<std::uint64_t>(l.inner) << 40 | static_cast<std::uint64_t>(l.type) << 44 |
                          static_cast<std::uint64_t>(l.function ? l.function->name.size() : 0) << 52)) *
               0x9E3779B97F4A7C15u;
    for (int j = 0; j < p_.loops.count(); ++j) {
      const loop_kernel& o = p_.loops[j];
      if (o.hash != k.hash || o.count != k.count || o.slot_count != k.slot_count) continue;
      bool same = true;
      for (int i = 0; same && i < k.count; ++i) same = p_.instructions[o.first + i] == lines_[i];
      if (same) return j;
    }
    k.first = p_.instructions.count();
    for (const instruction& l : lines_) p_.instructions.push_back(l);
    p_.loops.push_back(k);
    return p_.loops.count() - 1;
  }

  plan& p_;
  detail::donations& donations_;
  vec<instruction> lines_;
  vec<slot> slots_;
  vec<std::int64_t> constants_;
  int stores_ = 0;
};

}  // namespace tokamax
