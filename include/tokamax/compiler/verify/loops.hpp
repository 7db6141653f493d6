// tokamax/compiler/verify/loops.hpp: checks that the lines of fused loops compute what their slots and registers say.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/verify.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <tokamax/compiler/verify/fault.hpp>  // throw_fault

  #include <string>   // string
  #include <utility>  // move
  #include <vector>   // vector

namespace tokamax::detail {

/// The lines of one loop: registers are computed before they are used and have the dtype that is asked of them, every slot is
/// loaded or stored once, and stores come last, so that a result may be written over an operand.
class loop_verifier {
 public:
  /// `runner` is a step that runs the loop.
  loop_verifier(const plan_view& p, const loop_kernel& loop, named_part runner)
      : p_(p), loop_(loop), runner_(std::move(runner)) {}

  void run() {
    if (loop_.first < 0 || loop_.count < 1 || loop_.first > p_.instruction_count - loop_.count)
      fail(0, "lines", std::to_string(loop_.first) + " and on", "lines of the plan");
    if (loop_.stores < 1 || loop_.stores > loop_.slot_count || loop_.slot_count > max_loop_slots ||
        loop_.count > max_loop_lines)
      fail(0, "slots", std::to_string(loop_.slot_count), "at most " + std::to_string(max_loop_slots));
    seen_.assign(static_cast<std::size_t>(loop_.slot_count), 0);
    for (int i = 0; i < loop_.count; ++i) check_line(i);
    for (int s = 0; s < loop_.slot_count; ++s)
      if (!seen_[static_cast<std::size_t>(s)]) fail(loop_.count - 1, "slot " + std::to_string(s), "no line", "one");
  }

 private:
  /// Throws the fault of a line, with the step that runs the loop.
  [[noreturn]] void fail(int line, const std::string& what, const std::string& found,
                         const std::string& expected) const {
    throw_fault(what + " of line " + std::to_string(line), runner_, found, expected);
  }
  const instruction& line(int i) const { return p_.instructions[loop_.first + i]; }
  /// Stores come after all else: their memory may be that of an operand that a line before them loads.
  void check_line(int i) {
    const instruction& l = line(i);
    const int operands = loop_.slot_count - loop_.stores;
    if (stored_ && l.kind != instruction_kind::store) fail(i, "order", "after a store", "one before the stores");
    switch (l.kind) {
      case instruction_kind::load:
      case instruction_kind::iota:
        return use_slot(i, l.a, 0, operands);
      case instruction_kind::constant:
        if (l.a < 0 || l.a >= loop_.constants)
          fail(i, "constant", std::to_string(l.a), "one below " + std::to_string(loop_.constants));
        return;
      case instruction_kind::store:
        stored_ = true;
        use_slot(i, l.b, operands, loop_.slot_count);
        if (const dtype t = type_of_register(i, l.a); t != l.type)
          fail(i, "stored dtype", std::string(name(t)), std::string(name(l.type)));
        return;
      case instruction_kind::apply:
        return check_apply(i);
    }
    fail(i, "kind", std::to_string(static_cast<int>(l.kind)), "a kind of line");
  }
  /// Marks a slot. Slots of operands come before those of results.
  void use_slot(int i, int slot, int first, int end) {
    if (slot < first || slot >= end || seen_[static_cast<std::size_t>(slot)]++)
      fail(i, "slot", std::to_string(slot),
           "one from " + std::to_string(first) + " to " + std::to_string(end - 1) + ", once");
  }
  /// The dtype of a register that an earlier line has computed.
  dtype type_of_register(int i, int r) const {
    if (r < 0 || r >= i) fail(i, "register", std::to_string(r), "one that is computed before");
    return line(r).type;
  }
  /// Without attributes, the types of the registers are all that `infer` needs.
  void check_apply(int i) {
    const instruction& l = line(i);
    if (!l.function && p_.labels) return;  // an op that only the compiled loop knows
    if (!l.function || l.function->memory.kind != op_kind::elementwise) fail(i, "op", "another", "an elementwise op");
    const op& o = *l.function;
    const short registers[] = {l.a, l.b, l.c};
    in_.clear();
    for (int k = 0; k < 3; ++k) {
      if (k >= o.operands && registers[k] != -1) fail(i, "operand", "a further one", std::to_string(o.operands));
      if (k < o.operands) in_.push_back(array(array_type{type_of_register(i, registers[k]), false, {}}));
    }
    if (in_.back().dtype() != l.operand)
      fail(i, "operand dtype", std::string(name(l.operand)), std::string(name(in_.back().dtype())));
    if (o.attributes.describe || !o.infer) return;
    dtype t = dtype::none;
    try {
      t = o.infer(call_of(o, in_.data(), in_.count(), nullptr, 0)).dtype;
    } catch (const error& e) {
      fail(i, "registers", e.what(), "operands that infer takes");
    }
    if (t != l.type) fail(i, "dtype", std::string(name(l.type)), std::string(name(t)));
  }

  const plan_view& p_;
  const loop_kernel& loop_;
  named_part runner_;
  bool stored_ = false;
  std::vector<char> seen_;  // of each slot: has a line used it?
  arrays in_;
};

}  // namespace tokamax::detail
#endif
