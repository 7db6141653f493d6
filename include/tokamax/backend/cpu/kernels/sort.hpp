// tokamax/backend/cpu/kernels/sort.hpp: sorting as integers, with the order of a key in the high bits and its position below.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/vector/lanes.hpp>    // dispatch
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch
#include <tokamax/lax/sort.hpp>                    // sort_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>  // sort, min, max, clamp, lower_bound
#include <array>      // array
#include <bit>        // bit_cast
#include <limits>     // quiet_NaN
#include <utility>    // exchange, swap

namespace tokamax {

namespace cpu_backend::detail {

/// An unsigned integer that is ordered like x. Both zeros give the same number, and every NaN gives the largest one. For a
/// float this is its bits, with the sign flipped for positive numbers and all bits flipped for negative ones.
template <class T>
auto order_of(T x) noexcept {
  if constexpr (std::is_integral_v<T>) {
    using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    return static_cast<bits>(x) ^ (std::is_signed_v<T> ? bits{1} << (8 * sizeof(bits) - 1) : bits{});
  } else if constexpr (!std::is_floating_point_v<T>) {
    return order_of(static_cast<float>(x));
  } else {
    using bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    constexpr bits sign = bits{1} << (8 * sizeof(bits) - 1);
    if (x != x) return ~bits{};
    const auto b = std::bit_cast<bits>(x + T(0));  // -0 becomes 0
    return b & sign ? ~b : b | sign;
  }
}

/// Sorts by the upper 32 bits, by counting 8 bits at a time. The order of equal ones stays. Returns the array with the
/// result, which is `a` or `spare`.
inline std::uint64_t* radix_sort(std::uint64_t* a, std::uint64_t* spare, std::int64_t n) noexcept {
  for (int shift = 32; shift < 64; shift += 8) {
    std::array<std::int64_t, 257> start{};
    for (std::int64_t i = 0; i < n; ++i) ++start[(a[i] >> shift & 255) + 1];
    if (start[(a[0] >> shift & 255) + 1] == n) continue;  // all have the same digit
    for (std::size_t b = 0; b < 256; ++b) start[b + 1] += start[b];
    for (std::int64_t i = 0; i < n; ++i) spare[start[a[i] >> shift & 255]++] = a[i];
    std::swap(a, spare);
  }
  return a;
}

struct sort_items;

/// Sorts one line of keys. The low half of items[i] is the position of the element that comes i-th. Positions are part of
/// the numbers that are sorted, so every method is stable.
template <class T>
const std::uint64_t* sorted_positions(const T* key, std::int64_t n, std::int64_t stride, bool descending) {
  auto* items = scratch<sort_items, std::uint64_t>(2 * n);  // two arrays of 64-bit items
  using bits = decltype(order_of(T{}));
  // Descending order flips the bits of keys, so that equal keys still keep their order.
  const bits turn = descending ? ~bits{} : bits{};
  if constexpr (sizeof(bits) == 8) {
    // 64-bit keys do not fit beside positions, so positions are sorted by keys that are stored apart.
    std::uint64_t* const order = items + n;
    for (std::int64_t i = 0; i < n; ++i) {
      items[i] = static_cast<std::uint64_t>(i);
      order[i] = order_of(key[i * stride]) ^ turn;
    }
    std::sort(items, items + n, [order](std::uint64_t a, std::uint64_t b) {
      return order[a] < order[b] || (order[a] == order[b] && a < b);
    });
  } else {
    for (std::int64_t i = 0; i < n; ++i)
      items[i] = static_cast<std::uint64_t>(order_of(key[i * stride]) ^ turn) << 32 | static_cast<std::uint64_t>(i);
    if (n >= 512) return radix_sort(items, items + n, n);
    std::sort(items, items + n);
  }
  return items;
}

/// Sorts numbers by counting 8 bits at a time, of all digits at once. Returns the array with the result, which is `a` or `spare`.
inline std::uint32_t* radix_sort(std::uint32_t* a, std::uint32_t* spare, std::int64_t n) noexcept {
  std::array<std::array<std::uint32_t, 256>, 4> places{};
  for (std::int64_t i = 0; i < n; ++i)
    for (std::size_t d = 0; d < 4; ++d) ++places[d][a[i] >> 8 * d & 255];
  for (std::size_t d = 0; d < 4; ++d) {
    auto& place = places[d];
    if (place[a[0] >> 8 * d & 255] == n) continue;  // all have the same digit
    for (std::uint32_t before = 0; auto& p : place) before += std::exchange(p, before);
    for (std::int64_t i = 0; i < n; ++i) spare[place[a[i] >> 8 * d & 255]++] = a[i];
    std::swap(a, spare);
  }
  return a;
}

/// The same of many numbers, which threads share in chunks: each chunk counts its own digits, and knows from the counts of all
/// of them where its numbers go.
inline std::uint32_t* radix_sort_in_chunks(std::uint32_t* a, std::uint32_t* spare, std::int64_t n) {
  constexpr std::int64_t most = 64;
  const std::int64_t chunks = std::clamp<std::int64_t>(n / 32768, 1, most), step = (n + chunks - 1) / chunks;
  using counts = std::array<std::int64_t, 256>;
  std::array<counts, static_cast<std::size_t>(most)> place;
  const auto counts_of = [&](std::int64_t c) -> counts& { return place[static_cast<std::size_t>(c)]; };
  for (int shift = 0; shift < 32; shift += 8) {
    const std::uint32_t* const from = a;
    std::uint32_t* const to = spare;
    parallel_for(chunks, [=](std::int64_t c) {
      counts count{};
      for (std::int64_t i = c * step; i < std::min(n, (c + 1) * step); ++i) ++count[from[i] >> shift & 255];
      counts_of(c) = count;
    });
    std::int64_t before = 0, largest = 0;
    for (std::size_t b = 0; b < 256; ++b) {
      const std::int64_t first = before;
      for (std::int64_t c = 0; c < chunks; ++c) before += std::exchange(counts_of(c)[b], before);
      largest = std::max(largest, before - first);
    }
    if (largest == n) continue;  // all have the same digit
    parallel_for(chunks, [=](std::int64_t c) {
      counts next = counts_of(c);
      for (std::int64_t i = c * step; i < std::min(n, (c + 1) * step); ++i)
        to[next[from[i] >> shift & 255]++] = from[i];
    });
    std::swap(a, spare);
  }
  return a;
}

/// The number of 32 bits with this order; 0 for both zeros, and some NaN for all of them.
template <class T>
T of_order(std::uint32_t order) noexcept {
  constexpr std::uint32_t sign = 0x80000000u;
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(std::is_signed_v<T> ? order ^ sign : order);
  else
    return std::bit_cast<T>(order & sign ? order ^ sign : ~order);
}

struct sort_words;

/// Sorts one line of numbers of 32 bits that move nothing else, without their positions. Zeros of both signs have one order,
/// and so do all NaN: the line says which of them comes first.
template <class T>
void sort_line(const T* line, T* out, std::int64_t n, std::int64_t stride, bool descending) {
  auto* const words = scratch<sort_words, std::uint32_t>(2 * n);
  const std::uint32_t turn = descending ? ~0u : 0u;
  bool has_nan = false, has_negative_zero = false;
  for (std::int64_t i = 0; i < n; ++i) {
    const T x = line[i * stride];
    words[i] = order_of(x) ^ turn;
    if constexpr (std::is_floating_point_v<T>) {
      has_nan |= x != x;
      has_negative_zero |= std::bit_cast<std::uint32_t>(x) == 0x80000000u;
    }
  }
  const std::uint32_t* sorted = words;
  if (n < 256)
    std::sort(words, words + n);
  else
    sorted = n < 65536 ? radix_sort(words, words + n, n) : radix_sort_in_chunks(words, words + n, n);
  for (std::int64_t i = 0; i < n; ++i) out[i * stride] = of_order<T>(sorted[i] ^ turn);
  if constexpr (std::is_floating_point_v<T>) {
    const auto in_order_of_line = [&](T value) {  // writes all that are equal to it
      const std::uint32_t order = order_of(value);
      std::int64_t to = std::lower_bound(sorted, sorted + n, order ^ turn) - sorted;
      for (std::int64_t i = 0; i < n; ++i)
        if (order_of(line[i * stride]) == order) out[to++ * stride] = line[i * stride];
    };
    if (has_nan) in_order_of_line(std::numeric_limits<T>::quiet_NaN());
    if (has_negative_zero) in_order_of_line(T(0));
  }
}

}  // namespace cpu_backend::detail

/// Sorts each line of the first operand, and then moves the elements of all operands to their new positions.
inline void kernel(op_c<sort_p>, cpu_tag, const kernel_arguments& a) {
  const auto [axis, descending] = a.attrs<sort_options>();
  const array_view& key = a.in[0];
  std::int64_t inner = 1;
  for (int i = axis + 1; i < key.rank(); ++i) inner *= key.extent(i);
  const std::int64_t n = key.extent(axis), lines = n ? key.size() / n : 0;
  const std::int64_t m = inner, grain = std::max<std::int64_t>(1, 2048 / std::max<std::int64_t>(1, n));
  const bool turned = descending;
  cpu_backend::parallel_for((lines + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t line = chunk * grain; line < std::min(lines, (chunk + 1) * grain); ++line) {
      const std::int64_t base = line / m * n * m + line % m;
      if (a.in_count == 1 && bits_of(key.type) == 32) {
        dispatch(key.type, [&]<dtype K>() {
          using T = element_t<K>;
          if constexpr (sizeof(T) == 4)
            cpu_backend::detail::sort_line(key.as<const T>() + base, a.out[0].as<T>() + base, n, m, turned);
        });
        continue;
      }
      const std::uint64_t* const items = dispatch(key.type, [&]<dtype K>() {
        return cpu_backend::detail::sorted_positions(key.as<element_t<K>>() + base, n, m, turned);
      });
      for (int k = 0; k < a.in_count; ++k)
        cpu_backend::dispatch_size(a.in[k].type, [&]<class T>(T*) {
          const T* from = a.in[k].as<T>() + base;
          T* to = a.out[k].as<T>() + base;
          for (std::int64_t i = 0; i < n; ++i) to[i * m] = from[static_cast<std::int64_t>(items[i] & 0xffffffffu) * m];
        });
    }
  });
}

}  // namespace tokamax
