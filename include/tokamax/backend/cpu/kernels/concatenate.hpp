// tokamax/backend/cpu/kernels/concatenate.hpp: copies operands next to each other, row by row.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/lax/concatenate.hpp>             // concatenate_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>  // min, max
#include <cstring>    // memcpy

namespace tokamax {

/// A row is all axes from the concatenated one on. The rows of the operands are copied one after the other, as bytes.
inline void kernel(op_c<concatenate_p>, cpu_tag, const kernel_arguments& a) {
  const int axis = a.attrs<concatenate_options>().axis;
  std::int64_t rows = 1, unit = size_of(a.out[0].type);  // bytes of one step along the axis
  for (int i = 0; i < axis; ++i) rows *= a.out[0].extent(i);
  for (int i = axis + 1; i < a.out[0].rank(); ++i) unit *= a.out[0].extent(i);
  const std::int64_t row = a.out[0].extent(axis) * unit,
                     grain = std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(1, row));
  cpu_backend::parallel_for((rows + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t r = chunk * grain; r < std::min(rows, (chunk + 1) * grain); ++r) {
      auto* to = a.out[0].as<std::byte>() + r * row;
      for (int k = 0; k < a.in_count; ++k) {
        const std::int64_t n = a.in[k].extent(axis) * unit;
        if (n) std::memcpy(to, a.in[k].as<const std::byte>() + r * n, static_cast<std::size_t>(n));
        to += n;
      }
    }
  });
}

}  // namespace tokamax
