// tokamax/serve/grammar/token_trie.hpp: the tokens of a vocabulary by their bytes.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// tested by tests/serve/grammar/grammar.cpp
#pragma once

#include <tokamax/text/tokenizer.hpp>  // tokenizer

#include <algorithm>  // sort, max

namespace tokamax::serve {

/// The bytes that each token adds to a text. Special tokens add none, and neither do ids without a token.
inline std::vector<std::string> token_bytes(const text::tokenizer& words) {
  // A decoder may take a space from the first token, so each one is decoded behind another.
  std::int32_t before = -1;
  for (std::int32_t id = 0; id < words.size() && before == -1; ++id)
    if (!words.is_special(id) && words.decode_bytes(std::vector<std::int32_t>{id}) == "a") before = id;
  std::vector<std::string> all(static_cast<std::size_t>(words.size()));
  for (std::int32_t id = 0; id < words.size(); ++id) {
    if (!words.token_of(id) || words.is_special(id)) continue;
    std::string& bytes = all[static_cast<std::size_t>(id)];
    if (before == -1)
      bytes = words.decode_bytes(std::vector<std::int32_t>{id});
    else if (const std::string both = words.decode_bytes(std::vector<std::int32_t>{before, id}); !both.empty())
      bytes = both.substr(1);
  }
  return all;
}

/// Is it a character of ASCII that stands for itself in a string of JSON? Most tokens have no others.
constexpr bool is_plain(std::uint8_t byte) { return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\'; }

/// A tree of bytes in the order of a walk from the root: behind a node stand those that begin with its bytes, up to `end`.
class token_trie {
 public:
  struct node {
    std::int32_t end;                 ///< the first node that does not begin with these bytes
    std::int32_t tokens, tokens_end;  ///< in `tokens`: those that end here
    std::int32_t all_end;             ///< and behind these, those that begin here
    std::int16_t plain_height;        ///< the most bytes from this one on, if all of them are plain; or else -1
    std::uint16_t depth;              ///< bytes
    std::uint8_t byte;
  };
  /// Tokens without bytes are in no node.
  explicit token_trie(const std::vector<std::string>& bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (!bytes[i].empty() && bytes[i].size() < longest) tokens_.push_back(static_cast<std::int32_t>(i));
    const auto of = [&](std::int32_t id) -> const std::string& { return bytes[static_cast<std::size_t>(id)]; };
    std::sort(tokens_.begin(), tokens_.end(),
              [&](std::int32_t a, std::int32_t b) { return of(a) != of(b) ? of(a) < of(b) : a < b; });
    std::vector<std::size_t> open;  // nodes from the root to the last one
    std::string last;
    const auto close = [&](std::size_t depth, std::size_t tokens) {
      for (; open.size() > depth; open.pop_back()) {
        nodes_[open.back()].end = static_cast<std::int32_t>(nodes_.size());
        nodes_[open.back()].all_end = static_cast<std::int32_t>(tokens);
      }
    };
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const std::string& text = of(tokens_[i]);
      const auto at = static_cast<std::int32_t>(i);
      std::size_t common = 0;
      while (common < last.size() && common < text.size() && last[common] == text[common]) ++common;
      close(common, i);
      for (std::size_t d = common; d < text.size(); ++d) {
        open.push_back(nodes_.size());
        nodes_.push_back({0, at, at, 0, -1, static_cast<std::uint16_t>(d + 1), static_cast<std::uint8_t>(text[d])});
      }
      nodes_[open.back()].tokens_end = at + 1;
      last = text;
    }
    close(0, tokens_.size());
    find_heights();
  }
  const std::vector<node>& nodes() const { return nodes_; }
  const std::vector<std::int32_t>& tokens() const { return tokens_; }
  static constexpr std::size_t longest = 1024;

 private:
  void find_heights() {
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      node& n = nodes_[i];
      int height = is_plain(n.byte) ? 1 : -1;
      for (auto child = static_cast<std::int32_t>(i) + 1; child < n.end && height > 0;) {
        const node& c = nodes_[static_cast<std::size_t>(child)];
        height = c.plain_height < 0 ? -1 : std::max(height, c.plain_height + 1);
        child = c.end;
      }
      n.plain_height = static_cast<std::int16_t>(height);
    }
  }
  std::vector<std::int32_t> tokens_;
  std::vector<node> nodes_;
};

}  // namespace tokamax::serve
