// tokamax/text/jinja/text_methods.hpp: what Python's methods of texts do, by code points.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/lexer.hpp>      // is_space
#include <tokamax/text/jinja/operators.hpp>  // limits

namespace tokamax::text::jinja {

/// Does a text have a character of the set? No set means spaces.
inline bool in_set(char32_t c, const std::string* set) {
  if (!set) return is_space(c);
  bool found = false;
  for_each_code(*set, [&](char32_t other, std::size_t) { found = found || other == c; });
  return found;
}
/// Without the characters of a set at its ends.
inline std::string_view stripped(std::string_view s, const std::string* set, bool left = true, bool right = true) {
  while (left && !s.empty()) {
    const utf8_step first = decode_utf8(s, 0);
    if (!in_set(first.code, set)) break;
    s.remove_prefix(first.length);
  }
  while (right && !s.empty()) {
    std::size_t at = s.size() - 1;
    while (at > 0 && continues_code_point(s[at])) --at;
    if (!in_set(decode_utf8(s, at).code, set)) break;
    s = s.substr(0, at);
  }
  return s;
}

/// The parts between separators, at most `most` + 1, counted from the right if `from_right`. No separator means runs of spaces.
inline std::vector<value> split(limits& run, std::string_view s, const std::string* separator, std::int64_t most,
                                bool from_right) {
  std::vector<std::string_view> parts;
  run.spend(s.size() / 4);
  if (separator && separator->empty()) run.refuse("split", "an empty separator", "a text", error_kind::argument);
  const auto may_cut = [&] { return most < 0 || static_cast<std::int64_t>(parts.size()) < most; };
  if (separator) {
    while (may_cut()) {
      const std::size_t at = from_right ? s.rfind(*separator) : s.find(*separator);
      if (at == std::string_view::npos) break;
      const std::string_view left = s.substr(0, at), right = s.substr(at + separator->size());
      parts.push_back(from_right ? right : left);
      s = from_right ? left : right;
    }
    parts.push_back(s);
  } else {
    s = stripped(s, nullptr, !from_right, from_right);
    while (!s.empty()) {
      std::size_t begin = 0, end = s.size();  // of the next word
      if (may_cut() && from_right) {
        for_each_code(s, [&](char32_t c, std::size_t at) {
          if (is_space(c)) begin = at + decode_utf8(s, at).length;
        });
      } else if (may_cut()) {
        for (end = 0; end < s.size() && !is_space(decode_utf8(s, end).code);) end += decode_utf8(s, end).length;
      } else {
        parts.push_back(s);
        break;
      }
      parts.push_back(s.substr(begin, end - begin));
      run.spend(from_right ? s.size() / 16 : 0);
      s = stripped(from_right ? s.substr(0, begin) : s.substr(end), nullptr, !from_right, from_right);
    }
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  run.spend(parts.size());
  return {parts.begin(), parts.end()};
}

/// Lines, with what ends them if `keep_ends`.
inline std::vector<std::string_view> lines_of(std::string_view s, bool keep_ends = false) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0, at = 0; begin < s.size();) {
    std::size_t end = s.size(), next = s.size();
    for (; at < s.size(); at += decode_utf8(s, at).length) {
      const char32_t c = decode_utf8(s, at).code;
      const bool ends = (c >= 10 && c <= 13) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
      if (!ends) continue;
      end = at;
      next = at + (s.substr(at, 2) == "\r\n" ? 2 : decode_utf8(s, at).length);
      break;
    }
    lines.push_back(s.substr(begin, (keep_ends ? next : end) - begin));
    begin = at = next;
  }
  return lines;
}

/// With the first `most` occurrences changed; all if that is negative.
inline std::string replaced(limits& run, const std::string& s, const std::string& from, const std::string& to,
                            std::int64_t most) {
  std::string result;
  run.spend(s.size() / 16);
  const auto put = [&](std::string_view part) {
    if (result.size() + part.size() > limits::most_bytes) run.spend_bytes(limits::most_bytes + 1);
    result += part;
  };
  std::size_t done = 0;
  for (std::size_t at = 0; most != 0 && at <= s.size(); --most) {
    at = s.find(from, at);
    if (at == std::string::npos) break;
    put(std::string_view(s).substr(done, at - done));
    put(to);
    done = at + from.size();
    at = from.empty() ? (at < s.size() ? at + decode_utf8(s, at).length : at + 1) : done;
  }
  put(std::string_view(s).substr(std::min(done, s.size())));
  return result;
}

enum class letter_case { lower, upper, title };

namespace detail {

using text::detail::category_within;

// Is it a letter that has another case, or is one?
inline bool has_case(char32_t c) {
  return category_within(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LT) || to_lower(c) != c ||
         utf8proc_toupper(static_cast<utf8proc_int32_t>(c)) != static_cast<utf8proc_int32_t>(c);
}
// One character in another case. Those that become several, such as ß, are what they are folded to.
inline void append_case(std::string& to, char32_t c, letter_case as) {
  const auto code = static_cast<utf8proc_int32_t>(c);
  if (as == letter_case::lower) {
    append_utf8(to, c == 0x130 ? U'i' : to_lower(c));
    if (c == 0x130) append_utf8(to, 0x307);
    return;
  }
  std::array<utf8proc_int32_t, 4> parts{};
  int unused = 0;
  const auto count = utf8proc_decompose_char(code, parts.data(), parts.size(), UTF8PROC_CASEFOLD, &unused);
  const bool single = utf8proc_category(code) == UTF8PROC_CATEGORY_LU || count <= 1;
  const auto simple = [&](utf8proc_int32_t p, bool title) {
    append_utf8(to, static_cast<char32_t>(title ? utf8proc_totitle(p) : utf8proc_toupper(p)));
  };
  if (single || (as == letter_case::title && utf8proc_totitle(code) != code && c != U'ß'))
    return simple(code, as == letter_case::title);
  if (as == letter_case::title && utf8proc_category(code) == UTF8PROC_CATEGORY_LT) return append_utf8(to, c);
  bool capital = true;  // the first letter of a title, and all of upper case
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const utf8proc_int32_t part = parts[static_cast<std::size_t>(i)];
    if (capital)
      simple(part, as == letter_case::title);
    else
      append_utf8(to, static_cast<char32_t>(part));
    capital = capital && (as == letter_case::upper || !has_case(static_cast<char32_t>(part)));
  }
}
// Is the sigma at a byte the last letter of a word?
inline bool ends_word(std::string_view s, std::size_t at) {
  const auto ignored = [](char32_t c) {
    return is_mark(c) || c == '\'' || c == 0xAD || c == '.' || c == ':' || c == 0xB7 || c == 0x2019 || c == 0x2018 ||
           c == '^' || c == '`' || category_within(c, UTF8PROC_CATEGORY_LM, UTF8PROC_CATEGORY_LM) ||
           category_within(c, UTF8PROC_CATEGORY_CF, UTF8PROC_CATEGORY_CF);
  };
  bool before = false;
  for (std::size_t i = at; i > 0 && !before;) {
    do --i;
    while (i > 0 && continues_code_point(s[i]));
    const char32_t c = decode_utf8(s, i).code;
    if (ignored(c)) continue;
    if (!has_case(c)) break;
    before = true;
  }
  for (std::size_t i = at + 2; before && i < s.size(); i += decode_utf8(s, i).length) {
    const char32_t c = decode_utf8(s, i).code;
    if (!ignored(c)) return !has_case(c);
  }
  return before;
}

}  // namespace detail

/// A text in another case. In titles, words are runs of letters; `once` makes a title of the first character only.
inline std::string in_case(limits& run, std::string_view s, letter_case as, bool once = false) {
  run.spend(s.size() / 4);
  std::string result;
  bool inside = false;  // a word
  for_each_code(s, [&](char32_t c, std::size_t at) {
    letter_case now = as;
    if (as == letter_case::title && inside) now = letter_case::lower;
    inside = once || detail::has_case(c);
    if (c == 0x3A3 && now == letter_case::lower)
      append_utf8(result, detail::ends_word(s, at) ? 0x3C2 : 0x3C3);
    else
      detail::append_case(result, c, now);
  });
  return result;
}

}  // namespace tokamax::text::jinja
