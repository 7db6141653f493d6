// tokamax/base/fixed_string.hpp: text of bounded length that can be a template argument.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <compare>      // strong_ordering
#include <cstddef>      // size_t
#include <string_view>  // string_view

namespace tokamax {

/// Text of at most `N` characters, stored in place.
///
/// It is a structural type, so `template <fixed_string Name>` accepts a string literal. Unused characters are always
/// zero, so equal texts of equal capacity are the same template argument.
template <std::size_t N>
struct fixed_string {
  char chars[N + 1]{};  // zero-terminated
  std::size_t length = 0;

  constexpr fixed_string() = default;

  /// From a literal. One that is longer than `N` does not compile.
  template <std::size_t M>
    requires(M >= 1 && M <= N + 1)
  constexpr fixed_string(const char (&literal)[M]) : fixed_string(std::string_view(literal, M - 1)) {}

  /// Keeps the first `N` characters of `text`.
  constexpr explicit fixed_string(std::string_view text) : length(text.substr(0, N).size()) {
    for (std::size_t i = 0; i < length; ++i) chars[i] = text[i];
    chars[length] = '\0';  // clang prints an array as text only if its end was written
  }

  /// The first `size` characters of `text`. nvcc spells template arguments this way to the host compiler.
  constexpr fixed_string(const char (&text)[N + 1], std::size_t size) : fixed_string(std::string_view(text, size)) {}

  static constexpr std::size_t capacity() { return N; }
  constexpr std::size_t size() const { return length; }
  constexpr bool empty() const { return length == 0; }
  constexpr const char* c_str() const { return chars; }
  constexpr std::string_view view() const { return {chars, length}; }
  constexpr operator std::string_view() const { return view(); }

  template <std::size_t M>
  friend constexpr bool operator==(const fixed_string& a, const fixed_string<M>& b) {
    return a.view() == b.view();
  }
  template <std::size_t M>
  friend constexpr std::strong_ordering operator<=>(const fixed_string& a, const fixed_string<M>& b) {
    return a.view() <=> b.view();
  }
  friend constexpr bool operator==(const fixed_string& a, std::string_view b) { return a.view() == b; }
  friend constexpr std::strong_ordering operator<=>(const fixed_string& a, std::string_view b) {
    return a.view() <=> b;
  }
};

template <std::size_t M>
fixed_string(const char (&)[M]) -> fixed_string<M - 1>;

}  // namespace tokamax
