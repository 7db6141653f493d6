// tokamax/backend/cpu/kernels/concatenate.hpp: copies operands of any strides next to each other, row by row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>                    // cpu_tag
#include <tokamax/backend/cpu/vector/lanes.hpp>              // dispatch_size
#include <tokamax/backend/cpu/vector/threads.hpp>            // parallel_for
#include <tokamax/backend/cpu/vector/transposed_matrix.hpp>  // rows_to_columns
#include <tokamax/lax/shapes/concatenate.hpp>                // concatenate_p
#include <tokamax/runtime/kernel.hpp>                        // kernel_arguments

#include <algorithm>  // min, max
#include <cstring>    // memcpy

namespace tokamax {

template <>
inline constexpr bool takes_views<concatenate_p> = true;

namespace cpu_backend::detail {

/// Copies the axes from `axis` on of an operand with any strides to where they lie dense.
struct block_copy {
  const array_view& x;
  std::int64_t size;  // bytes of an element
  int dense;          // the axes from here on lie dense in the operand too

  explicit block_copy(const array_view& v) : x(v), size(size_of(v.type)), dense(v.rank()) {
    for (std::int64_t n = 1; dense > 0 && (x.extent(dense - 1) == 1 || x.stride(dense - 1) == n); --dense)
      n *= x.extent(dense - 1);
  }
  std::int64_t bytes_from(int axis) const {
    std::int64_t n = size;
    for (int i = axis; i < x.rank(); ++i) n *= x.extent(i);
    return n;
  }
  /// The place of row number r, where rows are counted by the axes before `axis`.
  const std::byte* row(std::int64_t r, int axis) const {
    if (dense == 0) return x.as<const std::byte>() + r * bytes_from(axis);
    std::int64_t at = 0;
    for (int i = axis - 1; i >= 0; --i) {
      at += r % x.extent(i) * x.stride(i);
      r /= x.extent(i);
    }
    return x.as<const std::byte>() + at * size;
  }
  void copy(const std::byte* from, std::byte* to, int axis) const {
    const std::int64_t bytes = bytes_from(axis);
    if (bytes == 0) return;
    if (axis >= dense) return void(std::memcpy(to, from, static_cast<std::size_t>(bytes)));
    if (axis + 2 == x.rank() && dense == x.rank()) return copy_matrix(from, to, x.extent(axis), x.stride(axis));
    if (axis + 1 == x.rank()) return copy_matrix(from, to, 1, 0);
    const std::int64_t part = bytes / x.extent(axis);
    for (std::int64_t i = 0; i < x.extent(axis); ++i) copy(from + i * x.stride(axis) * size, to + i * part, axis + 1);
  }
  /// The last two axes, where elements of the last one do not lie side by side: those of some rows are read together.
  void copy_matrix(const std::byte* from, std::byte* to, std::int64_t rows, std::int64_t row_stride) const {
    constexpr std::int64_t together = 16;
    const std::int64_t n = x.extent(x.rank() - 1), stride = x.stride(x.rank() - 1);
    dispatch_size(x.type, [&]<class T>(T*) {
      const T* const in = reinterpret_cast<const T*>(from);
      T* const out = reinterpret_cast<T*>(to);
      for (std::int64_t i = 0; i < rows; i += together)
        for (std::int64_t j = 0; j < n; ++j)
          for (std::int64_t k = i; k < std::min(rows, i + together); ++k)
            out[k * n + j] = in[k * row_stride + j * stride];
    });
  }
};

/// The case of rows of one element in every operand, such as those of `stack` along the last axis.
template <class T>
void interleave(const kernel_arguments& a, std::int64_t rows) {
  constexpr std::int64_t grain = 16384;
  parallel_for((rows + grain - 1) / grain, [&](std::int64_t chunk) {
    const std::int64_t begin = chunk * grain, end = std::min(rows, begin + grain), n = a.in_count;
    T* const out = a.out[0].as<T>();
    for (int k = 0; k < a.in_count; k += 4) {  // four at a time, so that a place of the result is written once
      const int together = std::min(4, a.in_count - k);
      const T* from[4];
      for (int j = 0; j < 4; ++j) from[j] = a.in[k + std::min(j, together - 1)].as<const T>();
      std::int64_t r = begin;
      if constexpr (sizeof(T) == 4)
        if (together == 4)
          for (; r + 4 <= end; r += 4) {  // four elements of each as a square
            square_row<T> row[4];
            for (int j = 0; j < 4; ++j) std::memcpy(&row[j], from[j] + r, sizeof row[j]);
            rows_to_columns<T>(row);
            for (int j = 0; j < 4; ++j) std::memcpy(out + (r + j) * n + k, &row[j], sizeof row[j]);
          }
      if (together == 4)
        for (; r < end; ++r)
          for (int j = 0; j < 4; ++j) out[r * n + k + j] = from[j][r];
      else
        for (; r < end; ++r)
          for (int j = 0; j < together; ++j) out[r * n + k + j] = from[j][r];
    }
  });
}

}  // namespace cpu_backend::detail

/// A row is all axes from the concatenated one on. The rows of the operands are copied one after the other, as bytes.
inline void kernel(op_c<concatenate_p>, cpu_tag, const kernel_arguments& a) {
  using cpu_backend::detail::block_copy;
  const int axis = a.attrs<concatenate_options>().axis;
  std::int64_t rows = 1, unit = size_of(a.out[0].type);  // bytes of one step along the axis
  for (int i = 0; i < axis; ++i) rows *= a.out[0].extent(i);
  for (int i = axis + 1; i < a.out[0].rank(); ++i) unit *= a.out[0].extent(i);
  const std::int64_t row = a.out[0].extent(axis) * unit,
                     grain = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, row));
  bool elements = unit == size_of(a.out[0].type);
  for (int k = 0; k < a.in_count; ++k)
    elements = elements && block_copy(a.in[k]).dense == 0 && a.in[k].extent(axis) == 1;
  if (elements)
    return cpu_backend::dispatch_size(a.out[0].type, [&]<class T>(T*) { cpu_backend::detail::interleave<T>(a, rows); });
  cpu_backend::parallel_for((rows + grain - 1) / grain, [&](std::int64_t chunk) {
    std::int64_t at = 0;  // where the operand begins in a row
    for (int k = 0; k < a.in_count; ++k) {
      const block_copy from(a.in[k]);
      for (std::int64_t r = chunk * grain; r < std::min(rows, (chunk + 1) * grain); ++r)
        from.copy(from.row(r, axis), a.out[0].as<std::byte>() + r * row + at, axis);
      at += a.in[k].extent(axis) * unit;
    }
  });
}

}  // namespace tokamax
