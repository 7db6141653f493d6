// tokamax/backend/cpu/kernels/scatter.hpp: replaces rows by index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>                 // cpu_tag
#include <tokamax/backend/cpu/kernels/dynamic_slice.hpp>  // index_at
#include <tokamax/lax/indexing/scatter.hpp>               // scatter_p

#include <cstdint>  // uint32_t
#include <cstring>  // memcpy

namespace tokamax {

/// Copies the table, unless the result is in its place, and then the rows into it, one after the other: the last of
/// several updates of a row stays.
inline void kernel(op_c<scatter_p>, cpu_tag, const kernel_arguments& a) {
  const auto bytes = static_cast<std::size_t>(a.out[0].size() * size_of(a.out[0].type));
  auto* const to = a.out[0].as<std::byte>();
  if (a.in[0].data != a.out[0].data && bytes) std::memcpy(to, a.in[0].data, bytes);
  const std::int64_t n = a.in[1].size();
  std::int64_t rows = 1;
  for (int i = 0; i < a.attrs<scatter_options>().axes; ++i) rows *= a.out[0].extent(i);
  if (bytes == 0 || n == 0) return;
  const std::size_t row = bytes / static_cast<std::size_t>(rows);
  const auto* const updates = a.in[2].as<const std::byte>();
  // An update outside is written too, beside the result: a branch would often be foreseen wrongly.
  if (row == sizeof(std::uint32_t)) {
    const auto* const from = reinterpret_cast<const std::uint32_t*>(updates);
    auto* const out = reinterpret_cast<std::uint32_t*>(to);
    std::uint32_t beside = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t r = cpu_backend::detail::index_at(a.in[1], i);
      *(r >= 0 && r < rows ? out + r : &beside) = from[i];
    }
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t r = cpu_backend::detail::index_at(a.in[1], i);
    if (r >= 0 && r < rows)
      std::memcpy(to + static_cast<std::size_t>(r) * row, updates + static_cast<std::size_t>(i) * row, row);
  }
}

}  // namespace tokamax
