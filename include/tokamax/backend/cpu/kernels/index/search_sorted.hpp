// tokamax/backend/cpu/kernels/index/search_sorted.hpp: searches for many numbers at once, without branches.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/indexing/search_sorted.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/lax/indexing/search_sorted.hpp>  // search_sorted_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>    // min, fill_n
#include <type_traits>  // conditional_t, is_integral_v

namespace tokamax {

namespace cpu_backend::detail {

/// Numbers whose searches take the same steps, so that registers hold them.
inline constexpr std::int64_t searched_together = 64;

/// The places of x [count] in `sorted` [n], where n > 0. C is what elements are compared as.
template <bool Right, class C, class T>
void search_block(const T* sorted, std::int32_t n, const T* x, std::int64_t count, std::int32_t* to,
                  std::int32_t of_nan) noexcept {
  C v[searched_together];
  std::int32_t low[searched_together] = {};
  for (std::int64_t j = 0; j < searched_together; ++j) v[j] = static_cast<C>(x[std::min(j, count - 1)]);
  for (auto step = static_cast<std::int32_t>(tokamax::detail::first_search_step(n)); step > 0; step /= 2)
    for (std::int64_t j = 0; j < searched_together; ++j) {
      const C at = static_cast<C>(sorted[std::min(low[j] + step - 1, n - 1)]);
      low[j] += step * static_cast<std::int32_t>(Right ? at <= v[j] : at < v[j]);  // a branch would be guessed wrongly
    }
  for (std::int64_t j = 0; j < count; ++j) to[j] = v[j] == v[j] ? std::min(low[j], n) : of_nan;
}

template <bool Right, class C, class T>
void search_all(const T* sorted, std::int64_t n, const T* x, std::int64_t count, std::int32_t* to) {
  constexpr std::int64_t grain = 8192;
  const auto end = static_cast<std::int32_t>(n);
  if (n == 0) return void(std::fill_n(to, count, 0));
  std::int32_t of_nan = end;
  if constexpr (!Right && !std::is_integral_v<C>)  // the numbers come before NaN
    for (std::int64_t i = 0; i < n; ++i) of_nan -= static_cast<C>(sorted[i]) == static_cast<C>(sorted[i]) ? 0 : 1;
  parallel_for((count + grain - 1) / grain, [=](std::int64_t chunk) {
    const std::int64_t last = std::min(count, (chunk + 1) * grain);
    for (std::int64_t i = chunk * grain; i < last; i += searched_together)
      search_block<Right, C>(sorted, end, x + i, std::min(searched_together, last - i), to + i, of_nan);
  });
}

}  // namespace cpu_backend::detail

inline void kernel(op_c<search_sorted_p>, cpu_tag, const kernel_arguments& a) {
  const bool right = a.attrs<search_sorted_options>().right;
  const array_view &sorted = a.in[0], &x = a.in[1];
  dispatch(sorted.type, [&]<dtype E>() {
    using T = element_t<E>;
    using compared = std::conditional_t<is_floating(E) && bits_of(E) < 32, float, T>;
    const auto search = [&]<bool Right>() {
      cpu_backend::detail::search_all<Right, compared>(sorted.as<const T>(), sorted.size(), x.as<const T>(), x.size(),
                                                       a.out[0].as<std::int32_t>());
    };
    right ? search.template operator()<true>() : search.template operator()<false>();
  });
}

}  // namespace tokamax
