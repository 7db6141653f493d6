// tokamax/backend/cpu/loop/transposed_copy.hpp: copies of arrays whose innermost axis is another one than before.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cpu/loop/transposed_copy.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/runtime/kernel.hpp>      // loop_arguments

#if defined(TOKAMAX_COMPILED_ONCE)
  #include <tokamax/backend/cpu/vector/threads.hpp>            // parallel_for
  #include <tokamax/backend/cpu/vector/transposed_matrix.hpp>  // transposed_matrix

  #include <algorithm>  // min, max
  #include <cstdint>    // int64_t
#endif

namespace tokamax::cpu_backend {

/// Runs a loop that only copies slot `from` to slot `to`, if elements that lie side by side in one of them do not in the other.
/// Returns false for any other loop, with nothing done. Elements are copied as bits.
bool copy_transposed(const loop_arguments& a, int from, int to);

#if defined(TOKAMAX_COMPILED_ONCE)
namespace detail {

/// A copy as matrices: one for each place of the axes besides `row`, which is dense in the operand, and the last one.
template <class T>
void copy_matrices(const loop_arguments& a, int from, int to, int row) {
  const int last = a.rank - 1;
  const std::int64_t *in = a.strides + from * a.rank, *out = a.strides + to * a.rank;
  const std::int64_t rows = a.extents[row], columns = a.extents[last];
  std::int64_t others = 1;
  for (int i = 0; i < last; ++i)
    if (i != row) others *= a.extents[i];
  constexpr std::int64_t grain = 1 << 16, unit = 64;
  const std::int64_t high = std::min(rows, unit), wide = std::max(unit, grain / high / unit * unit);
  const std::int64_t down = (rows + high - 1) / high, across = (columns + wide - 1) / wide, parts = down * across;
  const std::int64_t together = std::max<std::int64_t>(1, grain / (high * std::min(wide, columns)));
  parallel_for((others * parts + together - 1) / together, [&](std::int64_t chunk) {
    for (std::int64_t t = chunk * together; t < std::min(others * parts, (chunk + 1) * together); ++t) {
      const std::int64_t i = t % parts / across * high, j = t % across * wide;
      std::int64_t at = i * in[row] + j * in[last], place = i * out[row] + j, rest = t / parts;
      for (int axis = last - 1; axis >= 0; --axis) {
        if (axis == row) continue;
        const std::int64_t k = rest % a.extents[axis];
        rest /= a.extents[axis];
        at += k * in[axis], place += k * out[axis];
      }
      transposed_matrix<T>{reinterpret_cast<const T*>(a.pointers[from]) + at,
                           reinterpret_cast<T*>(a.pointers[to]) + place,
                           in[last],
                           out[row],
                           std::min(high, rows - i),
                           std::min(wide, columns - j)}
          .copy();
    }
  });
}

}  // namespace detail

TOKAMAX_COMPILED_ONCE bool copy_transposed(const loop_arguments& a, int from, int to) {
  const int last = a.rank - 1;
  const std::int64_t *in = a.strides + from * a.rank, *out = a.strides + to * a.rank;
  if (a.count >= 0 || last < 1 || out[last] != 1 || in[last] == 0 || in[last] == 1) return false;
  int row = last;
  for (int i = 0; i < last; ++i) {
    if (a.extents[i] == 0) return false;
    if (in[i] == 1 && a.extents[i] > 1) row = i;
  }
  if (row == last || a.extents[last] < 2) return false;
  switch (a.element_bytes[from]) {
    case 1:
      return detail::copy_matrices<std::uint8_t>(a, from, to, row), true;
    case 2:
      return detail::copy_matrices<std::uint16_t>(a, from, to, row), true;
    case 4:
      return detail::copy_matrices<std::uint32_t>(a, from, to, row), true;
    case 8:
      return detail::copy_matrices<std::uint64_t>(a, from, to, row), true;
    default:
      return false;
  }
}
#endif

}  // namespace tokamax::cpu_backend
