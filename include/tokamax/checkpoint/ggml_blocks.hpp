// tokamax/checkpoint/ggml_blocks.hpp: numbers as ggml stores them, in blocks of few bits with their scales.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (readers of models use it)
#pragma once

#include <tokamax/base/element.hpp>              // float16, bfloat16
#include <tokamax/ops/quantized/fp4_levels.hpp>  // fp4_levels

#include <algorithm>  // replace
#include <cmath>      // ldexp
#include <cstddef>    // byte
#include <cstring>    // memcpy
#include <limits>     // numeric_limits

namespace tokamax::checkpoint {

/// The elements of a block, code * scale + offset; so many of them as `ggml_codes::group` says share a scale and an offset.
struct ggml_block {
  std::int8_t code[256];
  float scale[16], offset[16];
};

/// How a format has codes. Where there are offsets, code * scale is exact in f32, so that an element is rounded once.
struct ggml_codes {
  int bits = 0;  ///< 8 or 4: codes of 4 bits are -8 to 7, or 0 to 15 with offsets and for floats; 0: there are none
  std::int64_t group = 0;
  bool has_offset = false;
  bool half = false;  ///< are scales and offsets numbers of f16?
  void (*read)(const std::byte* block, ggml_block& to) = nullptr;
  bool floats = false;  ///< are codes floats, E4M3 in 8 bits and E2M1 in 4, not integers?
};

/// One way in which ggml stores numbers: `elements` of them in `bytes`, which `read` makes floats.
struct ggml_format {
  std::uint32_t number;  ///< by which files name it
  const char* name;
  std::int64_t elements, bytes;
  void (*read)(const std::byte* block, float* to);
  ggml_codes codes = {};
  tokamax::dtype plain = dtype::none;  ///< of elements that lie there as arrays have them
};

namespace detail {

template <class T>
T ggml_bits(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline float ggml_half(const std::byte* from) {
  return static_cast<float>(float16::from_bits(ggml_bits<std::uint16_t>(from)));
}
inline int ggml_byte(const std::byte* from) { return std::to_integer<int>(*from); }

// Of 4 or 5 bits: element j < 16 is in the low half of byte j, and element j + 16 in the high half. `high` has the fifth bits.
inline void read_nibbles(const std::byte* from, std::uint32_t high, int less, ggml_block& to) {
  for (int j = 0; j < 16; ++j) {
    const int q = ggml_byte(from + j);
    to.code[j] = static_cast<std::int8_t>(((q & 15) | static_cast<int>(high >> j & 1) << 4) - less);
    to.code[j + 16] = static_cast<std::int8_t>((q >> 4 | static_cast<int>(high >> (j + 16) & 1) << 4) - less);
  }
}
inline void read_q4_0(const std::byte* b, ggml_block& to) {
  to.scale[0] = ggml_half(b);
  read_nibbles(b + 2, 0, 8, to);
}
inline void read_q4_1(const std::byte* b, ggml_block& to) {
  to.scale[0] = ggml_half(b), to.offset[0] = ggml_half(b + 2);
  read_nibbles(b + 4, 0, 0, to);
}
inline void read_q5_0(const std::byte* b, ggml_block& to) {
  to.scale[0] = ggml_half(b);
  read_nibbles(b + 6, ggml_bits<std::uint32_t>(b + 2), 16, to);
}
inline void read_q5_1(const std::byte* b, ggml_block& to) {
  to.scale[0] = ggml_half(b), to.offset[0] = ggml_half(b + 2);
  read_nibbles(b + 8, ggml_bits<std::uint32_t>(b + 4), 0, to);
}
inline void read_q8_0(const std::byte* b, ggml_block& to) {
  to.scale[0] = ggml_half(b);
  std::memcpy(to.code, b + 2, 32);
}

// Blocks of 256 in eight groups of 32. The scale and the offset of a group have 6 bits each, in 12 bytes together.
inline void read_scales_of_k(const std::byte* b, ggml_block& to) {
  const auto at = [&](int i) { return ggml_byte(b + 4 + i); };
  for (int group = 0; group < 8; ++group) {
    const int s = group < 4 ? at(group) & 63 : (at(group + 4) & 15) | at(group - 4) >> 6 << 4;
    const int m = group < 4 ? at(group + 4) & 63 : at(group + 4) >> 4 | at(group) >> 6 << 4;
    to.scale[group] = ggml_half(b) * static_cast<float>(s),
    to.offset[group] = -(ggml_half(b + 2) * static_cast<float>(m));
  }
}
inline void read_q4_k(const std::byte* b, ggml_block& to) {
  read_scales_of_k(b, to);
  for (int i = 0; i < 256; ++i)
    to.code[i] = static_cast<std::int8_t>(ggml_byte(b + 16 + i / 64 * 32 + i % 32) >> 4 * (i / 32 % 2) & 15);
}
inline void read_q5_k(const std::byte* b, ggml_block& to) {
  read_scales_of_k(b, to);
  for (int i = 0; i < 256; ++i) {
    const int low = ggml_byte(b + 48 + i / 64 * 32 + i % 32) >> 4 * (i / 32 % 2) & 15;
    to.code[i] = static_cast<std::int8_t>(low | (ggml_byte(b + 16 + i % 32) >> i / 32 & 1) << 4);
  }
}
// Sixteen groups of 16 with a scale of 8 bits each; four bits of an element are in one place, and two in another.
inline void read_q6_k(const std::byte* b, ggml_block& to) {
  for (int group = 0; group < 16; ++group)
    to.scale[group] = ggml_half(b + 208) * static_cast<float>(static_cast<std::int8_t>(ggml_byte(b + 192 + group)));
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, row = i % 128 / 32, j = i % 32;
    const int low = ggml_byte(b + 64 * half + 32 * (row % 2) + j) >> 4 * (row / 2) & 15;
    const int high = ggml_byte(b + 128 + 32 * half + j) >> 2 * row & 3;
    to.code[i] = static_cast<std::int8_t>((low | high << 4) - 32);
  }
}

/// 2 to the power of byte - 127; 255 is no number.
inline float e8m0(const std::byte* from) {
  const int power = ggml_byte(from);
  return power == 255 ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, power - 127);
}
// E2M1 has two zeros, of which ggml makes one.
inline void read_mxfp4(const std::byte* b, ggml_block& to) {
  to.scale[0] = e8m0(b);
  read_nibbles(b + 1, 0, 0, to);
  std::replace(to.code, to.code + 32, std::int8_t{8}, std::int8_t{0});
}

/// A format of floats of 8 or 4 bits, whose blocks `Read` takes apart.
template <void (*Read)(const std::byte*, ggml_block&), std::int64_t Elements, int Bits>
constexpr ggml_format float_format(std::uint32_t number, const char* name, std::int64_t bytes) {
  const auto read = [](const std::byte* b, float* to) {
    ggml_block block;
    Read(b, block);
    for (std::int64_t i = 0; i < Elements; ++i) {
      const auto code = static_cast<std::uint8_t>(block.code[i]);
      to[i] = block.scale[0] *
              (Bits == 4 ? tokamax::detail::fp4_levels[code & 15] : static_cast<float>(float8_e4m3fn::from_bits(code)));
    }
  };
  return {number, name, Elements, bytes, read, {Bits, Elements, false, false, Read, true}};
}

/// A format whose blocks `Read` takes apart.
template <void (*Read)(const std::byte*, ggml_block&), std::int64_t Elements, std::int64_t Group, bool Offset>
constexpr ggml_format coded_format(std::uint32_t number, const char* name, std::int64_t bytes, int bits, bool half) {
  const auto read = [](const std::byte* b, float* to) {
    ggml_block block;
    Read(b, block);
    for (std::int64_t i = 0; i < Elements; ++i) {
      to[i] = static_cast<float>(block.code[i]) * block.scale[i / Group];
      if constexpr (Offset) to[i] += block.offset[i / Group];
    }
  };
  return {number, name, Elements, bytes, read, {bits, Group, Offset, half, Read}};
}

}  // namespace detail

/// The formats that are read here. The products and sums are those of ggml's reference, in its order.
/// source  github.com/ggml-org/ggml, src/ggml-quants.c
inline constexpr ggml_format ggml_formats[] = {
    {0, "F32", 1, 4, [](const std::byte* b, float* to) { *to = detail::ggml_bits<float>(b); }, {}, f32},
    {1, "F16", 1, 2, [](const std::byte* b, float* to) { *to = detail::ggml_half(b); }, {}, f16},
    detail::coded_format<detail::read_q4_0, 32, 32, false>(2, "Q4_0", 18, 4, true),
    detail::coded_format<detail::read_q4_1, 32, 32, true>(3, "Q4_1", 20, 4, true),
    detail::coded_format<detail::read_q5_0, 32, 32, false>(6, "Q5_0", 22, 8, true),
    detail::coded_format<detail::read_q5_1, 32, 32, true>(7, "Q5_1", 24, 8, true),
    detail::coded_format<detail::read_q8_0, 32, 32, false>(8, "Q8_0", 34, 8, true),
    detail::coded_format<detail::read_q4_k, 256, 32, true>(12, "Q4_K", 144, 4, false),
    detail::coded_format<detail::read_q5_k, 256, 32, true>(13, "Q5_K", 176, 8, false),
    detail::coded_format<detail::read_q6_k, 256, 16, false>(14, "Q6_K", 210, 8, false),
    detail::float_format<detail::read_mxfp4, 32, 4>(39, "MXFP4", 17),
    {30,
     "BF16",
     1,
     2,
     [](const std::byte* b, float* to) {
       *to = static_cast<float>(bfloat16::from_bits(detail::ggml_bits<std::uint16_t>(b)));
     },
     {},
     bf16},
};

/// The format of a number, or null if it is not known.
inline const ggml_format* ggml_format_of(std::uint64_t number) {
  for (const ggml_format& f : ggml_formats)
    if (f.number == number) return &f;
  return nullptr;
}

}  // namespace tokamax::checkpoint
