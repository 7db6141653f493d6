// tokamax/text/encoding.hpp: what a tokenizer makes of a text.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/text/tokenizer.cpp
#pragma once

#include <tokamax/base/error.hpp>  // string

#include <cstdint>  // int32_t
#include <vector>   // vector

namespace tokamax::text {

/// Characters of a text (code points, as Python counts), from `begin` to before `end`.
struct character_range {
  std::int64_t begin = 0, end = 0;
  friend bool operator==(const character_range&, const character_range&) = default;
};

/// Tokens, an element of each list for each.
struct encoding {
  std::vector<std::int32_t> ids;
  std::vector<std::string> tokens;       ///< texts in the vocabulary, or the text itself where that is unknown
  std::vector<character_range> offsets;  ///< in the text (of a pair, in its own one); {0, 0} for tokens that frame it
  std::vector<std::int32_t> type_ids;    ///< 0, or 1 in the second text of a pair
  std::vector<std::int32_t> attention_mask;       ///< 1, or 0 for padding
  std::vector<std::int32_t> special_tokens_mask;  ///< 1 for tokens that frame texts, and padding
  std::vector<std::int32_t> words;                ///< which word of its text; -1 for tokens that frame texts

  std::size_t size() const { return ids.size(); }
  void append(const encoding& other) {
    const auto put = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    put(ids, other.ids), put(tokens, other.tokens), put(offsets, other.offsets), put(type_ids, other.type_ids);
    put(attention_mask, other.attention_mask), put(special_tokens_mask, other.special_tokens_mask);
    put(words, other.words);
  }
  /// Keeps `count` tokens from `begin` on.
  void keep(std::size_t begin, std::size_t count) {
    const auto cut = [&](auto& list) {
      list.erase(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(begin));
      list.resize(count);
    };
    cut(ids), cut(tokens), cut(offsets), cut(type_ids), cut(attention_mask), cut(special_tokens_mask), cut(words);
  }
  /// Appends a token that stands for nothing in a text.
  void append_frame(std::int32_t id, const std::string& token, std::int32_t type_id, bool attended = true) {
    ids.push_back(id), tokens.push_back(token), offsets.push_back({}), type_ids.push_back(type_id);
    attention_mask.push_back(attended), special_tokens_mask.push_back(1), words.push_back(-1);
  }
};

}  // namespace tokamax::text
