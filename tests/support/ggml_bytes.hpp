// tests/support/ggml_bytes.hpp: random blocks of the formats of ggml, whose scales are small numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/checkpoint/ggml_blocks.hpp>

#include <random>
#include <string>

namespace tokamax::test {

inline std::string ggml_bytes(const checkpoint::ggml_format& format, std::int64_t blocks, unsigned seed) {
  std::mt19937 draw(seed);
  std::string bytes;
  for (std::int64_t b = 0; b < blocks; ++b) {
    std::string block(static_cast<std::size_t>(format.bytes), '\0');
    for (char& c : block) c = static_cast<char>(draw());
    if (format.codes.floats) {
      block[0] = static_cast<char>(119 + draw() % 4u);
      bytes += block;
      continue;
    }
    const std::size_t first = format.number == 14 ? 208 : 0, halves = format.codes.has_offset ? 2 : 1;
    for (std::size_t i = 0; i < halves; ++i) {  // from 2^-8 to 2^-6, of both signs
      const std::uint32_t half = 0x1c00u + draw() % 0x800u + (draw() % 2u << 15);
      block[first + 2 * i] = static_cast<char>(half), block[first + 2 * i + 1] = static_cast<char>(half >> 8);
    }
    bytes += block;
  }
  return bytes;
}

}  // namespace tokamax::test
