// tokamax/backend/cpu/kernels/pad.hpp: puts a value around and between elements.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/indexing/slice.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/vector/lanes.hpp>    // dispatch_size
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/lax/indexing/slice.hpp>          // pad_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>  // min, max, fill_n

namespace tokamax {

namespace cpu_backend::detail {

/// Pads with `value`. Trailing axes without padding form units that are copied as a whole. For each row of the result, the
/// loop finds the row of the operand that it comes from, if there is one.
template <class T>
void pad_typed(const array_view& x, T value, const pad_options& o, T* out, const shape& extents) {
  int last = extents.rank() - 1;  // axes after this one are not padded, so their elements stay contiguous
  std::int64_t unit = 1;
  for (; last > 0 && o.low[last] == 0 && o.high[last] == 0 && o.interior[last] == 0; --last) unit *= extents[last];
  const std::int64_t n = last < 0 ? 1 : x.extent(last), m = last < 0 ? 1 : extents[last];
  const std::int64_t low = last < 0 ? 0 : o.low[last], step = last < 0 ? 1 : o.interior[last] + 1;
  std::int64_t rows = 1;
  for (int i = 0; i < last; ++i) rows *= extents[i];
  const T* in = x.as<T>();
  const std::int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;  // element at or after 0
  const std::int64_t end =
      std::min(n, m > low ? (m - low + step - 1) / step : std::int64_t{0});  // element at or after m
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, m * unit));
  parallel_for((rows + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t r = chunk * grain; r < std::min(rows, (chunk + 1) * grain); ++r) {
      T* to = out + r * m * unit;
      std::int64_t source = 0, scale = 1, rest = r;  // the row of the operand, if this row has one
      bool inside = first < end;
      for (int i = last - 1; inside && i >= 0; --i) {
        const std::int64_t at = rest % extents[i] - o.low[i], gap = o.interior[i] + 1;
        rest /= extents[i];
        inside = at >= 0 && at % gap == 0 && at / gap < x.extent(i);
        source += at / gap * scale;
        scale *= x.extent(i);
      }
      if (!inside) {
        std::fill_n(to, m * unit, value);
        continue;
      }
      const T* from = in + source * n * unit;
      // Without interior padding, a row is padding, a copy and padding.
      if (step == 1) {
        std::fill_n(to, (low + first) * unit, value);
        std::memcpy(to + (low + first) * unit, from + first * unit,
                    static_cast<std::size_t>((end - first) * unit) * sizeof(T));
        std::fill_n(to + (low + end) * unit, (m - low - end) * unit, value);
      } else {
        std::fill_n(to, m * unit, value);
        for (std::int64_t i = first; i < end; ++i) std::copy_n(from + i * unit, unit, to + (low + i * step) * unit);
      }
    }
  });
}

}  // namespace cpu_backend::detail

/// The value is the second operand, a scalar. Only the size of elements matters.
inline void kernel(op_c<pad_p>, cpu_tag, const kernel_arguments& a) {
  cpu_backend::dispatch_size(a.out[0].type, [&]<class T>(T*) {
    cpu_backend::detail::pad_typed(a.in[0], *a.in[1].as<T>(), a.attrs<pad_options>(), a.out[0].as<T>(),
                                   a.out[0].extents);
  });
}

}  // namespace tokamax
