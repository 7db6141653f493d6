// tokamax/text/post_processor.hpp: the steps that frame encoded texts by special tokens, read from a tokenizer's file.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/encoding.hpp>    // encoding
#include <tokamax/text/normalizer.hpp>  // json_field, is_whitespace

namespace tokamax::text {

/// Changes the encodings of one text or two. The flag says whether special tokens are put in.
using post_step = std::function<void(std::vector<encoding>&, bool)>;

namespace detail {

// Takes the spaces at both ends of tokens out of their offsets.
inline void trim_offsets(encoding& e, bool prefixed) {
  const auto is_space = [](char32_t c) { return c == byte_character(' ') || is_whitespace(c); };
  for (std::size_t i = 0; i < e.size(); ++i) {
    std::int64_t leading = 0, trailing = 0;
    bool begun = false;
    for_each_code(e.tokens[i], [&](char32_t c, std::size_t) {
      const bool space = is_space(c);
      begun = begun || !space;
      leading += !begun;
      trailing = space ? trailing + 1 : 0;
    });
    character_range& range = e.offsets[i];
    if (leading > 0) {
      if (prefixed && leading == 1 && (i == 0 || range.begin == 0)) leading = 0;  // it was put before the text
      range.begin = std::min(range.begin + leading, range.end);
    }
    if (trailing > 0 && range.end >= trailing) range.end = std::max(range.end - trailing, range.begin);
  }
}

// A token that frames texts, or several in its place.
struct frame {
  std::vector<std::int32_t> ids;
  std::vector<std::string> tokens;
};
inline frame frame_of(const json_field& pair) {  // ["[CLS]", 101]
  const std::vector<json_field> two = pair.elements();
  if (two.size() != 2) pair.refuse("a token and its id");
  return {{static_cast<std::int32_t>(two[1].natural(largest_token_id))}, {two[0].text()}};
}
inline void append(encoding& to, const frame& f, std::int32_t type_id) {
  for (std::size_t i = 0; i < f.ids.size(); ++i) to.append_frame(f.ids[i], f.tokens[i], type_id);
}

// <cls> first <sep> and <sep> second <sep>, where the <sep> before the second text is there if `doubled`.
inline post_step framed_by(frame sep, frame cls, bool doubled, bool typed) {
  return [=](std::vector<encoding>& all, bool special) {
    if (!special) return;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::int32_t type = typed && i > 0;
      encoding framed;
      if (i == 0) append(framed, cls, 0);
      if (i > 0 && doubled) append(framed, sep, type);
      framed.append(all[i]);
      append(framed, sep, type);
      all[i] = std::move(framed);
    }
  };
}

struct template_piece {
  int sequence;  // 0 or 1, or -1 for a special token
  frame special;
  std::int32_t type_id;
};
inline std::vector<template_piece> template_of(const json_field& about, const json_field& special) {
  std::vector<template_piece> result;
  for (const json_field& one : about.elements()) {
    const json_field sequence = one["Sequence"], token = one["SpecialToken"];
    const json_field& piece = sequence.absent() ? token : sequence;
    if (piece.absent()) one.refuse("Sequence or SpecialToken");
    template_piece p{-1, {}, static_cast<std::int32_t>(piece["type_id"].natural(1u << 30))};
    const std::string id = piece["id"].text();
    if (!sequence.absent()) {
      if (id != "A" && id != "B") piece["id"].refuse("A or B");
      p.sequence = id == "B";
    } else {
      const json_field known = special[id.c_str()];
      if (known.absent()) piece["id"].refuse("one of special_tokens");
      for (const json_field& i : known["ids"].elements())
        p.special.ids.push_back(static_cast<std::int32_t>(i.natural(largest_token_id)));
      for (const json_field& t : known["tokens"].elements()) p.special.tokens.push_back(t.text());
      if (p.special.ids.size() != p.special.tokens.size()) known.refuse("as many ids as tokens");
    }
    result.push_back(std::move(p));
  }
  return result;
}
inline post_step by_template(const json_field& about) {
  return [single = template_of(about["single"], about["special_tokens"]),
          pair = template_of(about["pair"], about["special_tokens"])](std::vector<encoding>& all, bool special) {
    std::vector<encoding> result;
    for (const template_piece& p : all.size() > 1 ? pair : single) {
      encoding e;
      if (p.sequence < 0) {
        if (special) append(e, p.special, p.type_id);
      } else if (static_cast<std::size_t>(p.sequence) < all.size()) {
        e = all[static_cast<std::size_t>(p.sequence)];
        std::fill(e.type_ids.begin(), e.type_ids.end(), p.type_id);
      } else {
        throw error(error_kind::file, "tokenizer: post_processor.single", "the sequence B", "A alone");
      }
      result.push_back(std::move(e));
    }
    all = std::move(result);
  };
}

}  // namespace detail

/// Appends the steps of a post-processor.
/// errors  tokamax::error of the kind `file` that names a type which is not known
inline void add_post_processor(const json_field& about, std::vector<post_step>& to) {
  if (about.absent()) return;
  const std::string type = about["type"].text();
  const auto trim = [&](bool prefixed) {
    to.push_back([prefixed](std::vector<encoding>& all, bool) {
      for (encoding& e : all) detail::trim_offsets(e, prefixed);
    });
  };
  if (type == "Sequence") {
    for (const json_field& one : about["processors"].elements()) add_post_processor(one, to);
  } else if (type == "ByteLevel") {
    if (about["trim_offsets"].flag(true)) trim(about["add_prefix_space"].flag(true));
  } else if (type == "TemplateProcessing") {
    to.push_back(detail::by_template(about));
  } else if (type == "BertProcessing") {
    to.push_back(detail::framed_by(detail::frame_of(about["sep"]), detail::frame_of(about["cls"]), false, true));
  } else if (type == "RobertaProcessing") {
    if (about["trim_offsets"].flag(true)) trim(about["add_prefix_space"].flag(true));
    to.push_back([](std::vector<encoding>& all, bool) {  // RoBERTa does not tell the texts of a pair apart
      for (encoding& e : all) std::fill(e.type_ids.begin(), e.type_ids.end(), 0);
    });
    to.push_back(detail::framed_by(detail::frame_of(about["sep"]), detail::frame_of(about["cls"]), true, false));
  } else {
    about["type"].refuse("Sequence, ByteLevel, TemplateProcessing, BertProcessing or RobertaProcessing");
  }
}

}  // namespace tokamax::text
