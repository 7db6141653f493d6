// tokamax/text/pre_tokenizer.hpp: the steps that cut a text into words, read from a tokenizer's file.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/normalizer.hpp>  // text_steps

namespace tokamax::text {

/// What becomes of the parts of a text that match a pattern.
enum class delimiter { isolated, removed, contiguous, merged_with_previous, merged_with_next };

namespace detail {

inline delimiter delimiter_of(const json_field& about) {
  const std::string name = about.absent() ? "Isolated" : about.text();
  const std::array<const char*, 5> names{"Isolated", "Removed", "Contiguous", "MergedWithPrevious", "MergedWithNext"};
  for (std::size_t i = 0; i < names.size(); ++i)
    if (name == names[i]) return static_cast<delimiter>(i);
  about.refuse("Isolated, Removed, Contiguous, MergedWithPrevious or MergedWithNext");
}

struct part {
  std::size_t begin, end;
  bool matched;
};

// Cuts each piece; cut(text, f) calls f(begin, end, matched) for its parts in order.
template <class Cut>
void split_pieces(normalized_text& text, delimiter what, Cut cut) {
  std::vector<part> parts;
  text.split([&](std::string_view piece, auto take) {
    if (what == delimiter::isolated || what == delimiter::removed) {
      cut(piece, [&](std::size_t begin, std::size_t end, bool matched) {
        if (!matched || what == delimiter::isolated) take(begin, end);
      });
      return;
    }
    parts.clear();
    cut(piece, [&](std::size_t begin, std::size_t end, bool matched) { parts.push_back({begin, end, matched}); });
    if (what == delimiter::merged_with_next) {
      bool next = false;  // does the part behind match, or join one that does not?
      for (std::size_t i = parts.size(); i-- > 0;) {
        const bool joins = parts[i].matched && !next && i + 1 < parts.size();
        next = parts[i].matched;
        if (joins) parts[i + 1].begin = parts[i].begin, parts[i].end = parts[i].begin;
      }
    } else {
      bool previous = false;
      std::size_t open = 0;  // the part that others are joined to
      for (std::size_t i = 0; i < parts.size(); ++i) {
        const bool joins =
            i > 0 && (what == delimiter::contiguous ? parts[i].matched == previous : parts[i].matched && !previous);
        previous = parts[i].matched;
        if (joins)
          parts[open].end = parts[i].end, parts[i].begin = parts[i].end;
        else
          open = i;
      }
    }
    for (const part& p : parts) take(p.begin, p.end);
  });
}
template <class F>
void split_characters(normalized_text& text, delimiter what, F is_delimiter) {
  split_pieces(text, what, [&](std::string_view piece, auto f) {
    std::size_t begin = 0;
    const auto before = [&](std::size_t at) {
      if (at > begin) f(begin, at, false);
    };
    for_each_code(piece, [&](char32_t c, std::size_t at) {
      if (!is_delimiter(c)) return;
      before(at);
      begin = at + decode_utf8(piece, at).length;
      f(at, begin, true);
    });
    before(piece.size());
  });
}
inline void split_by(normalized_text& text, delimiter what, const pattern& by, bool invert) {
  split_pieces(text, what, [&](std::string_view piece, auto f) {
    by.cut(piece, [&](std::size_t begin, std::size_t end, bool matched) { f(begin, end, matched != invert); });
  });
}
// Runs of word characters, and runs of others that are no spaces.
inline void split_words(normalized_text& text) {
  split_pieces(text, delimiter::removed, [](std::string_view piece, auto f) {
    const auto class_of = [](char32_t c) { return is_whitespace(c) ? 0 : is_word(c) ? 1 : 2; };
    std::size_t begin = 0;
    int run = 0;
    for_each_code(piece, [&](char32_t c, std::size_t at) {
      const int now = class_of(c);
      if (now == run) return;
      if (run != 0) f(begin, at, false);
      begin = at;
      run = now;
    });
    if (run != 0) f(begin, piece.size(), false);
  });
}

enum class prepend_scheme { never, first, always };

inline prepend_scheme prepend_scheme_of(const json_field& about) {
  const json_field scheme = about["prepend_scheme"];
  if (scheme.absent()) return about["add_prefix_space"].flag(true) ? prepend_scheme::always : prepend_scheme::never;
  const std::string name = scheme.text();
  if (name == "always") return prepend_scheme::always;
  if (name == "first") return prepend_scheme::first;
  if (name == "never") return prepend_scheme::never;
  scheme.refuse("always, first or never");
}
inline std::string one_character(const json_field& about) {
  const std::string text = about.text();
  if (text.empty() || decode_utf8(text, 0).length != text.size()) about.refuse("one character");
  return text;
}

// The mark stands for spaces, and at the beginning for one that is not there.
inline void mark_spaces(normalized_text& text, const std::string& mark, prepend_scheme scheme) {
  text.rewrite([&](std::string_view old, normalized_text::writer& to) {
    const bool marked = old.starts_with(mark) || old.starts_with(' ');
    const bool wanted = scheme == prepend_scheme::always || (scheme == prepend_scheme::first && to.origin() == 0);
    if (wanted && !marked && !old.empty()) to.insert(mark, decode_utf8(old, 0).length);
    std::size_t done = 0;
    for (std::size_t at = 0; (at = old.find(' ', at)) != std::string_view::npos; done = ++at) {
      to.keep(done, at);
      to.insert(mark, at + 1);
    }
    to.keep(done, old.size());
  });
}

inline constexpr const char* gpt2_expression =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace detail

/// Steps, and whether they still lack a last one that puts characters in the place of bytes.
struct pre_tokenizer {
  text_steps steps;
  bool ends_in_bytes = false;
};

namespace detail {

inline void add_byte_level(const json_field& about, pre_tokenizer& to) {
  if (about["add_prefix_space"].flag(true))
    to.steps.push_back([](normalized_text& t) {
      bool all = true;
      for (const piece& p : t.pieces()) all = all && (p.token >= 0 || t.text(p).starts_with(' '));
      if (all) return;
      t.rewrite([](std::string_view old, normalized_text::writer& put) {
        if (!old.starts_with(' ')) put.insert(" ", decode_utf8(old, 0).length);
        put.keep(0, old.size());
      });
    });
  if (about["use_regex"].flag(true))
    to.steps.push_back([by = std::make_shared<const pattern>(gpt2_expression, about.where())](normalized_text& t) {
      split_by(t, delimiter::isolated, *by, false);
    });
  to.ends_in_bytes = true;
}

}  // namespace detail

/// Appends the steps of a pre-tokenizer.
/// errors  tokamax::error of the kind `file` that names a type which is not known
inline void add_pre_tokenizer(const json_field& about, pre_tokenizer& to) {
  if (about.absent()) return;
  const std::string type = about["type"].text();
  if (type == "Sequence") {
    for (const json_field& one : about["pretokenizers"].elements()) add_pre_tokenizer(one, to);
    return;
  }
  if (to.ends_in_bytes) {
    to.steps.push_back(detail::characters_of_bytes);
    to.ends_in_bytes = false;
  }
  const auto split = [&](delimiter what, auto is_delimiter) {
    to.steps.push_back([=](normalized_text& t) { detail::split_characters(t, what, is_delimiter); });
  };
  if (type == "ByteLevel") {
    detail::add_byte_level(about, to);
  } else if (type == "Split") {
    to.steps.push_back(
        [by = pattern_of(about["pattern"]), what = detail::delimiter_of(about["behavior"]),
         invert = about["invert"].flag(false)](normalized_text& t) { detail::split_by(t, what, *by, invert); });
  } else if (type == "Digits") {
    split(about["individual_digits"].flag(false) ? delimiter::isolated : delimiter::contiguous, is_number);
  } else if (type == "Whitespace") {
    to.steps.push_back(detail::split_words);
  } else if (type == "WhitespaceSplit") {
    split(delimiter::removed, is_whitespace);
  } else if (type == "Punctuation") {
    split(detail::delimiter_of(about["behavior"]), is_punctuation);
  } else if (type == "BertPreTokenizer") {
    split(delimiter::removed, is_whitespace);
    split(delimiter::isolated, is_punctuation);
  } else if (type == "CharDelimiterSplit") {
    split(delimiter::removed,
          [c = decode_utf8(detail::one_character(about["delimiter"]), 0).code](char32_t other) { return other == c; });
  } else if (type == "Metaspace") {
    const std::string mark = detail::one_character(about["replacement"]);
    to.steps.push_back([mark, scheme = detail::prepend_scheme_of(about)](normalized_text& t) {
      detail::mark_spaces(t, mark, scheme);
    });
    if (about["split"].flag(true))
      split(delimiter::merged_with_next, [c = decode_utf8(mark, 0).code](char32_t other) { return other == c; });
  } else {
    about["type"].refuse(
        "Sequence, ByteLevel, Split, Digits, Whitespace, WhitespaceSplit, Punctuation, BertPreTokenizer, "
        "CharDelimiterSplit or Metaspace");
  }
}

}  // namespace tokamax::text
