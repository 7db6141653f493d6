// tokamax/text/normalizer.hpp: the steps that change a text before it is cut, read from a tokenizer's file.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/byte_level.hpp>       // byte_character
#include <tokamax/text/normalized_text.hpp>  // normalized_text
#include <tokamax/text/pattern.hpp>          // pattern
#include <tokamax/text/precompiled.hpp>      // precompiled_map
#include <tokamax/text/tokenizer_json.hpp>   // json_field

#include <functional>  // function

namespace tokamax::text {

/// Something that is done to all pieces of a text.
using text_step = std::function<void(normalized_text&)>;
using text_steps = std::vector<text_step>;

/// A pattern as {"String": "a text"} or {"Regex": "an expression"}.
inline std::shared_ptr<const pattern> pattern_of(const json_field& about) {
  if (!about["String"].absent())
    return std::make_shared<const pattern>(pattern::literal(about["String"].text(), about.where()));
  return std::make_shared<const pattern>(about["Regex"].text(), about.where());
}

namespace detail {

inline constexpr char32_t left_out = 0xFFFFFFFF;

// Puts f(character) in the place of each character, unless that is left_out.
template <class F>
void map_characters(normalized_text& text, F f) {
  bool same = true;
  for (const piece& p : text.pieces())
    if (p.token < 0) for_each_code(text.text(p), [&](char32_t c, std::size_t) { same = same && f(c) == c; });
  if (same) return;
  text.rewrite([&](std::string_view old, normalized_text::writer& to) {
    for_each_code(old, [&](char32_t c, std::size_t at) {
      if (const char32_t other = f(c); other != left_out) to.put(other, at);
    });
  });
}
inline void to_form(normalized_text& text, normal_form form) {
  bool same = true;
  for (const piece& p : text.pieces())
    same = same && (p.token >= 0 || (form == normal_form::nfc
                                         ? surely_composed(text.text(p))
                                         : std::none_of(text.text(p).begin(), text.text(p).end(),
                                                        [](char c) { return static_cast<unsigned char>(c) >= 0x80; })));
  if (same) return;
  text.rewrite([&](std::string_view old, normalized_text::writer& to) { to.put(normalized(old, form)); });
}
inline void lowercase(normalized_text& text) {
  constexpr char32_t dotted_i = 0x130;  // it becomes two characters
  bool dotted = false;
  for (const piece& p : text.pieces()) dotted = dotted || text.text(p).find("\xC4\xB0") != std::string_view::npos;
  if (!dotted) return map_characters(text, to_lower);
  text.rewrite([&](std::string_view old, normalized_text::writer& to) {
    for_each_code(old, [&](char32_t c, std::size_t at) {
      to.put(c == dotted_i ? U'i' : to_lower(c), at);
      if (c == dotted_i) to.put(0x307, at);
    });
  });
}
inline void prepend(normalized_text& text, const std::string& what) {
  text.rewrite([&](std::string_view old, normalized_text::writer& to) {
    if (old.empty()) return;
    to.insert(what, decode_utf8(old, 0).length);  // it comes from the first character
    to.keep(0, old.size());
  });
}
inline void replace(normalized_text& text, const pattern& from, const std::string& with) {
  bool found = false;
  for (const piece& p : text.pieces())
    if (p.token < 0) from.cut(text.text(p), [&](std::size_t, std::size_t, bool matched) { found = found || matched; });
  if (!found) return;
  text.rewrite([&](std::string_view old, normalized_text::writer& to) {
    from.cut(old, [&](std::size_t begin, std::size_t end, bool matched) {
      if (matched)
        to.insert(with, end);
      else
        to.keep(begin, end);
    });
  });
}
inline void strip(normalized_text& text, bool left, bool right) {
  text.rewrite([&](std::string_view old, normalized_text::writer& to) {
    std::size_t begin = old.size(), end = 0;  // of what is no space
    for_each_code(old, [&](char32_t c, std::size_t at) {
      if (is_whitespace(c)) return;
      begin = std::min(begin, at);
      end = at + decode_utf8(old, at).length;
    });
    if (begin >= end) return left || right ? void() : to.keep(0, old.size());
    begin = left ? begin : 0;
    to.keep(begin, right ? end : old.size());
  });
}
// Each byte as a character.
inline void characters_of_bytes(normalized_text& text) {
  text.rewrite([](std::string_view old, normalized_text::writer& to) {
    for (std::size_t at = 0; at < old.size(); ++at) to.put(byte_character(static_cast<unsigned char>(old[at])), at);
  });
}
inline void set_ideographs_apart(normalized_text& text) {
  bool any = false;
  for (const piece& p : text.pieces())
    if (p.token < 0) for_each_code(text.text(p), [&](char32_t c, std::size_t) { any = any || is_bert_ideograph(c); });
  if (!any) return;
  text.rewrite([](std::string_view old, normalized_text::writer& to) {
    for_each_code(old, [&](char32_t c, std::size_t at) {
      const bool apart = is_bert_ideograph(c);
      if (apart) to.put(' ', at);
      to.put(c, at);
      if (apart) to.put(' ', at);
    });
  });
}
inline void bert_normalize(normalized_text& text, bool clean, bool ideographs, bool accents, bool lower) {
  if (clean)
    map_characters(text, [](char32_t c) -> char32_t {
      if (c == '\t' || c == '\n' || c == '\r') return ' ';
      if (c == replacement_character || is_other(c)) return left_out;
      return is_whitespace(c) ? ' ' : c;
    });
  if (ideographs) set_ideographs_apart(text);
  if (accents) {
    to_form(text, normal_form::nfd);
    map_characters(text, [](char32_t c) { return is_nonspacing(c) ? left_out : c; });
  }
  if (lower) lowercase(text);
}

}  // namespace detail

/// Appends the steps of a normalizer.
/// errors  tokamax::error of the kind `file` that names a type which is not known
inline void add_normalizer(const json_field& about, text_steps& to) {
  if (about.absent()) return;
  const std::string type = about["type"].text();
  const auto form = [&](normal_form f) { to.push_back([f](normalized_text& t) { detail::to_form(t, f); }); };
  if (type == "Sequence") {
    for (const json_field& one : about["normalizers"].elements()) add_normalizer(one, to);
  } else if (type == "NFC") {
    form(normal_form::nfc);
  } else if (type == "NFD") {
    form(normal_form::nfd);
  } else if (type == "NFKC") {
    form(normal_form::nfkc);
  } else if (type == "NFKD") {
    form(normal_form::nfkd);
  } else if (type == "Lowercase") {
    to.push_back(detail::lowercase);
  } else if (type == "StripAccents") {
    to.push_back([](normalized_text& t) {
      detail::map_characters(t, [](char32_t c) { return is_mark(c) ? detail::left_out : c; });
    });
  } else if (type == "ByteLevel") {
    to.push_back(detail::characters_of_bytes);
  } else if (type == "Prepend") {
    to.push_back([what = about["prepend"].text()](normalized_text& t) { detail::prepend(t, what); });
  } else if (type == "Strip") {
    to.push_back([left = about["strip_left"].flag(true), right = about["strip_right"].flag(true)](normalized_text& t) {
      detail::strip(t, left, right);
    });
  } else if (type == "Replace") {
    to.push_back([from = pattern_of(about["pattern"]), with = about["content"].text()](normalized_text& t) {
      detail::replace(t, *from, with);
    });
  } else if (type == "BertNormalizer") {
    const bool lower = about["lowercase"].flag(true);
    to.push_back([clean = about["clean_text"].flag(true), ideographs = about["handle_chinese_chars"].flag(true),
                  accents = about["strip_accents"].flag(lower),
                  lower](normalized_text& t) { detail::bert_normalize(t, clean, ideographs, accents, lower); });
  } else if (type == "Precompiled") {
    const auto bytes = from_base64(about["precompiled_charsmap"].text());
    if (!bytes) about["precompiled_charsmap"].refuse("a text in base 64");
    to.push_back([map = std::make_shared<const precompiled_map>(*bytes, about.where())](normalized_text& t) {
      t.rewrite([&](std::string_view old, normalized_text::writer& put) { put.put(map->normalized(old)); });
    });
  } else {
    about["type"].refuse(
        "Sequence, NFC, NFD, NFKC, NFKD, Lowercase, StripAccents, ByteLevel, Prepend, Strip, Replace or "
        "BertNormalizer");
  }
}

}  // namespace tokamax::text
