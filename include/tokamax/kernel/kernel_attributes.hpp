// tokamax/kernel/kernel_attributes.hpp: what a kernel node says about its grid, blocks and scratch memory.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/kernel/block_spec.hpp>  // memory_space

namespace tokamax {

/// How the number that an index map gives for one axis becomes a place.
enum class block_axis : std::uint8_t { block, entry, element };

/// A ref of a kernel: an array, and the block of it that a step sees.
struct block_info {
  memory_space space = memory_space::vmem;
  int alias = -1;              ///< outputs: the argument with whose values it begins
  array_type array = {};       ///< all of it; for scratch memory the block
  shape block = {};            ///< extents along the axes of the array; 1 where the ref has no axis
  vec<block_axis> kinds = {};  ///< of each axis
  shape index = {};            ///< for each axis the grid axis that numbers its blocks, first_block, or `by_map`
  int buffers = 2;             ///< blocks in memory at a time
  bool window = false;         ///< lowered bodies: the body gets the array itself, beginning at the block
  bool reads = true;           ///< lowered bodies: the body reads what the ref holds before the step

  static constexpr std::int64_t by_map = -2;  ///< in `index`: the body of the maps computes the number
  /// The type of the ref.
  constexpr array_type type() const {
    array_type t{array.dtype, false, {}};
    for (int i = 0; i < block.rank(); ++i)
      if (kinds[i] != block_axis::entry) t.shape.push_back(block[i]);
    return t;
  }
  /// The number of steps of the block along an axis: a block, or an element.
  constexpr std::int64_t unit(int axis) const { return kinds[axis] == block_axis::block ? block[axis] : 1; }
  /// Do blocks tile the array, so that none hangs over?
  constexpr bool divides() const {
    for (int i = 0; i < block.rank(); ++i)
      if (kinds[i] == block_axis::element || is_dyn(array.shape[i]) || block[i] == 0 || array.shape[i] == 0 ||
          array.shape[i] % block[i] != 0)
        return false;
    return true;
  }
};

/// Attributes of kernel_call. The operands are [prefetched scalars, inputs] and the results the outputs. Inputs of the body
/// are [indices of the step, prefetched scalars, input refs, output refs, scratch refs]; its results are the last two after
/// the step. The second body maps [indices, prefetched scalars] to the block numbers of each axis `by_map`.
struct kernel_attributes {
  body_index body = {}, maps = {};
  shape grid;
  int parallel = 0;  ///< the number of leading grid axes whose steps may run in any order
  int prefetch = 0, inputs = 0, outputs = 0, scratch = 0;
  std::int64_t vmem_limit = 0;
  bool estimated = false;  ///< do the next numbers tell the cost of all steps, as the writer of the kernel says it?
  double flops = 0, bfloat16_flops = 0, transcendentals = 0, bytes_accessed = 0;
  vec<block_info> refs;  ///< inputs, outputs, scratch

  constexpr int writable() const { return outputs + scratch; }
  /// The number of the body's input that is ref r.
  constexpr int input_of(int r) const { return grid.rank() + prefetch + r; }
  constexpr const block_info& output(int k) const { return refs[inputs + k]; }
  /// The cost of all steps, if the writer of the kernel tells it.
  constexpr op_cost estimate() const { return {flops, bfloat16_flops, transcendentals, bytes_accessed}; }
  constexpr void set_estimate(const std::optional<op_cost>& cost) {
    const op_cost c = cost.value_or(op_cost{});
    estimated = cost.has_value();
    flops = c.flops, bfloat16_flops = c.bfloat16_flops;
    transcendentals = c.transcendentals, bytes_accessed = c.bytes_accessed;
  }
};

}  // namespace tokamax
