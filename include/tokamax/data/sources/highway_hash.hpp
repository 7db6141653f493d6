// tokamax/data/sources/highway_hash.hpp: the hash of ArrayRecord's files.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/data/sources/sources.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <algorithm>    // copy_n
#include <array>        // array
#include <cstdint>      // uint64_t
#include <cstring>      // memcpy
#include <string_view>  // string_view

namespace tokamax::data {

namespace detail {

class highway_state {
  using lanes = std::array<std::uint64_t, 4>;

 public:
  explicit highway_state(const lanes& key) {
    for (std::size_t i = 0; i < 4; ++i) {
      v0_[i] = mul0_[i] ^ key[i];
      v1_[i] = mul1_[i] ^ swapped(key[i]);
    }
  }
  void update(const char* packet) {  // 32 bytes
    lanes words;
    std::memcpy(words.data(), packet, sizeof words);
    update(words);
  }
  void update_rest(std::string_view rest) {  // 1 to 31 bytes
    const std::size_t size = rest.size(), in_word = size & 3;
    for (std::size_t i = 0; i < 4; ++i) {
      v0_[i] += (std::uint64_t{size} << 32) + size;
      v1_[i] = rotated_halves(v1_[i], static_cast<int>(size));
    }
    std::array<char, 32> packet{};
    std::copy_n(rest.data(), size & ~std::size_t{3}, packet.data());
    const std::string_view tail = rest.substr(size & ~std::size_t{3});
    if (size & 16)
      std::copy_n(rest.data() + size - 4, 4, packet.data() + 28);
    else if (in_word) {
      packet[16] = tail[0];
      packet[17] = tail[in_word >> 1];
      packet[18] = tail[in_word - 1];
    }
    update(packet.data());
  }
  std::uint64_t finish() {
    for (int round = 0; round < 4; ++round)
      update({swapped(v0_[2]), swapped(v0_[3]), swapped(v0_[0]), swapped(v0_[1])});
    return v0_[0] + v1_[0] + mul0_[0] + mul1_[0];
  }

 private:
  static std::uint64_t swapped(std::uint64_t x) { return x >> 32 | x << 32; }
  static std::uint64_t rotated_halves(std::uint64_t x, int by) {  // 1 to 31 bits
    const auto turn = [by](std::uint32_t half) { return half << by | half >> (32 - by); };
    return std::uint64_t{turn(static_cast<std::uint32_t>(x >> 32))} << 32 | turn(static_cast<std::uint32_t>(x));
  }
  // Adds the bytes of two words in another order.
  static void zipper(std::uint64_t b, std::uint64_t a, std::uint64_t& to_b, std::uint64_t& to_a) {
    to_a += ((a & 0xff000000) | (b & 0xff00000000)) >> 24 | ((a & 0xff0000000000) | (b & 0xff000000000000)) >> 16 |
            (a & 0xff0000) | (a & 0xff00) << 32 | (b & 0xff00000000000000) >> 8 | a << 56;
    to_b += ((b & 0xff000000) | (a & 0xff00000000)) >> 24 | (b & 0xff0000) | (b & 0xff0000000000) >> 16 |
            (b & 0xff00) << 24 | (a & 0xff000000000000) >> 8 | (b & 0xff) << 48 | (a & 0xff00000000000000);
  }
  void update(const lanes& words) {
    for (std::size_t i = 0; i < 4; ++i) {
      v1_[i] += mul0_[i] + words[i];
      mul0_[i] ^= (v1_[i] & 0xffffffff) * (v0_[i] >> 32);
      v0_[i] += mul1_[i];
      mul1_[i] ^= (v0_[i] & 0xffffffff) * (v1_[i] >> 32);
    }
    zipper(v1_[1], v1_[0], v0_[1], v0_[0]);
    zipper(v1_[3], v1_[2], v0_[3], v0_[2]);
    zipper(v0_[1], v0_[0], v1_[1], v1_[0]);
    zipper(v0_[3], v0_[2], v1_[3], v1_[2]);
  }

  lanes v0_, v1_;
  lanes mul0_{0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3};
  lanes mul1_{0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377};
};

}  // namespace detail

/// A hash of 64 bits.
/// source  Alakuijala, Cox, Wassenberg 2016, "Fast keyed hash/pseudo-random function using SIMD multiply and permute"
inline std::uint64_t highway_hash(std::string_view bytes, const std::array<std::uint64_t, 4>& key) {
  detail::highway_state state(key);
  for (; bytes.size() >= 32; bytes.remove_prefix(32)) state.update(bytes.data());
  if (!bytes.empty()) state.update_rest(bytes);
  return state.finish();
}

}  // namespace tokamax::data
