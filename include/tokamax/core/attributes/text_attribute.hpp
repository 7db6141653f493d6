// tokamax/core/attributes/text_attribute.hpp: text as an attribute of an op, such as the name of an axis.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/attributes/pack.cpp
#pragma once

#include <tokamax/base/vec.hpp>  // vec

#include <cstdint>      // int64_t
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax {

/// Text of any length that is a field of an options record.
struct text_attribute : vec<char> {
  constexpr text_attribute() = default;
  constexpr text_attribute(std::string_view s) : vec<char>(s.data(), s.size()) {}
  constexpr text_attribute(const char* s) : text_attribute(std::string_view(s)) {}
  text_attribute(const std::string& s) : text_attribute(std::string_view(s)) {}
  constexpr std::string_view view() const { return {data(), size()}; }
  constexpr bool operator==(const text_attribute& o) const { return view() == o.view(); }
};

/// The name of an axis that a vmap around the op has. In a record it stands before lists and texts.
struct axis_name : text_attribute {
  using text_attribute::text_attribute;
};

namespace detail {
/// The words of a text are its length, and then eight characters a word.
constexpr int words_of_text(std::int64_t length) { return 1 + static_cast<int>((length + 7) / 8); }
constexpr char character_of(const std::int64_t* w, std::int64_t k) {
  return static_cast<char>(static_cast<std::uint64_t>(w[1 + k / 8]) >> 8 * (k % 8));
}
/// Are these the words of this text?
constexpr bool is_text(const std::int64_t* w, std::string_view s) {
  bool same = *w == static_cast<std::int64_t>(s.size());
  for (std::size_t k = 0; same && k < s.size(); ++k) same = character_of(w, static_cast<std::int64_t>(k)) == s[k];
  return same;
}
}  // namespace detail

}  // namespace tokamax
