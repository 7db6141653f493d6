// tokamax/runtime/run/interpreted_loops.hpp: the loops of programs that are known while compiling, also without optimisation.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/consumer/chain.cpp
#pragma once

#include <tokamax/runtime/run/executable.hpp>  // executable, loop_function

#include <array>    // array
#include <utility>  // exchange, index_sequence
#include <vector>   // vector

namespace tokamax::detail {

/// Do the loops of this file run in the interpreter of the linked library? That is so in files that are compiled without
/// optimisation, where compiled loops would be hundreds of times slower. The values are the same.
#if defined(TOKAMAX_SEPARATE_KERNELS) && !defined(__OPTIMIZE__)
inline constexpr bool interprets_loops = true;
#else
inline constexpr bool interprets_loops = false;
#endif

/// The index of an op in a table, or -1.
constexpr int place_of(const op* o, const auto& table, int count) {
  for (int k = 0; k < count; ++k)
    if (table[k] == o) return k;
  return -1;
}

/// The loops of a plan without pointers to ops, which would bring all rules of the ops into the file.
template <class Program>
struct loop_tables {
  static constexpr auto& code = Program::plan::code;
  static constexpr auto size = Program::plan::planned.size;
  static constexpr int op_count = Program::traced.size.ops;
  static constexpr auto loops = [] {
    std::array<loop_kernel, static_cast<std::size_t>(size.loops) + 1> all{};
    for (int k = 0; k < size.loops; ++k) all[static_cast<std::size_t>(k)] = code.loops[k];
    return all;
  }();
  struct line {
    instruction without_op{};
    int op = -1;
  };
  static constexpr auto lines = [] {
    std::array<line, static_cast<std::size_t>(size.instructions) + 1> all{};
    for (int i = 0; i < size.instructions; ++i) {
      instruction one = code.instructions[i];
      const op* const function = std::exchange(one.function, nullptr);
      all[static_cast<std::size_t>(i)] = {one, function ? place_of(function, Program::ops.at, op_count) : -1};
    }
    return all;
  }();
  /// Does the interpreter know all ops of a loop? It may not know an op of the user's.
  static constexpr bool interpretable(int k) {
    for (int i = loops[static_cast<std::size_t>(k)].first, end = i + loops[static_cast<std::size_t>(k)].count; i < end;
         ++i)
      if (code.instructions[i].function &&
          (!code.instructions[i].function->kernels || lines[static_cast<std::size_t>(i)].op < 0))
        return false;
    return true;
  }
};

// A program may have files with and without optimisation, so `Interpret` is part of the names of these functions.
template <class Device, class Program, bool Interpret, int K>
loop_function loop_of() {
  if constexpr (prints_loops<Device>)
    return Device::interpreted_loop();
  else if constexpr (!Interpret)
    return Device::template loop<Program::plan::code, K>();
  else if constexpr (loop_tables<Program>::interpretable(K))
    return Device::interpreted_loop();
  else
    return Device::template loop<Program::plan::code, K>();
}

/// The executable of a plan. `descriptors` returns the table of all ops of its trace.
template <class Device, class Program, bool Interpret = interprets_loops>
executable executable_of(plan_view plan, std::vector<kernel_function> kernels, std::vector<implementation_list> others,
                         const op* const* (*descriptors)()) {
  std::vector<loop_function> loops = []<std::size_t... Index>(std::index_sequence<Index...>) {
    return std::vector<loop_function>{loop_of<Device, Program, Interpret, static_cast<int>(Index)>()...};
  }(std::make_index_sequence<static_cast<std::size_t>(Program::plan::planned.size.loops)>{});
  if constexpr (!Interpret && !prints_loops<Device>) {
    return executable(plan, std::move(loops), std::move(kernels), std::move(others));
  } else {
    static const auto& instructions = *[&] {  // never destroyed, as the program
      auto* const all = new std::vector<instruction>;
      for (const auto& l : loop_tables<Program>::lines) {
        all->push_back(l.without_op);
        if (l.op >= 0) all->back().function = descriptors()[l.op];
      }
      return all;
    }();
    plan.instructions = instructions.data();
    plan.loops = loop_tables<Program>::loops.data();
    plan.loop_count = loop_tables<Program>::size.loops;
    plan.instruction_count = static_cast<int>(instructions.size());
    executable code(plan, std::move(loops), std::move(kernels), std::move(others));
    if constexpr (prints_loops<Device>) {
      code.run_with(kernel_table_of<Device>().make_code(plan));
      return code;
    }
    std::vector<const interpreted_op*> ops;
    for (const instruction& i : instructions)
      ops.push_back(i.function && i.function->kernels
                        ? kernel_table_of<Device>().find(*i.function).interpreted(i.operand)
                        : nullptr);
    code.interpret_with(std::move(ops));
    return code;
  }
}

}  // namespace tokamax::detail
