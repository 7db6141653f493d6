// tokamax/text/unicode.hpp: classes of characters and normal forms, by utf8proc.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
#pragma once

#include <tokamax/text/utf8.hpp>  // for_each_code

#if !__has_include(<utf8proc.h>)
  #error "tokamax: found no utf8proc.h, expected the library utf8proc (Debian: libutf8proc-dev) for tokamax/text"
#endif
#include <utf8proc.h>

#include <algorithm>  // sort
#include <array>      // array
#include <cstdint>    // uint8_t
#include <vector>     // vector

namespace tokamax::text {

/// The property White_Space, as Rust's char::is_whitespace.
constexpr bool is_whitespace(char32_t c) {
  return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

namespace detail {
// Is the general category of a character between two of utf8proc's, which are in order?
inline bool category_within(char32_t c, utf8proc_category_t first, utf8proc_category_t last) {
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category >= first && category <= last;
}
}  // namespace detail

inline bool is_letter(char32_t c) { return detail::category_within(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO); }
inline bool is_mark(char32_t c) { return detail::category_within(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_ME); }
inline bool is_nonspacing(char32_t c) { return detail::category_within(c, UTF8PROC_CATEGORY_MN, UTF8PROC_CATEGORY_MN); }
inline bool is_number(char32_t c) { return detail::category_within(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }
/// Punctuation of Unicode, and all of ASCII's symbols.
inline bool is_punctuation(char32_t c) {
  if (c < 0x80) return (c > 32 && c < 48) || (c > 57 && c < 65) || (c > 90 && c < 97) || (c > 122 && c < 127);
  return detail::category_within(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO);
}
/// Control and format characters, those for private use, surrogates and what is not assigned.
inline bool is_other(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_CN ||
         detail::category_within(c, UTF8PROC_CATEGORY_CC, UTF8PROC_CATEGORY_CO);
}
/// What \w matches: letters, marks, decimal and letter numbers, circled letters, connectors, joiners.
inline bool is_word(char32_t c) {
  if (is_letter(c) || is_mark(c) || c == 0x200C || c == 0x200D) return true;
  if ((c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
      (c >= 0x1F170 && c <= 0x1F189))
    return true;
  return detail::category_within(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NL) ||
         detail::category_within(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PC);
}
/// Ideographs of the blocks that BERT sets apart.
constexpr bool is_bert_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}
/// The lower case of a character, which is another character in all cases but that of U+0130.
inline char32_t to_lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  return static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c)));
}

/// A character of a changed text. It stands for the next character of the old text (0), for that and n more (-n), or is new (1).
struct change {
  char32_t code;
  int by;
};

enum class normal_form { nfc, nfd, nfkc, nfkd };

namespace detail {

struct decomposed {
  char32_t code;
  int by;
  std::uint8_t order;  // the combining class
  std::size_t at;      // among all
};

inline std::uint8_t combining_class(char32_t c) {
  return static_cast<std::uint8_t>(utf8proc_get_property(static_cast<utf8proc_int32_t>(c))->combining_class);
}

// The character that two make, or 0.
inline char32_t composed(char32_t first, char32_t second) {
  if (second < 0x300) return 0;
  std::array<utf8proc_int32_t, 3> two{static_cast<utf8proc_int32_t>(first), static_cast<utf8proc_int32_t>(second), 0};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  return utf8proc_normalize_utf32(two.data(), 2, options) == 1 ? static_cast<char32_t>(two[0]) : 0;
}

inline std::vector<decomposed> decompose(std::string_view text, bool compatible) {
  std::vector<decomposed> all;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatible ? UTF8PROC_COMPAT : 0));
  for_each_code(text, [&](char32_t code, std::size_t) {
    std::array<utf8proc_int32_t, 32> parts;  // at most 18 are in use
    int bounds = 0;
    const auto count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(), parts.size(), options, &bounds);
    for (std::size_t i = 0; i < static_cast<std::size_t>(count > 0 ? count : 0); ++i) {
      const auto part = static_cast<char32_t>(parts[i]);
      all.push_back({part, i > 0, combining_class(part), all.size()});
    }
  });
  const auto starts = [](const decomposed& d) { return d.order == 0; };
  for (auto at = all.begin(); at != all.end();) {  // marks between two characters that are none are put in order
    at = std::find_if_not(at, all.end(), starts);
    const auto end = std::find_if(at, all.end(), starts);
    std::sort(at, end, [](const decomposed& a, const decomposed& b) {
      return a.order != b.order ? a.order < b.order : a.at < b.at;
    });
    at = end;
  }
  return all;
}

}  // namespace detail

/// Would a text surely keep its bytes in normal form C? This answers no for a few texts that would.
inline bool surely_composed(std::string_view text) {
  bool sure = true;
  for_each_code(text, [&](char32_t c, std::size_t) {
    if (c < 0x300 || !sure) return;
    const utf8proc_property_t* about = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
    const bool second = about->comb_index != UINT16_MAX && about->comb_index >= 0x8000;  // of a pair that is composed
    const bool jamo = c >= 0x1161 && c <= 0x11FF;
    sure = about->combining_class == 0 && about->decomp_seqindex == UINT16_MAX && !second && !jamo;
  });
  return sure;
}

/// A text in a normal form of Unicode.
/// source  UAX 15; the changes are those of the crate unicode-normalization-alignments
inline std::vector<change> normalized(std::string_view text, normal_form form) {
  const bool compatible = form == normal_form::nfkc || form == normal_form::nfkd;
  const bool compose = form == normal_form::nfc || form == normal_form::nfkc;
  std::vector<change> result;
  std::size_t starter = SIZE_MAX;  // in `result`: what the next mark may be composed with
  int last = -1;                   // the class of the character before, unless that was composed
  for (const detail::decomposed& d : detail::decompose(text, compatible)) {
    if (compose && starter != SIZE_MAX && last < static_cast<int>(d.order)) {
      if (const char32_t both = detail::composed(result[starter].code, d.code)) {
        result[starter] = {both, result[starter].by + d.by - 1};
        continue;
      }
    }
    if (d.order == 0) starter = result.size();
    last = d.order == 0 ? -1 : d.order;
    result.push_back({d.code, d.by});
  }
  return result;
}

}  // namespace tokamax::text
