// tokamax/backend/cpu/kernels/top_k.hpp: the largest elements of rows, without sorting the others.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/indexing/top_k.cpp
#pragma once

#include <tokamax/backend/cpu/kernels/sort.hpp>  // order_of
#include <tokamax/lax/indexing/top_k.hpp>        // top_k_p

namespace tokamax {

namespace cpu_backend::detail {

/// Names of scratch memory.
struct top_k_orders;
struct top_k_items;

/// The order of the elements of a row as signed integers, which vectors can compare.
template <class T>
void signed_orders(const T* x, std::int64_t n, std::int32_t* to) noexcept {
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<std::int32_t>(order_of(x[i]) ^ 0x80000000u);
}
/// The same for f32: negative numbers have the order of their bits turned around, -0 becomes 0, and NaN is the largest.
inline void signed_orders(const float* x, std::int64_t n, std::int32_t* to) noexcept {
  for (std::int64_t i = 0; i < n; ++i) {
    const auto b = std::bit_cast<std::int32_t>(x[i] + 0.0f);
    const std::int32_t order = b ^ (b >> 31 & 0x7fffffff);
    to[i] = x[i] != x[i] ? 0x7fffffff : order;
  }
}

/// Leaves the k smallest of `items` in front, in no order.
inline void keep_smallest(std::uint64_t* items, std::int64_t count, std::int64_t k) noexcept {
  if (k < count) std::nth_element(items, items + k, items + count);
}

/// The k largest elements of a row, in order: the low half of item i is the position of the i-th. Elements that are larger than
/// the k-th one so far gather in a small array, which is cut to the k largest whenever it is full.
inline const std::uint64_t* largest_positions(const std::int32_t* order, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t block = 32;
  const std::int64_t room = std::max<std::int64_t>(2 * k, 32) + block;
  std::uint64_t* const items = scratch<top_k_items, std::uint64_t>(room);
  const auto item = [&](std::int64_t i) {  // the larger the element, the smaller the number
    return static_cast<std::uint64_t>(~(static_cast<std::uint32_t>(order[i]) ^ 0x80000000u)) << 32 |
           static_cast<std::uint64_t>(i);
  };
  std::int64_t count = 0, i = 0;
  // The first elements fill the array, and nothing needs to be compared.
  for (; i < std::min(n, room - block); ++i) items[count++] = item(i);
  // Keeps the k largest so far, and gives the order of the last of them.
  const auto cut = [&] {
    keep_smallest(items, count, k);
    count = std::min(count, k);
    const std::uint64_t last = *std::max_element(items, items + count);
    return static_cast<std::int32_t>(~static_cast<std::uint32_t>(last >> 32) ^ 0x80000000u);
  };
  if (i < n) {
    std::int32_t least = cut();
    for (; i < n; i += block) {
      const std::int64_t end = std::min(n, i + block);
      std::int32_t most = least;
      for (std::int64_t j = i; j < end; ++j) most = std::max(most, order[j]);
      if (most == least) continue;  // an equal element comes after those that are there
      for (std::int64_t j = i; j < end; ++j)
        if (order[j] > least) items[count++] = item(j);
      if (count + block > room) least = cut();
    }
  }
  keep_smallest(items, count, k);
  std::sort(items, items + k);
  return items;
}

/// The same for keys of 64 bits, which do not fit beside positions.
template <class T>
const std::uint64_t* largest_positions_of(const T* x, std::int64_t n, std::int64_t k) {
  if constexpr (sizeof(decltype(order_of(T{}))) == 4) {
    auto* const order = scratch<top_k_orders, std::int32_t>(n);
    signed_orders(x, n, order);
    return largest_positions(order, n, k);
  } else {
    std::uint64_t* const items = scratch<top_k_items, std::uint64_t>(2 * n);
    std::uint64_t* const order = items + n;
    for (std::int64_t i = 0; i < n; ++i) {
      items[i] = static_cast<std::uint64_t>(i);
      order[i] = ~order_of(x[i]);
    }
    const auto before = [order](std::uint64_t a, std::uint64_t b) {
      return order[a] < order[b] || (order[a] == order[b] && a < b);
    };
    std::partial_sort(items, items + k, items + n, before);
    return items;
  }
}

}  // namespace cpu_backend::detail

/// x [..., n] -> values [..., k], indices [..., k].
inline void kernel(op_c<top_k_p>, cpu_tag, const kernel_arguments& a) {
  const std::int64_t k = a.attrs<top_k_options>().k, n = a.in[0].extent(a.in[0].rank() - 1);
  if (k == 0 || a.out[0].size() == 0) return;
  const std::int64_t rows = a.out[0].size() / k, grain = std::max<std::int64_t>(1, 8192 / n);
  cpu_backend::parallel_for((rows + grain - 1) / grain, [&](std::int64_t chunk) {
    for (std::int64_t r = chunk * grain; r < std::min(rows, (chunk + 1) * grain); ++r) {
      const std::uint64_t* const items = dispatch(a.in[0].type, [&]<dtype K>() {
        return cpu_backend::detail::largest_positions_of(a.in[0].as<element_t<K>>() + r * n, n, k);
      });
      std::int32_t* const indices = a.out[1].as<std::int32_t>() + r * k;
      for (std::int64_t i = 0; i < k; ++i) indices[i] = static_cast<std::int32_t>(items[i] & 0xffffffffu);
      cpu_backend::dispatch_size(a.in[0].type, [&]<class T>(T*) {
        const T* const from = a.in[0].as<T>() + r * n;
        T* const to = a.out[0].as<T>() + r * k;
        for (std::int64_t i = 0; i < k; ++i) to[i] = from[indices[i]];
      });
    }
  });
}

}  // namespace tokamax
