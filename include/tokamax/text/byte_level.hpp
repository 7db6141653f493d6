// tokamax/text/byte_level.hpp: GPT-2's characters for bytes, by which any bytes are a text without spaces and controls.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/text/utf8.hpp>  // for_each_code

#include <array>     // array
#include <optional>  // optional

namespace tokamax::text {

namespace detail {
constexpr bool stands_for_itself(unsigned byte) { return (byte > 32 && byte < 127) || (byte > 160 && byte != 173); }
constexpr std::array<char32_t, 256> byte_characters = [] {
  std::array<char32_t, 256> all{};
  char32_t next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) all[byte] = stands_for_itself(byte) ? byte : next++;
  return all;
}();
// The byte of each character below U+0144, or -1.
constexpr std::array<short, 324> character_bytes = [] {
  std::array<short, 324> all{};
  all.fill(-1);
  for (unsigned byte = 0; byte < 256; ++byte) all[byte_characters[byte]] = static_cast<short>(byte);
  return all;
}();
}  // namespace detail

/// The character that stands for a byte: itself if it is a visible one of Latin-1, else one from U+0100 on.
/// source  bytes_to_unicode of GPT-2's encoder.py
constexpr char32_t byte_character(unsigned char byte) { return detail::byte_characters[byte]; }

/// The bytes that the characters of a text stand for, or nothing if one of them stands for none.
constexpr std::optional<std::string> bytes_of_characters(std::string_view text) {
  std::string bytes;
  bool all = true;
  for_each_code(text, [&](char32_t c, std::size_t) {
    const int byte = c < detail::character_bytes.size() ? detail::character_bytes[c] : -1;
    if (byte < 0)
      all = false;
    else
      bytes += static_cast<char>(static_cast<unsigned char>(byte));
  });
  if (!all) return std::nullopt;
  return bytes;
}

}  // namespace tokamax::text
