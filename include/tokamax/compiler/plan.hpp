// tokamax/compiler/plan.hpp: the tables that describe how a program runs.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/compiler/passes/schedule.cpp
#pragma once

#include <tokamax/base/vec.hpp>               // vec
#include <tokamax/core/graph.hpp>             // location
#include <tokamax/core/scope/scope_list.hpp>  // scope_list
#include <tokamax/core/type.hpp>              // dtype

#include <cstdint>  // int64_t

namespace tokamax {

struct op;

/// What a line of a fused loop does.
enum class instruction_kind : std::uint8_t { load, iota, constant, apply, store };

/// One line of a fused loop. The value of a line is the register with its number. Slots are numbered too: first the
/// operands of the loop, then its results.
struct instruction {
  enum class step : std::uint8_t { none, unit, any };  ///< how a slot moves along the innermost axis
  instruction_kind kind = instruction_kind::apply;
  step inner = step::none;
  dtype type = dtype::none;     ///< the dtype of this register (store: of the memory)
  dtype operand = dtype::none;  ///< the dtype of the values from which it is computed
  const op* function = nullptr;
  short a = -1, b = -1,
        c = -1;  ///< registers; load, iota: a is the slot; constant: a is its index; store: b is the slot
  constexpr bool operator==(const instruction&) const = default;
};

/// Upper bounds for every fused loop, so that a backend can keep slots on the stack and number lines by short integers.
inline constexpr int max_loop_slots = 128, max_loop_lines = 1024;

/// The structure of a fused loop. All steps with the same structure share it, because extents, strides and constants are
/// data of the step.
struct loop_kernel {
  int first = 0, count = 0;  ///< instructions
  int slot_count = 0, stores = 0, constants = 0;
  std::uint64_t hash = 0;
};

/// What a device's kernel of an op takes besides dense operands in memory.
struct kernel_takes {
  bool views = false;            ///< operands with any strides
  bool producer = false;         ///< a fused loop that makes its first operand, a part at a time
  bool sums = false;             ///< more operands, which it adds to its result, see compiler/passes/sums.hpp
  bool strided_results = false;  ///< places for its results with any strides, see compiler/passes/parts.hpp
  int overwrites = -1;           ///< the operand over which its first result may be written, or -1
};

/// An operand or result of a step: part of a buffer, seen with some extents and strides.
struct plan_operand {
  static constexpr int count = -1, handed_over = -2;
  int buffer = count;  ///< count: an iota, which starts at `offset`; handed_over: between a producer and its kernel
  dtype type = dtype::none;
  std::int8_t rank = 0;
  int numbers = 0;          ///< index in `plan::numbers` of extents and strides; for loop steps of the strides only
  std::int64_t offset = 0;  ///< elements
};

/// A call is a kernel that runs the bodies of its op, which are regions of the plan.
enum class step_kind : std::uint8_t { loop, kernel, call };

/// One step of a program: a fused loop, a kernel, or a call.
struct plan_step {
  step_kind kind = step_kind::loop;
  std::int8_t rank = 0;  ///< loop: number of axes
  int function = 0;      ///< index of the loop kernel, or of the op
  int operands = 0, in_count = 0, out_count = 0;
  int numbers = 0;  ///< index in `plan::numbers` of a loop's extents and constants, or of an op's attribute words
  int number_count = 0;
  int node = 0;                      ///< its node in the lowered graph, for printing
  int region = 0, region_count = 0;  ///< call: the regions of the bodies, one after the other
  int carries = 0;                   ///< call: number of values that the last body takes and returns
  bool copies = false;               ///< loop: it only copies, so nothing is done if both are the same memory
  bool produces = false;             ///< loop: the kernel of the next step runs it, a part at a time
  int together = 0;                  ///< loop: so many of the next steps are loops that may run at the same time
  int scope = 0;                     ///< number of its scope in `plan::scopes`
  std::uint32_t unread = 0;          ///< kernel: bit k, nothing reads result k
  location where{};                  ///< the line of its node
};

/// Where the memory of a buffer comes from.
enum class buffer_kind : std::uint8_t { arena, input, output, constant };

/// The memory of one value.
struct plan_buffer {
  buffer_kind kind = buffer_kind::arena;
  int index = -1;           ///< number of the input or output; for a constant, the index of its bytes in `numbers`
  std::int64_t bytes = 0;   ///< may be dynamic
  std::int64_t offset = 0;  ///< in the arena
  int reuse = -1;           ///< number, within the region, of a buffer whose place it may take, or -1
  int donor = -1;           ///< for an output: the input whose buffer it may take, or -1
};

/// A list of steps with its buffers: the main program, or a body of an op.
struct plan_region {
  int first_step = 0, step_count = 0;
  int first_buffer = 0, buffer_count = 0;
  int inputs = 0, input_count = 0;    ///< in `numbers`: buffer of each input, -1 if unused
  int outputs = 0, output_count = 0;  ///< in `numbers`: buffer of each output
  std::int64_t arena_bytes = 0;
  std::int64_t total_bytes = 0;  ///< sum of all intermediate buffers
};

/// The first step after those that run together with step `s`.
constexpr int end_of_joined(const plan_step* steps, int s) {
  s += steps[s].together;
  while (steps[s].produces) ++s;
  return s + 1;
}

/// Does the body of a loop write carry k over the carry that it reads? Then all iterations work on one buffer.
constexpr bool carries_in_place(const plan_buffer* buffers, const std::int64_t* numbers, const plan_region& body,
                                int k) {
  return buffers[numbers[body.outputs + k]].donor == k;
}

/// The names of the ops in a fused loop and what they cost for each element, for profiles.
struct loop_label {
  message names;  ///< the names of the first ops
  int count = 0, named = 0;
  double flops = 0, transcendentals = 0;
};

/// Everything that the executor reads, as growable tables. Programs that are known while compiling freeze it.
struct plan {
  vec<instruction> instructions;
  vec<loop_kernel> loops;
  vec<const op*> ops;
  vec<plan_operand> operands;
  vec<plan_step> steps;
  vec<plan_buffer> buffers;
  vec<plan_region> regions;
  vec<std::int64_t> numbers;
  scope_list scopes;

  /// The number of an op, which is added if it is new.
  constexpr int index_of(const op* kind) {
    for (int k = 0; k < ops.count(); ++k)
      if (ops[k] == kind) return k;
    ops.push_back(kind);
    return ops.count() - 1;
  }
};

/// Pointers to the tables of a plan, growable or frozen. At run time a frozen plan has no loop tables, only labels: the
/// loops are compiled functions then.
struct plan_view {
  const instruction* instructions = nullptr;
  const loop_kernel* loops = nullptr;
  const op* const* ops = nullptr;
  const plan_operand* operands = nullptr;
  const plan_step* steps = nullptr;
  const plan_buffer* buffers = nullptr;
  const plan_region* regions = nullptr;
  const std::int64_t* numbers = nullptr;
  int loop_count = 0, op_count = 0, operand_count = 0, step_count = 0, buffer_count = 0, region_count = 0;
  const loop_label* labels = nullptr;
  scope_list_view scopes{};
  int number_count = 0, instruction_count = 0;
  constexpr scope_view scope_of(const plan_step& s) const { return scopes[s.scope]; }
};

constexpr plan_view view(const plan& p) {
  return {p.instructions.data(), p.loops.data(),    p.ops.data(),          p.operands.data(), p.steps.data(),
          p.buffers.data(),      p.regions.data(),  p.numbers.data(),      p.loops.count(),   p.ops.count(),
          p.operands.count(),    p.steps.count(),   p.buffers.count(),     p.regions.count(), nullptr,
          p.scopes.view(),       p.numbers.count(), p.instructions.count()};
}

}  // namespace tokamax
