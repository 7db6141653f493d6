// tokamax/checkpoint/crc32c.hpp: the Castagnoli checksum.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <array>        // array
#include <cstddef>      // byte, size_t
#include <cstdint>      // uint32_t
#include <cstring>      // memcpy
#include <span>         // span
#include <type_traits>  // is_constant_evaluated

#if defined(__SSE4_2__)
  #include <nmmintrin.h>  // _mm_crc32_u64
#endif

namespace tokamax::checkpoint {

namespace detail {

// table[k][b] is the checksum of byte b followed by k zero bytes.
using crc_table = std::array<std::array<std::uint32_t, 256>, 8>;
constexpr crc_table make_crc_table() {
  crc_table table{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0u);
    table[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b) table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 0xff];
  }
  return table;
}
inline constexpr crc_table crc_of_byte = make_crc_table();

}  // namespace detail

/// The CRC-32C of `bytes`; `before` is the checksum of what came before them.
/// source  RFC 3720, appendix B.4; eight bytes a step by the CPU's instruction, or by tables after Kounavis, Berry 2005
constexpr std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  const auto& table = detail::crc_of_byte;
  std::uint32_t crc = ~before;
  std::size_t i = 0;
#if defined(__SSE4_2__) && defined(__x86_64__)
  if (!std::is_constant_evaluated()) {
    for (; i + 8 <= bytes.size(); i += 8) {
      std::uint64_t word;
      std::memcpy(&word, bytes.data() + i, 8);
      crc = static_cast<std::uint32_t>(_mm_crc32_u64(crc, word));
    }
  }
#endif
  for (; i + 8 <= bytes.size(); i += 8) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < 8; ++k) {
      const std::uint32_t mixed = k < 4 ? crc >> 8 * k & 0xff : 0;
      next ^= table[7 - k][mixed ^ static_cast<std::uint32_t>(bytes[i + k])];
    }
    crc = next;
  }
  for (; i < bytes.size(); ++i) crc = crc >> 8 ^ table[0][(crc ^ static_cast<std::uint32_t>(bytes[i])) & 0xff];
  return ~crc;
}

}  // namespace tokamax::checkpoint
