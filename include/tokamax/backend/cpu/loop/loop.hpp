// tokamax/backend/cpu/loop/loop.hpp: walk over the axes of a fused loop, and call an inner function for each row.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/compiled.cpp
#pragma once

#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/runtime/executable.hpp>          // loop_arguments

namespace tokamax::simd {

/// Computes one row: n elements of every slot. Slot k advances by strides[k] elements.
using inner_function = void (*)(std::int64_t n, std::byte* const* slots, const std::int64_t* strides,
                                const loop_arguments& loop);

namespace detail {
/// Finds the pointers of all slots at row number `row` of the outer axes, and element `first` of that row.
inline void locate(const loop_arguments& a, std::int64_t row, std::int64_t first, std::byte** p) noexcept {
  for (int k = 0; k < a.slots; ++k)
    p[k] = a.pointers[k] + first * a.strides[k * a.rank + a.rank - 1] * a.element_bytes[k];
  for (int axis = a.rank - 2; axis >= 0; --axis) {
    const std::int64_t i = row % a.extents[axis];
    row /= a.extents[axis];
    for (int k = 0; k < a.slots; ++k) p[k] += i * a.strides[k * a.rank + axis] * a.element_bytes[k];
  }
}
}  // namespace detail

/// Calls `inner` for every row. Work is cut into chunks with a fixed number of elements: parts of a single row, or some
/// whole rows.
inline void run_loop(const loop_arguments& a, inner_function inner) {
  constexpr std::int64_t grain = 1 << 14;
  const std::int64_t n = a.extents[a.rank - 1];
  std::int64_t rows = 1;
  for (int axis = 0; axis + 1 < a.rank; ++axis) rows *= a.extents[axis];
  if (rows == 0 || n == 0) return;
  std::int64_t strides[max_loop_slots];
  for (int k = 0; k < a.slots; ++k) strides[k] = a.strides[k * a.rank + a.rank - 1];
  if (rows == 1) {
    parallel_for((n + grain - 1) / grain, [&](std::int64_t chunk) {
      std::byte* p[max_loop_slots];
      detail::locate(a, 0, chunk * grain, p);
      inner(std::min(grain, n - chunk * grain), p, strides, a);
    });
    return;
  }
  const std::int64_t step = std::max<std::int64_t>(1, grain / n);
  parallel_for((rows + step - 1) / step, [&](std::int64_t chunk) {
    std::byte* p[max_loop_slots];
    for (std::int64_t row = chunk * step; row < std::min(rows, (chunk + 1) * step); ++row) {
      detail::locate(a, row, 0, p);
      inner(n, p, strides, a);
    }
  });
}

}  // namespace tokamax::simd
