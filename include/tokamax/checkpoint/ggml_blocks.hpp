// tokamax/checkpoint/ggml_blocks.hpp: numbers as ggml stores them, in blocks of few bits with their scales, as floats.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (readers of models use it)
#pragma once

#include <tokamax/base/element.hpp>  // float16, bfloat16

#include <cstddef>  // byte
#include <cstring>  // memcpy

namespace tokamax::checkpoint {

/// One way in which ggml stores numbers: `elements` of them in `bytes`, which `read` makes floats.
struct ggml_format {
  std::uint32_t number;  ///< by which files name it
  const char* name;
  std::int64_t elements, bytes;
  void (*read)(const std::byte* block, float* to);
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
template <class F>
void ggml_nibbles(const std::byte* from, std::uint32_t high, float* to, F value) {
  for (int j = 0; j < 16; ++j) {
    const int q = ggml_byte(from + j);
    to[j] = value((q & 15) | static_cast<int>(high >> j & 1) << 4);
    to[j + 16] = value(q >> 4 | static_cast<int>(high >> (j + 16) & 1) << 4);
  }
}
inline void read_q4_0(const std::byte* b, float* to) {
  const float d = ggml_half(b);
  ggml_nibbles(b + 2, 0, to, [d](int q) { return static_cast<float>(q - 8) * d; });
}
inline void read_q4_1(const std::byte* b, float* to) {
  const float d = ggml_half(b), m = ggml_half(b + 2);
  ggml_nibbles(b + 4, 0, to, [d, m](int q) { return static_cast<float>(q) * d + m; });
}
inline void read_q5_0(const std::byte* b, float* to) {
  const float d = ggml_half(b);
  ggml_nibbles(b + 6, ggml_bits<std::uint32_t>(b + 2), to, [d](int q) { return static_cast<float>(q - 16) * d; });
}
inline void read_q5_1(const std::byte* b, float* to) {
  const float d = ggml_half(b), m = ggml_half(b + 2);
  ggml_nibbles(b + 8, ggml_bits<std::uint32_t>(b + 4), to, [d, m](int q) { return static_cast<float>(q) * d + m; });
}
inline void read_q8_0(const std::byte* b, float* to) {
  const float d = ggml_half(b);
  for (int j = 0; j < 32; ++j) to[j] = static_cast<float>(static_cast<std::int8_t>(ggml_byte(b + 2 + j))) * d;
}

// Blocks of 256 in eight groups of 32. The scale and the offset of a group have 6 bits each, in 12 bytes together.
struct ggml_scales {
  float scale, offset;
  ggml_scales(const std::byte* b, const std::byte* packed, int group) {
    const auto at = [&](int i) { return ggml_byte(packed + i); };
    const int s = group < 4 ? at(group) & 63 : (at(group + 4) & 15) | at(group - 4) >> 6 << 4;
    const int m = group < 4 ? at(group + 4) & 63 : at(group + 4) >> 4 | at(group) >> 6 << 4;
    scale = ggml_half(b) * static_cast<float>(s), offset = ggml_half(b + 2) * static_cast<float>(m);
  }
};
inline void read_q4_k(const std::byte* b, float* to) {
  for (int group = 0; group < 8; ++group) {
    const ggml_scales s(b, b + 4, group);
    const std::byte* const from = b + 16 + group / 2 * 32;
    for (int j = 0; j < 32; ++j)
      to[32 * group + j] = s.scale * static_cast<float>(ggml_byte(from + j) >> 4 * (group % 2) & 15) - s.offset;
  }
}
inline void read_q5_k(const std::byte* b, float* to) {
  for (int group = 0; group < 8; ++group) {
    const ggml_scales s(b, b + 4, group);
    const std::byte *const from = b + 48 + group / 2 * 32, *const high = b + 16;
    for (int j = 0; j < 32; ++j) {
      const int q = (ggml_byte(from + j) >> 4 * (group % 2) & 15) | (ggml_byte(high + j) >> group & 1) << 4;
      to[32 * group + j] = s.scale * static_cast<float>(q) - s.offset;
    }
  }
}
// Sixteen groups of 16 with a scale of 8 bits each; four bits of an element are in one place, and two in another.
inline void read_q6_k(const std::byte* b, float* to) {
  const float d = ggml_half(b + 208);
  for (int i = 0; i < 256; ++i) {
    const int half = i / 128, row = i % 128 / 32, j = i % 32;
    const int low = ggml_byte(b + 64 * half + 32 * (row % 2) + j) >> 4 * (row / 2) & 15;
    const int high = ggml_byte(b + 128 + 32 * half + j) >> 2 * row & 3;
    const auto scale = static_cast<std::int8_t>(ggml_byte(b + 192 + i / 16));
    to[i] = d * static_cast<float>(scale) * static_cast<float>((low | high << 4) - 32);
  }
}

}  // namespace detail

/// The formats that are read here. The products and sums are those of ggml's reference, in its order.
/// source  github.com/ggml-org/ggml, src/ggml-quants.c
inline constexpr ggml_format ggml_formats[] = {
    {0, "F32", 1, 4, [](const std::byte* b, float* to) { *to = detail::ggml_bits<float>(b); }},
    {1, "F16", 1, 2, [](const std::byte* b, float* to) { *to = detail::ggml_half(b); }},
    {2, "Q4_0", 32, 18, detail::read_q4_0},
    {3, "Q4_1", 32, 20, detail::read_q4_1},
    {6, "Q5_0", 32, 22, detail::read_q5_0},
    {7, "Q5_1", 32, 24, detail::read_q5_1},
    {8, "Q8_0", 32, 34, detail::read_q8_0},
    {12, "Q4_K", 256, 144, detail::read_q4_k},
    {13, "Q5_K", 256, 176, detail::read_q5_k},
    {14, "Q6_K", 256, 210, detail::read_q6_k},
    {30, "BF16", 1, 2,
     [](const std::byte* b, float* to) {
       *to = static_cast<float>(bfloat16::from_bits(detail::ggml_bits<std::uint16_t>(b)));
     }},
};

/// The format of a number, or null if it is not known.
inline const ggml_format* ggml_format_of(std::uint64_t number) {
  for (const ggml_format& f : ggml_formats)
    if (f.number == number) return &f;
  return nullptr;
}

}  // namespace tokamax::checkpoint
