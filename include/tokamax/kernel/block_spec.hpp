// tokamax/kernel/block_spec.hpp: which block of an array each step of a grid works on.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/kernel/kernel_call.cpp
#pragma once

#include <tokamax/base/rule.hpp>            // rule
#include <tokamax/core/op.hpp>              // arrays
#include <tokamax/kernel/kernel_grid.hpp>   // kernel_grid
#include <tokamax/kernel/memory_space.hpp>  // memory_space

#include <optional>  // optional

namespace tokamax {

/// The extent of a block along an axis of which a step takes one entry, so that the ref has no such axis.
inline constexpr std::int64_t squeezed = -1;
/// Stands in `block_spec::index` for an axis along which all steps take the first block.
inline constexpr std::int64_t first_block = -1;

/// Step (i, j, ...) of the grid works on one block of an array. The array is cut into blocks of extents `block`, and the
/// step takes the one with the numbers that `index` or `index_map` gives, one for each axis. The last block along an axis may
/// hang over: it is padded when it is read, and what a kernel writes into the padding is dropped.
///
///   {{128, 128}, {0, 2}}                            block (i, k) of step (i, j, k)
///   {{squeezed, 64}, {}, [](const arrays& i) -> arrays { return {i[0] / 4, i[1]}; }}
///
/// Without `block` the block is the whole array.
struct block_spec {
  shape block = {};  ///< extents, or `squeezed`
  axes index = {};   ///< for each axis of the array: the grid axis that numbers its blocks, or `first_block`
  /// The numbers of the block as a function of the indices of the step, which the scalars that are prefetched follow.
  rule<arrays(const arrays& indices)> index_map = nullptr;
  memory_space space = memory_space::vmem;
  axes elements = {};  ///< axes of the array whose number is that of the first element, not of a block
  int buffers = 2;     ///< blocks in memory: with 1 no copy runs beside a step, with 3 copies begin two steps ahead
};

/// An array that a kernel makes.
struct kernel_output {
  array_type type;
  block_spec spec = {};
  int alias = -1;  ///< the number of an argument with whose values it begins; -1: it begins with nothing
};

/// Memory that steps of a kernel share.
struct kernel_scratch {
  array_type type;
  memory_space space = memory_space::vmem;
};

/// May the steps along an axis of the grid run in any order, also at the same time?
enum class dimension_semantics : std::uint8_t { arbitrary, parallel };

/// How kernel_call cuts its work into steps.
struct kernel_options {
  kernel_grid grid = {};  ///< without axes there is one step
  vec<block_spec> in = {};
  vec<kernel_output> out = {};
  vec<kernel_scratch> scratch = {};
  int prefetch = 0;                         ///< the first so many arguments are integers that index maps may read
  vec<dimension_semantics> semantics = {};  ///< of the grid axes; parallel ones come first. Empty: all arbitrary
  std::int64_t vmem_limit = 0;              ///< bytes; 0: none. Blocks count as often as they have buffers
  shape tile =
      {};  ///< the last axes of blocks in VMEM are multiples of it, or whole. A TPU asks for {8, 128}; empty: any
  /// What all steps cost together, where their number or work is known to the writer only. `cost_analysis` believes it, and so
  /// does the simulated TPU of a kernel whose steps depend on numbers of a run. `estimate_cost` counts a function.
  std::optional<op_cost> cost_estimate = {};
};

}  // namespace tokamax
