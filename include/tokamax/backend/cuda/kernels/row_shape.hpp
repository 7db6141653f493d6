// tokamax/backend/cuda/kernels/row_shape.hpp: how the threads of a GPU share rows that they keep in registers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/cuda/row_kernels.cpp
#pragma once

#include <tokamax/backend/cuda/launch.hpp>         // ceil_div, block_threads
#include <tokamax/backend/cuda/text/row_part.hpp>  // for its users: row_part
#include <tokamax/core/kernel_arguments.hpp>       // array_view

#include <algorithm>         // max, min
#include <initializer_list>  // arrays of a row

namespace tokamax::cuda_backend {

/// How threads share rows: `group` threads a row, each of which keeps `vectors` times `width` neighbouring elements of it.
struct row_shape {
  std::int64_t rows = 0, columns = 0;
  int width = 1, group = 32, vectors = 1;

  /// All of `arrays` have rows of as many elements as the first one, or are such a row.
  explicit row_shape(std::initializer_list<const array_view*> arrays) {
    const array_view& x = **arrays.begin();
    columns = x.extent(-1);
    rows = columns > 0 ? x.size() / columns : 0;
    width = 16 / size_of(x.type);
    const auto is_aligned = [&] {
      for (const array_view* v : arrays)
        if (reinterpret_cast<std::uintptr_t>(v->data) % static_cast<unsigned>(std::min(16, width * size_of(v->type))))
          return false;
      return columns % width == 0;
    };
    while (width > 1 && !is_aligned()) width /= 2;
  }
  /// So many elements of a dtype take 64 registers, or 48 if each takes one.
  int elements_in_registers(dtype t) const { return width == 1 ? 48 : 256 / size_of(t); }
  /// Chooses the smallest group, a warp or a block, whose threads keep at most so many elements each. Few rows get larger
  /// groups, so that all of the GPU has work. False if no group is large enough.
  bool share(int most_elements) {
    constexpr int most_group = 512;
    const std::int64_t all = ceil_div(columns, width), most = std::max(1, most_elements / width);
    const auto too_few = [&] { return group < 256 && all > 2 * group && rows * group < 65536; };
    while (group < most_group && (all > group * most || too_few())) group *= 2;
    vectors = static_cast<int>(std::max<std::int64_t>(1, ceil_div(all, group)));
    return all <= group * most;
  }
  unsigned threads() const { return group > 32 ? static_cast<unsigned>(group) : block_threads; }
  std::int64_t blocks() const { return ceil_div(rows * group, threads()); }
};

}  // namespace tokamax::cuda_backend
