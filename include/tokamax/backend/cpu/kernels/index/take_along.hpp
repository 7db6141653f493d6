// tokamax/backend/cpu/kernels/index/take_along.hpp: reads elements along one axis by index, line by line.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/indexing/take_along.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/kernels/gather.hpp>  // fill_value
#include <tokamax/backend/cpu/vector/lanes.hpp>    // dispatch_size
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/lax/indexing/take_along.hpp>     // take_along_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>  // min, fill_n

namespace tokamax {

namespace cpu_backend::detail {

/// to[i] = from[index[i] * apart + i * step], for an axis of `rows` elements that are `apart` from each other. A negative
/// index counts from the end. Every element is read, a valid one instead of one outside, so that reads need not wait for
/// comparisons.
template <class T>
void take_line(const T* from, std::int64_t rows, std::int64_t apart, std::int64_t step, const std::int32_t* index,
               std::int64_t n, T* to, T outside) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t given = index[i], at = given < 0 ? given + rows : given;
    const bool inside = static_cast<std::uint64_t>(at) < static_cast<std::uint64_t>(rows);
    const T x = from[(inside ? at : 0) * apart + i * step];
    to[i] = inside ? x : outside;
  }
}

/// x [outer, rows, inner] by index [outer, taken, inner], as lines: those of the innermost axis, of which x has one for each
/// place along the axis, or has all along it if the axis is the innermost.
template <class T>
void take_along_lines(const T* x, std::int64_t rows, std::int64_t inner, std::int64_t taken, const std::int32_t* index,
                      std::int64_t size, T* out, T outside) {
  constexpr std::int64_t grain = 16384;
  if (rows == 0) return void(std::fill_n(out, size, outside));
  const std::int64_t line = inner == 1 ? taken : inner;
  parallel_for((size + grain - 1) / grain, [=](std::int64_t chunk) {
    for (std::int64_t i = chunk * grain, end = std::min(size, i + grain), n; i < end; i += n) {
      const std::int64_t within = i % line;
      n = std::min(end - i, line - within);
      const T* const from = x + i / (taken * inner) * rows * inner + (inner == 1 ? 0 : within);
      if (inner == 1)
        take_line(from, rows, 1, 0, index + i, n, out + i, outside);
      else
        take_line(from, rows, inner, 1, index + i, n, out + i, outside);
    }
  });
}

}  // namespace cpu_backend::detail

inline void kernel(op_c<take_along_p>, cpu_tag, const kernel_arguments& a) {
  const int axis = a.attrs<take_along_options>().axis;
  const array_view &x = a.in[0], &index = a.in[1];
  std::int64_t inner = 1;
  for (int i = axis + 1; i < x.rank(); ++i) inner *= x.extent(i);
  const std::uint64_t outside = cpu_backend::detail::fill_value(x.type).value;
  cpu_backend::dispatch_size(x.type, [&]<class T>(T*) {
    cpu_backend::detail::take_along_lines(x.as<const T>(), x.extent(axis), inner, index.extent(axis),
                                          index.as<const std::int32_t>(), index.size(), a.out[0].as<T>(),
                                          static_cast<T>(outside));
  });
}

}  // namespace tokamax
