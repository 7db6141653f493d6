// tokamax/backend/cpu/kernels/index/true_positions.hpp: counts true elements part by part, and then writes where they are.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/lax/indexing/true_positions.cpp
#pragma once

#include <tokamax/backend/cpu/device.hpp>           // cpu_tag
#include <tokamax/backend/cpu/vector/lanes.hpp>     // lanes
#include <tokamax/backend/cpu/vector/threads.hpp>   // parallel_for, scratch
#include <tokamax/lax/indexing/true_positions.hpp>  // true_positions_p
#include <tokamax/runtime/kernel.hpp>               // kernel_arguments

#include <algorithm>  // min, fill
#include <array>      // array
#include <bit>        // popcount
#include <cstdint>    // int64_t
#include <cstring>    // memcpy

namespace tokamax {

namespace cpu_backend::detail {

struct counts_of_parts;

/// The numbers of the bits of each byte that are set, in order.
inline constexpr auto set_bits = [] {
  std::array<std::array<std::uint8_t, 8>, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte)
    for (std::size_t bit = 0, at = 0; bit < 8; ++bit)
      if (byte >> bit & 1) table[byte][at++] = static_cast<std::uint8_t>(bit);
  return table;
}();

/// Eight truth values as the bits of a byte: the product moves the bit of byte i to place 56 + i, and no two meet.
inline std::uint8_t bits_of_truth(const bool* p) noexcept {
  return static_cast<std::uint8_t>(lanes<bool>::load(p) * 0x0102040810204080u >> 56);
}

inline std::int64_t count_true(const bool* p, std::int64_t n) noexcept {
  std::int64_t count = 0, i = 0;
  for (; i + 8 <= n; i += 8) count += std::popcount(lanes<bool>::load(p + i));
  for (; i < n; ++i) count += p[i] ? 1 : 0;
  return count;
}

/// Writes the numbers of the first `end - to` true elements, of which there are enough, counted from `first`.
inline void write_true(const bool* p, std::int32_t first, std::int32_t* to, std::int32_t* end) noexcept {
  using places = vector_t<std::int32_t, 8>;
  std::int64_t i = 0;
  while (end - to >= 8) {  // of eight places that are written, those behind the last true element are written again
    const std::uint8_t bits = bits_of_truth(p + i);
    vector_t<std::uint8_t, 8> numbers;
    std::memcpy(&numbers, set_bits[bits].data(), sizeof numbers);
    const places all = __builtin_convertvector(numbers, places) + (first + static_cast<std::int32_t>(i));
    std::memcpy(to, &all, sizeof all);
    to += std::popcount(bits);
    i += 8;
  }
  for (; to < end; ++i) {
    *to = first + static_cast<std::int32_t>(i);
    to += p[i] ? 1 : 0;
  }
}

}  // namespace cpu_backend::detail

/// mask [n] -> [size]. Threads count the true elements of parts, and then each part begins behind those before it.
inline void kernel(op_c<true_positions_p>, cpu_tag, const kernel_arguments& a) {
  constexpr std::int64_t part = 16384;
  const std::int64_t n = a.in[0].size(), size = a.out[0].size(), parts = (n + part - 1) / part;
  const bool* const mask = a.in[0].as<const bool>();
  auto* const out = a.out[0].as<std::int32_t>();
  auto* const begin = cpu_backend::scratch<cpu_backend::detail::counts_of_parts, std::int64_t>(parts + 1);
  begin[0] = 0;
  cpu_backend::parallel_for(parts, [=](std::int64_t i) {
    begin[i + 1] = cpu_backend::detail::count_true(mask + i * part, std::min(part, n - i * part));
  });
  for (std::int64_t i = 0; i < parts; ++i) begin[i + 1] += begin[i];
  cpu_backend::parallel_for(parts, [=](std::int64_t i) {
    const std::int64_t from = std::min(size, begin[i]), to = std::min(size, begin[i + 1]);
    cpu_backend::detail::write_true(mask + i * part, static_cast<std::int32_t>(i * part), out + from, out + to);
  });
  std::fill(out + std::min(size, begin[parts]), out + size, static_cast<std::int32_t>(n));
}

}  // namespace tokamax
