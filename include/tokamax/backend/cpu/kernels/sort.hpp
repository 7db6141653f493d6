// tokamax/backend/cpu/kernels/sort.hpp: sorting as integers, with the order of a key in the high bits and its position below.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/backend/cpu/device.hpp>          // cpu_tag
#include <tokamax/backend/cpu/vector/lanes.hpp>    // dispatch
#include <tokamax/backend/cpu/vector/threads.hpp>  // parallel_for, scratch
#include <tokamax/lax/sort.hpp>                    // sort_p
#include <tokamax/runtime/kernel.hpp>              // kernel_arguments

#include <algorithm>  // sort, min, max
#include <array>      // array
#include <bit>        // bit_cast

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
