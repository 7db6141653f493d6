// tokamax/backend/cpu/loop/loop.hpp: walk over the axes of a fused loop, and call an inner function for each row.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/compiled.cpp
#pragma once

#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/runtime/kernel.hpp>              // loop_arguments

#include <algorithm>  // min
#include <cstddef>    // byte
#include <cstdint>    // int64_t

namespace tokamax::cpu_backend {

/// Computes one row: n elements of every slot. Slot k advances by strides[k] elements.
using inner_function = void (*)(std::int64_t n, std::byte* const* bases, const std::int64_t* strides,
                                const loop_arguments& loop);

namespace detail {
/// Finds the pointers of all slots at row number `row` of the outer axes, and element `first` of that row.
inline void locate(const loop_arguments& a, std::int64_t row, std::int64_t first, std::byte** p) noexcept {
  for (int k = 0; k < a.slot_count; ++k)
    p[k] = a.pointers[k] + first * a.strides[k * a.rank + a.rank - 1] * a.element_bytes[k];
  for (int axis = a.rank - 2; axis >= 0; --axis) {
    const std::int64_t i = row % a.extents[axis];
    row /= a.extents[axis];
    for (int k = 0; k < a.slot_count; ++k) p[k] += i * a.strides[k * a.rank + axis] * a.element_bytes[k];
  }
}
}  // namespace detail

/// Calls f(first, count) for the elements of a loop in row-major order: for the part that is asked for, or for all of them
/// in chunks of a fixed number.
template <class F>
void each_part(const loop_arguments& a, F f) {
  if (a.count >= 0) return f(a.first, a.count);
  constexpr std::int64_t grain = 1 << 14;
  std::int64_t elements = 1;
  for (int axis = 0; axis < a.rank; ++axis) elements *= a.extents[axis];
  parallel_for((elements + grain - 1) / grain,
               [&](std::int64_t chunk) { f(chunk * grain, std::min(grain, elements - chunk * grain)); });
}

/// Calls `inner` for every row, or part of one.
inline void run_loop(const loop_arguments& a, inner_function inner) {
  const std::int64_t n = a.extents[a.rank - 1];
  std::int64_t strides[max_loop_slots];
  for (int k = 0; k < a.slot_count; ++k) strides[k] = a.strides[k * a.rank + a.rank - 1];
  each_part(a, [&](std::int64_t at, std::int64_t count) {
    std::byte* p[max_loop_slots];
    std::int64_t row = at / n, column = at % n;
    for (std::int64_t now = 0; count > 0; count -= now, ++row, column = 0) {
      now = std::min(n - column, count);
      detail::locate(a, row, column, p);
      inner(now, p, strides, a);
    }
  });
}

}  // namespace tokamax::cpu_backend
