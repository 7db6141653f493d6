// tokamax/text/added_tokens.hpp: tokens that are found in a text before it is cut, such as those of chats.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/text/model.hpp>       // token_table
#include <tokamax/text/normalizer.hpp>  // piece, normalized_text, is_whitespace

#include <bitset>  // bitset

namespace tokamax::text {

/// A token of the list "added_tokens".
struct added_token {
  std::string content;
  std::uint32_t id;
  bool special, single_word, lstrip, rstrip, normalized;
};

/// Finds added tokens: at the leftmost place the longest.
/// source  AddedVocabulary of `tokenizers`
class added_token_finder {
 public:
  added_token_finder() = default;
  /// `contents` has a text for each token, which need not be its content.
  added_token_finder(std::vector<added_token> tokens, const std::vector<std::string>& contents)
      : tokens_(std::move(tokens)) {
    std::size_t bytes = 0;
    for (const std::string& c : contents) bytes += c.size();
    tree_ = prefix_tree(bytes);
    for (std::size_t i = 0; i < contents.size(); ++i) {
      if (contents[i].empty()) continue;
      tree_.insert(contents[i], static_cast<std::int32_t>(i));
      first_.set(static_cast<unsigned char>(contents[i][0]));
    }
  }
  void split(normalized_text& text) const {
    if (first_.none()) return;
    text.split([&](std::string_view piece, auto take) {
      std::size_t done = 0;
      for (std::size_t at = 0; at < piece.size();) {
        std::size_t size = 0;
        std::int32_t number = -1;
        if (first_[static_cast<unsigned char>(piece[at])])
          tree_.prefixes(piece.substr(at), [&](std::size_t s, std::int32_t n) { size = s, number = n; });
        if (number < 0) {
          ++at;
          continue;
        }
        const added_token& token = tokens_[static_cast<std::size_t>(number)];
        std::size_t begin = at, end = at + size;
        at = end;
        if (token.single_word && !stands_alone(piece, begin, end)) continue;
        if (token.lstrip) begin = std::max(spaces_before(piece, begin), done);
        if (token.rstrip) end = spaces_behind(piece, end);
        if (done < begin) take(done, begin);
        take(begin, end, static_cast<std::int32_t>(token.id));
        done = end;
      }
      take(done, piece.size());
    });
  }

 private:
  static char32_t code_before(std::string_view text, std::size_t at, std::size_t& begin) {
    begin = at - 1;
    while (continues_code_point(text[begin])) --begin;
    return decode_utf8(text, begin).code;
  }
  static bool stands_alone(std::string_view text, std::size_t begin, std::size_t end) {
    std::size_t unused = 0;
    const bool before = begin == 0 || !is_word(code_before(text, begin, unused));
    return before && (end == text.size() || !is_word(decode_utf8(text, end).code));
  }
  static std::size_t spaces_before(std::string_view text, std::size_t at) {
    for (std::size_t begin = at; at > 0; at = begin)
      if (!is_whitespace(code_before(text, at, begin))) break;
    return at;
  }
  static std::size_t spaces_behind(std::string_view text, std::size_t at) {
    while (at < text.size()) {
      const utf8_step step = decode_utf8(text, at);
      if (!is_whitespace(step.code)) break;
      at += step.length;
    }
    return at;
  }

  std::vector<added_token> tokens_;
  prefix_tree tree_;
  std::bitset<256> first_;  // bytes with which a token begins
};

/// The added tokens of a file, special ones first. The id of a token that the vocabulary does not have is the next one, or
/// any other that is free if `any_ids`.
/// errors  tokamax::error of the kind `file` if an id is another one
inline std::vector<added_token> added_tokens_of(const json_field& about, const token_table& vocabulary, bool any_ids) {
  std::vector<added_token> result, others;
  if (about.absent()) return result;
  const std::vector<json_field> elements = about.elements();
  token_table seen(elements.size());
  auto next = static_cast<std::uint32_t>(vocabulary.count());
  for (const json_field& one : elements) {
    const bool special = one["special"].flag(false);
    added_token token{one["content"].text(),           one["id"].natural(largest_token_id), special,
                      one["single_word"].flag(false),  one["lstrip"].flag(false),           one["rstrip"].flag(false),
                      one["normalized"].flag(!special)};
    if (token.content.empty()) one["content"].refuse("a text");
    const std::int32_t known = vocabulary.find(token.content);
    const bool free = any_ids && known < 0 && !vocabulary.has(token.id);
    const std::uint32_t id = known >= 0 ? static_cast<std::uint32_t>(known) : free ? token.id : next;
    if (token.id != id)
      one["id"].refuse(std::to_string(id) + (known >= 0 ? ", as in the vocabulary" : ", the next one"));
    next = std::max(next, id + 1);
    if (!seen.insert(token.content, id)) one["content"].refuse("distinct tokens");
    (special ? result : others).push_back(std::move(token));
  }
  result.insert(result.end(), others.begin(), others.end());
  return result;
}

}  // namespace tokamax::text
