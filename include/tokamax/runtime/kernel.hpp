// tokamax/runtime/kernel.hpp: what a kernel gets, and how one is found for an op.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/executable.cpp
#pragma once

#include <tokamax/compiler/plan.hpp>  // loop_kernel, instruction
#include <tokamax/core/op.hpp>        // op_c

namespace tokamax {

/// A block of memory seen as an array: strides count elements, 0 repeats.
struct array_view {
  void* data = nullptr;
  dtype type = dtype::none;
  shape extents, strides;
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  std::int64_t extent(int axis) const { return extents[axis]; }
  std::int64_t stride(int axis) const { return strides[axis]; }
  int rank() const { return extents.rank(); }
  std::int64_t size() const { return tokamax::size(extents); }
};

/// The operands, results and attributes of one kernel call. Results are dense; so are operands, unless the kernel says
/// `takes_views`.
struct kernel_arguments {
  const array_view* in = nullptr;
  const array_view* out = nullptr;
  int in_count = 0, out_count = 0;
  const std::int64_t* attributes = nullptr;
  int attribute_count = 0;
  template <class Options>
  Options attrs() const {
    return call{.attributes = attributes, .attribute_count = attribute_count}.attrs<Options>();
  }
};

using kernel_function = void (*)(const kernel_arguments&);

/// A vectorised loop of one elementwise op over contiguous register tiles, for programs traced at run time.
using tile_function = void (*)(void* out, const void* const* in, std::int64_t n);

/// What a fused loop gets. A slot is an operand or result; an iota's "pointer" is the count it starts at.
struct loop_arguments {
  int rank = 0, slots = 0;
  const std::int64_t* extents = nullptr;
  std::byte* const* pointers = nullptr;         ///< one a slot
  const std::int64_t* strides = nullptr;        ///< rank numbers a slot, in elements
  const std::int64_t* element_bytes = nullptr;  ///< one a slot; 1 for an iota
  const double* constants = nullptr;
  const loop_kernel* kernel = nullptr;  ///< for loops that are interpreted
  const instruction* instructions = nullptr;
  const tile_function* tiles = nullptr;  ///< one an instruction, null for those that are no `apply`
};
using loop_function = void (*)(const loop_arguments&);

/// Does the kernel of an op read operands with any strides? Specialise to true next to such a kernel; the planner then
/// hands it transposed, sliced and broadcast operands as they lie.
template <const op& Op>
inline constexpr bool takes_views = false;

/// What a linked library holds for an op; generated headers specialise `linked_kernel`.
enum class linkage : std::uint8_t { none, dense, strided };
template <const op& Op, class Device>
inline constexpr linkage linked_kernel = linkage::none;

/// A kernel is an overload `void kernel(op_c<name_p>, Device, const kernel_arguments&)` in namespace tokamax; device
/// tags inherit, so the nearest wins.
template <const op& Op, class Device>
concept has_kernel = linked_kernel<Op, Device> != linkage::none ||
                     requires(const kernel_arguments& a) { kernel(op_c<Op>{}, Device{}, a); };

template <const op& Op, class Device>
inline constexpr bool reads_strided = linked_kernel<Op, Device> == linkage::strided || takes_views<Op>;

/// What a run-time trace knows of an op's kernels on the backend.
struct kernel_set {
  kernel_function run = nullptr;
  bool strided = false;
  tile_function (*tile)(dtype operand) = nullptr;  ///< elementwise ops: the loop for operands of this dtype
};

/// The function that runs an op on a device: of the linked library, or compiled here.
template <const op& Op, class Device>
kernel_function kernel_for() {
  if constexpr (linked_kernel<Op, Device> != linkage::none)
    return kernels_of<Op>().run;
  else
    return [](const kernel_arguments& a) { kernel(op_c<Op>{}, Device{}, a); };
}

}  // namespace tokamax
