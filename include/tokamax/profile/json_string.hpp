// tokamax/profile/json_string.hpp: text as a string of JSON.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/timeline.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstddef>      // size_t
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::profile {

namespace detail {
/// The length of the UTF-8 character at the beginning of `text`; 0 if there is none.
inline std::size_t length_of_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const unsigned char second = byte(1);  // no longer forms than necessary, no surrogates, nothing above U+10FFFF
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
      (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}
}  // namespace detail

/// `text` in quotes, as JSON has it. Bytes that are no UTF-8 become the replacement character U+FFFD.
/// source  RFC 8259, section 7
inline std::string json_string(std::string_view text) {
  std::string s = "\"";
  while (!text.empty()) {
    const std::size_t length = detail::length_of_character(text);
    const char c = text.front();
    if (length == 0) {
      s += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      (s += '\\') += c;
    } else if (static_cast<unsigned char>(c) < ' ') {
      constexpr std::string_view digits = "0123456789abcdef";
      s.append("\\u00") += digits[static_cast<std::size_t>(c >> 4)];
      s += digits[static_cast<std::size_t>(c & 15)];
    } else {
      s += text.substr(0, length);
    }
    text.remove_prefix(length ? length : 1);
  }
  return s += '"';
}

}  // namespace tokamax::profile
