// tokamax/backend/cpu/kernels/ragged/ragged_gather.hpp: rows by index within a range, in one pass.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/ragged_gather.cpp
#pragma once

#include <tokamax/backend/cpu/kernels/gather.hpp>  // fill_value
#include <tokamax/ops/ragged_gather.hpp>           // ragged_gather_p

namespace tokamax {

/// x [R, ...], indices [n], start, end -> [n, ...]. Rows are copied, zero outside of the range, and filled outside of x.
inline void kernel(op_c<ragged_gather_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t rows = a.in[0].extent(0), n = a.in[1].size(), m = n ? a.out[0].size() / n : 0;
  const auto* const index = a.in[1].as<const std::int32_t>();
  const std::int64_t start = *a.in[2].as<const std::int32_t>(), end = *a.in[3].as<const std::int32_t>();
  const std::uint64_t outside = cpu_backend::detail::fill_value(a.out[0].type).value;
  cpu_backend::dispatch_size(a.out[0].type, [&]<class T>(T*) {
    const T* const table = a.in[0].as<const T>();
    T* const out = a.out[0].as<T>();
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, m));
    cpu_backend::parallel_for((n + grain - 1) / grain, [&](std::int64_t chunk) {
      for (std::int64_t i = chunk * grain; i < std::min(n, (chunk + 1) * grain); ++i) {
        T* const to = out + i * m;
        const bool within = i >= start && i < end;
        if (within && index[i] >= 0 && index[i] < rows)
          std::copy_n(table + index[i] * m, m, to);
        else
          std::fill_n(to, m, within ? static_cast<T>(outside) : T());
      }
    });
  });
}

}  // namespace tokamax
