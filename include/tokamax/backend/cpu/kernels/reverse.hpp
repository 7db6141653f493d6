// tokamax/backend/cpu/kernels/reverse.hpp: copies rows, and elements of rows, in reverse order.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/vector/lanes.hpp>    // lanes, dispatch_size
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/lax/shapes/reverse.hpp>          // reverse_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>  // min, max, copy_n
#include <cstddef>    // size_t
#include <cstring>    // memcpy
#include <utility>    // index_sequence

namespace tokamax {

namespace cpu_backend::detail {

/// The elements of a register in reverse order.
template <class V, std::size_t... Index>
V reversed(V v, std::index_sequence<Index...>) noexcept {
  return __builtin_shufflevector(v, v, (sizeof...(Index) - 1 - Index)...);
}

/// to[i] = from[n - 1 - i]
template <class T>
void copy_reversed(const T* from, T* to, std::int64_t n) noexcept {
  constexpr std::int64_t lanes = 32 / sizeof(T);
  using V = vector_t<T, static_cast<std::size_t>(lanes)>;
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    V v;
    std::memcpy(&v, from + n - i - lanes, sizeof v);
    v = reversed(v, std::make_index_sequence<static_cast<std::size_t>(lanes)>{});
    std::memcpy(to + i, &v, sizeof v);
  }
  for (; i < n; ++i) to[i] = from[n - 1 - i];
}

}  // namespace cpu_backend::detail

/// A row is the innermost axis. Each row of the result comes from one row of the operand, in reverse order if that axis is
/// reversed.
inline void kernel(op_c<reverse_p>, cpu_tag, const kernel_arguments& a) {
  const axes flipped = a.attrs<reverse_options>().dimensions;
  const array_view& x = a.in[0];
  const int rank = x.rank();
  const std::int64_t n = rank ? x.extent(rank - 1) : 1, rows = n ? x.size() / n : 0;
  const bool inner = rank > 0 && flipped.contains(rank - 1);
  const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, n));
  cpu_backend::dispatch_size(x.type, [&]<class T>(T*) {
    cpu_backend::parallel_for((rows + grain - 1) / grain, [&](std::int64_t chunk) {
      for (std::int64_t r = chunk * grain; r < std::min(rows, (chunk + 1) * grain); ++r) {
        std::int64_t source = 0, scale = 1, rest = r;
        for (int i = rank - 2; i >= 0; --i) {
          const std::int64_t e = x.extent(i), at = rest % e;
          source += (flipped.contains(i) ? e - 1 - at : at) * scale;
          scale *= e;
          rest /= e;
        }
        const T* from = x.as<T>() + source * n;
        if (inner)
          cpu_backend::detail::copy_reversed(from, a.out[0].as<T>() + r * n, n);
        else
          std::copy_n(from, n, a.out[0].as<T>() + r * n);
      }
    });
  });
}

}  // namespace tokamax
