// tokamax/backend/cpu/kernels/cumulative.hpp: running sums in the order of the axis. Sums of floats are carried in double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/reduce/plan.hpp>     // sum_of
#include <tokamax/backend/cpu/vector/lanes.hpp>    // lanes, dispatch
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/lax/cumulative.hpp>              // cumsum_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>    // min
#include <type_traits>  // conditional_t

namespace tokamax {

/// Each task walks along the axis with a strip of columns, and keeps one sum for each of them.
inline void kernel(op_c<cumsum_p>, cpu_tag, const kernel_arguments& a) {
  constexpr std::int64_t strip = 256;  // columns in a task: their sums stay in the first-level cache
  const auto [axis, backwards] = a.attrs<cumulative_options>();
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= a.in[0].extent(i);
  for (int i = axis + 1; i < a.in[0].rank(); ++i) inner *= a.in[0].extent(i);
  const std::int64_t n = a.in[0].extent(axis), m = inner, strips = (m + strip - 1) / strip;
  const bool from_end = backwards;
  dispatch(a.in[0].type, [&]<dtype Element>() {
    using T = element_t<Element>;
    using lane = typename cpu_backend::lanes<T>::scalar;
    using S = std::conditional_t<std::is_same_v<lane, float>, double, lane>;
    cpu_backend::parallel_for(outer * strips, [&](std::int64_t t) {
      const std::int64_t from = t % strips * strip, w = std::min(strip, m - from), base = t / strips * n * m + from;
      const T* in = a.in[0].as<T>() + base;
      T* out = a.out[0].as<T>() + base;
      S sum[strip] = {};
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t row = (from_end ? n - 1 - i : i) * m;
        for (std::int64_t j = 0; j < w; ++j)
          out[row + j] = static_cast<T>(static_cast<lane>(
              sum[j] = cpu_backend::detail::sum_of::apply(sum[j], static_cast<S>(static_cast<lane>(in[row + j])))));
      }
    });
  });
}

}  // namespace tokamax
