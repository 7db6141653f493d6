// tokamax/text/utf8.hpp: code points of UTF-8 texts, and what stands for bytes that are none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>  // for its users: error

#include <cstddef>      // size_t
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::text {

/// What stands for bytes that are no text.
inline constexpr char32_t replacement_character = 0xFFFD;

/// The code point at a place of a text and its bytes. If it is not valid, `length` bytes could begin a code point but do not.
struct utf8_step {
  char32_t code;
  unsigned length;
  bool valid;
};

/// Reads the code point that begins at byte `at`, which is in the text.
/// source  the table of well-formed sequences of the Unicode standard (table 3-7), and its maximal subparts
constexpr utf8_step decode_utf8(std::string_view text, std::size_t at) {
  const unsigned lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {replacement_character, 1, false};
  const unsigned length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  char32_t code = lead & (0x7Fu >> length);
  for (unsigned i = 1; i < length; ++i) {
    const unsigned byte = at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
    // Overlong forms, surrogates and numbers above U+10FFFF are seen at the second byte.
    const unsigned least = i > 1 ? 0x80 : lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned most = i > 1 ? 0xBF : lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte < least || byte > most) return {replacement_character, i, false};
    code = code << 6 | (byte & 0x3F);
  }
  return {code, length, true};
}

/// Is a byte the second or a later one of a code point?
constexpr bool continues_code_point(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

/// The bytes of a code point of a valid text, by the first of them.
constexpr std::size_t code_point_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// Appends a code point.
constexpr void append_utf8(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xC0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xE0 | code >> 12);
    } else {
      put(0xF0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3F));
    }
    put(0x80 | (code >> 6 & 0x3F));
  }
  put(0x80 | (code & 0x3F));
}

/// Calls f(code point, its first byte) for each code point of a text. Those of bytes that are no text are replacements.
template <class F>
constexpr void for_each_code(std::string_view text, F f) {
  for (std::size_t at = 0; at < text.size();) {
    const utf8_step step = decode_utf8(text, at);
    f(step.code, at);
    at += step.length;
  }
}

/// The first byte that is not of a code point, or the size of the text.
constexpr std::size_t valid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const utf8_step step = decode_utf8(text, at);
    if (!step.valid) break;
    at += step.length;
  }
  return at;
}

/// A text with U+FFFD for each longest run of bytes that begins a code point and does not end it, or that cannot begin one.
constexpr std::string replace_invalid(std::string_view bytes) {
  std::string result;
  result.reserve(bytes.size());
  for_each_code(bytes, [&](char32_t code, std::size_t) { append_utf8(result, code); });
  return result;
}

}  // namespace tokamax::text
