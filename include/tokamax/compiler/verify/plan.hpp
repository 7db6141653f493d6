// tokamax/compiler/verify/plan.hpp: checks that a plan reads and writes what it may.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/verify.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/passes/memory.hpp>  // for its users: assign_arenas
  #include <tokamax/compiler/verify/memory.hpp>  // region_memory
  #include <tokamax/compiler/verify/tables.hpp>  // plan_tables

  #include <algorithm>  // max
  #include <string>     // string
  #include <vector>     // vector

namespace tokamax::detail {

/// The checks of a plan that is laid out for some values of its symbols.
class plan_layout {
 public:
  plan_layout(const plan_view& p, const std::int64_t* symbols, const kernel_takes* takes, const plan_tables& tables)
      : p_(p), symbols_(symbols), takes_(takes), tables_(tables) {}

  void run() const {
    for (int r = 0; r < p_.region_count; ++r) {
      const plan_region& g = p_.regions[r];
      for (int b = g.first_buffer; b < g.first_buffer + g.buffer_count; ++b) check_buffer(r, b);
      for (int s = g.first_step; s < g.first_step + g.step_count; ++s) {
        const plan_step& st = p_.steps[s];
        for (int k = 0; k < st.in_count + st.out_count; ++k) check_operand(r, s, k);
        if (st.produces) check_parts(r, s);
        if (st.kind == step_kind::call) check_call(r, s);
      }
      region_memory memory(p_, r, symbols_, takes_, tables_.graph_of(r));
      memory.run(false);
      if (check_donors(r)) memory.run(true);
    }
  }

 private:
  /// An extent, stride or size for the values of the symbols.
  std::int64_t value(std::int64_t n) const { return resolve(n, symbols_); }
  std::int64_t bytes_of(int buffer) const { return value(p_.buffers[buffer].bytes); }
  [[noreturn]] void fail(int r, int s, const std::string& what, const std::string& found,
                         const std::string& expected) const {
    throw_fault(what, name_of_step(p_, s, tables_.graph_of(r)), found, expected);
  }
  static std::string in_bytes(std::int64_t n) { return std::to_string(n) + " bytes"; }
  static std::string region_name(int r) { return r ? "body " + std::to_string(r) : std::string("program"); }

  /// The elements of constants are among the numbers of the plan.
  void check_buffer(int r, int b) const {
    const plan_buffer& buffer = p_.buffers[b];
    const std::int64_t bytes = bytes_of(b);
    const bool constant = buffer.kind == buffer_kind::constant;
    if (bytes < 0 || (constant && (buffer.index < 0 || buffer.index + (bytes + 7) / 8 > p_.number_count)))
      throw_fault("buffer " + std::to_string(b), {region_name(r), {}}, in_bytes(bytes), "bytes of the plan");
  }
  /// All elements of an operand lie in its buffer, and that in the arena. Kernels take only strides that they know.
  void check_operand(int r, int s, int k) const {
    const plan_step& st = p_.steps[s];
    const plan_operand& o = p_.operands[st.operands + k];
    const bool result = k >= st.in_count;
    const auto refuse = [&](const std::string& found, const std::string& expected) {
      fail(r, s, result ? "result " + std::to_string(k - st.in_count) : "operand " + std::to_string(k), found,
           expected);
    };
    const element_box x = box_of(p_, st, o, symbols_);
    for (const std::int64_t e : x.extents)
      if (e < 0) refuse("an extent of " + std::to_string(e), "0 or more");
    if (o.buffer < 0) return;
    const plan_buffer& buffer = p_.buffers[o.buffer];
    const std::int64_t bytes = bytes_of(o.buffer), size = tokamax::size_of(o.type);
    if (buffer.kind == buffer_kind::arena &&
        (buffer.offset < 0 || buffer.offset % 64 != 0 || buffer.offset + bytes > p_.regions[r].arena_bytes))
      refuse("arena+" + std::to_string(buffer.offset) + ", " + in_bytes(bytes),
             "a multiple of 64 inside of " + in_bytes(p_.regions[r].arena_bytes));
    if (st.kind == step_kind::call && k == st.in_count + st.out_count - 1) return;  // scratch memory
    if (x.count > 0 && (x.first < 0 || (x.last + 1) * size > bytes))
      refuse("bytes " + std::to_string(x.first * size) + " to " + std::to_string((x.last + 1) * size), in_bytes(bytes));
    if (!takes_ || st.kind == step_kind::loop || is_row_major(x.extents, x.strides)) return;
    const kernel_takes& takes = takes_[st.function];
    if (result ? !takes.strided_results : !takes.views) refuse("strides", "dense memory, as its kernel asks");
  }
  /// A loop makes the elements that the kernel behind it takes.
  void check_parts(int r, int s) const {
    const plan_step &loop = p_.steps[s], &kernel = p_.steps[s + 1];
    const plan_operand &made = p_.operands[loop.operands + loop.in_count], &taken = p_.operands[kernel.operands];
    const std::int64_t given = box_of(p_, loop, made, symbols_).count,
                       wanted = box_of(p_, kernel, taken, symbols_).count;
    if (given != wanted || made.type != taken.type)
      fail(r, s, "parts", std::to_string(given) + " of " + std::string(name(made.type)),
           std::to_string(wanted) + " of " + std::string(name(taken.type)));
  }
  /// The buffers of bodies are those of the call's operands and results, or of entries of them; the scratch memory is enough.
  void check_call(int r, int s) const {
    const plan_step& st = p_.steps[s];
    const body_facts& facts = p_.ops[st.function]->bodies;
    const auto bytes_of_operand = [&](int k) {
      const plan_operand& o = p_.operands[st.operands + k];
      return box_of(p_, st, o, symbols_).count * tokamax::size_of(o.type);
    };
    const auto require = [&](int list, int k, std::int64_t outer, bool or_entry, const std::string& what) {
      const std::int64_t b = p_.numbers[list + k];
      if (b < 0) return;
      const std::int64_t inner = bytes_of(static_cast<int>(b));
      if (inner != outer && !(or_entry && (inner == 0 || outer % inner == 0)))
        fail(r, s, what + std::to_string(k) + " of the body", in_bytes(inner), in_bytes(outer));
    };
    std::int64_t arena = 0, spare = 0;
    for (int b = st.region; b < st.region + st.region_count; ++b) {
      const plan_region& body = p_.regions[b];
      arena = std::max(arena, (body.arena_bytes + 63) / 64 * 64);
      for (int k = 0; facts.branches && k < body.input_count; ++k)
        require(body.inputs, k, bytes_of_operand(k + 1), false, "input ");
      for (int k = 0; facts.branches && k < body.output_count; ++k)
        require(body.outputs, k, bytes_of_operand(st.in_count + k), false, "output ");
      for (int k = 0; facts.carries && k < body.input_count; ++k)
        require(body.inputs, k, bytes_of_operand(k), k >= st.carries, "input ");
    }
    const plan_region& last = p_.regions[st.region + st.region_count - 1];
    for (int k = 0; k < st.carries; ++k) {
      require(last.outputs, k, bytes_of_operand(k), false, "output ");
      require(last.outputs, k, bytes_of_operand(st.in_count + k), false, "output ");
      if (!carries_in_place(p_.buffers, p_.numbers, last, k))
        spare += (bytes_of_operand(st.in_count + k) + 63) / 64 * 64;
    }
    const std::int64_t scratch = bytes_of(p_.operands[st.operands + st.in_count + st.out_count - 1].buffer);
    if (scratch < arena + spare) fail(r, s, "scratch memory", in_bytes(scratch), in_bytes(arena + spare));
  }
  /// May outputs of a region take the memory of inputs?
  bool check_donors(int r) const {
    const plan_region& g = p_.regions[r];
    std::vector<int> taken(static_cast<std::size_t>(g.input_count), -1);
    bool any = false;
    for (int k = 0; k < g.output_count; ++k) {
      const auto out = static_cast<int>(p_.numbers[g.outputs + k]);
      const int donor = p_.buffers[out].donor;
      if (donor < 0) continue;
      any = true;
      const std::string what = "output " + std::to_string(k);
      if (donor >= g.input_count || p_.numbers[g.inputs + donor] < 0)
        throw_fault(what, {region_name(r), {}}, "the memory of input " + std::to_string(donor), "an input");
      const std::int64_t bytes = bytes_of(static_cast<int>(p_.numbers[g.inputs + donor]));
      int& other = taken[static_cast<std::size_t>(donor)];
      if (other >= 0 || bytes != bytes_of(out))
        throw_fault(what, {region_name(r), {}}, "the memory of input " + std::to_string(donor),
                    other >= 0 ? "not that of output " + std::to_string(other) : in_bytes(bytes_of(out)));
      other = k;
    }
    return any;
  }

  plan_view p_;
  const std::int64_t* symbols_;  // the values of dynamic extents
  const kernel_takes* takes_;    // of each op of the plan; may be null
  const plan_tables& tables_;    // which are right already
};

/// Values of symbols for which a plan with dynamic extents is laid out: all equal, and different primes.
inline constexpr std::int64_t symbol_samples[][max_symbols] = {{0, 0, 0, 0, 0, 0, 0, 0},
                                                               {2, 2, 2, 2, 2, 2, 2, 2},
                                                               {257, 257, 257, 257, 257, 257, 257, 257},
                                                               {2, 3, 5, 7, 11, 13, 17, 19},
                                                               {19, 17, 13, 11, 7, 5, 3, 2}};

}  // namespace tokamax::detail
#endif
