// tokamax/backend/cpu/kernels/cumulative.hpp: running sums in the order of the axis. Sums of floats are carried in double.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/reduce/plan.hpp>     // sum_of
#include <tokamax/backend/cpu/vector/lanes.hpp>    // lanes, dispatch
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for
#include <tokamax/lax/cumulative.hpp>              // cumsum_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>    // min, max
#include <type_traits>  // conditional_t

namespace tokamax {

namespace cpu_backend::detail {

/// Running sums of some lines of n elements that lie one behind the other. The sums of several lines do not wait for each other.
template <class S, int Lines, class T>
void running_sums(const T* in, T* out, std::int64_t n, bool from_end, S start = S()) noexcept {
  using lane = typename lanes<T>::scalar;
  S sum[Lines];
  for (S& s : sum) s = start;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t at = from_end ? n - 1 - i : i;
    for (int r = 0; r < Lines; ++r) {
      sum[r] = sum_of::apply(sum[r], static_cast<S>(static_cast<lane>(in[r * n + at])));
      out[r * n + at] = static_cast<T>(static_cast<lane>(sum[r]));
    }
  }
}

/// Running sums of integers in a long line: threads add up chunks, and then each chunk starts with the sum of those before it.
/// Sums of floats would depend on the place of a chunk's begin, so they have no chunks.
template <class T>
void chunked_sums(const T* in, T* out, std::int64_t n, bool from_end) {
  using S = typename lanes<T>::scalar;
  constexpr std::int64_t most = 64;
  const std::int64_t step = std::max<std::int64_t>(32768, (n + most - 1) / most), chunks = (n + step - 1) / step;
  S start[most + 1] = {};
  const auto begin = [=](std::int64_t c) {
    return from_end ? std::max<std::int64_t>(0, n - (c + 1) * step) : c * step;
  };
  const auto count = [=](std::int64_t c) { return std::min(step, n - c * step); };
  parallel_for(chunks, [&](std::int64_t c) {
    S sum = S();
    const T* const from = in + begin(c);
    for (std::int64_t i = 0; i < count(c); ++i) sum = sum_of::apply(sum, static_cast<S>(from[i]));
    start[c + 1] = sum;
  });
  for (std::int64_t c = 0; c < chunks; ++c) start[c + 1] = sum_of::apply(start[c], start[c + 1]);
  parallel_for(
      chunks, [&](std::int64_t c) { running_sums<S, 1>(in + begin(c), out + begin(c), count(c), from_end, start[c]); });
}

/// The case of an axis whose elements lie side by side.
template <class S, class T>
void sums_of_lines(const T* in, T* out, std::int64_t lines, std::int64_t n, bool from_end) {
  if constexpr (std::is_integral_v<S> && std::is_same_v<S, typename lanes<T>::scalar>)
    if (lines == 1 && n >= 65536) return chunked_sums(in, out, n, from_end);
  constexpr int together = 4;
  const std::int64_t groups = (lines + together - 1) / together,
                     grain = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, together * n));
  parallel_for((groups + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t g = chunk * grain; g < std::min(groups, (chunk + 1) * grain); ++g) {
      const T* const from = in + g * together * n;
      T* const to = out + g * together * n;
      if (lines - g * together >= together) {
        running_sums<S, together>(from, to, n, from_end);
        continue;
      }
      for (std::int64_t r = 0; r < lines - g * together; ++r) running_sums<S, 1>(from + r * n, to + r * n, n, from_end);
    }
  });
}

}  // namespace cpu_backend::detail

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
    if (m == 1)
      return cpu_backend::detail::sums_of_lines<S>(a.in[0].as<const T>(), a.out[0].as<T>(), outer, n, from_end);
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
