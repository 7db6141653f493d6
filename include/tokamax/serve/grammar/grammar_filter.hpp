// tokamax/serve/grammar/grammar_filter.hpp: holds the tokens of an answer to a grammar.
// SPDX-License-Identifier: Apache-2.0
// needs <pcre2.h>
// tested by tests/serve/grammar/grammar.cpp
#pragma once

#include <tokamax/serve/grammar/byte_states.hpp>  // byte_states
#include <tokamax/serve/grammar/token_trie.hpp>   // token_trie
#include <tokamax/serve/llm/request.hpp>          // token_filter

#include <mutex>  // mutex

namespace tokamax::serve {

/// What grammars need to know of a tokenizer.
struct vocabulary {
  vocabulary(std::vector<std::string> bytes_, std::vector<std::int32_t> end_tokens_)
      : bytes(std::move(bytes_)), end_tokens(std::move(end_tokens_)), trie(bytes) {}
  std::vector<std::string> bytes;        ///< of each token; none of those that texts do not have
  std::vector<std::int32_t> end_tokens;  ///< each of which ends an answer
  token_trie trie;
};

/// The tokens that may follow in each state of a grammar. Any thread may use it; what it has found serves all requests.
class token_masks {
 public:
  using mask = std::vector<std::uint64_t>;
  token_masks(byte_program p, std::shared_ptr<const vocabulary> v) : states_(std::move(p)), vocabulary_(std::move(v)) {}

  std::int32_t start() const { return states_.start(); }
  /// Bit id % 64 of word id / 64 is set for each token that may follow.
  std::shared_ptr<const mask> allowed(std::int32_t s) {
    const std::lock_guard lock(mutex_);
    if (const auto known = masks_.find(s); known != masks_.end()) return known->second;
    if (masks_.size() >= most_masks) masks_.clear();
    return masks_[s] = std::make_shared<const mask>(find(s));
  }
  /// The state behind a token that is no end token.
  std::int32_t next(std::int32_t s, std::int32_t token) {
    const std::lock_guard lock(mutex_);
    if (token < 0 || token >= std::ssize(vocabulary_->bytes)) return byte_states::dead;
    const std::string& bytes = vocabulary_->bytes[static_cast<std::size_t>(token)];
    if (bytes.empty()) return byte_states::dead;
    for (std::size_t i = 0; i < bytes.size() && s != byte_states::dead; ++i)
      s = states_.next(s, static_cast<std::uint8_t>(bytes[i]));
    return s;
  }
  /// May an answer end in a state? May it go on?
  bool accepts(std::int32_t s) const {
    const std::lock_guard lock(mutex_);
    return states_.accepts(s);
  }
  bool goes_on(std::int32_t s) const {
    const std::lock_guard lock(mutex_);
    return states_.goes_on(s);
  }
  /// Is it a token that ends an answer?
  bool ends_by(std::int32_t token) const {
    const auto& ends = vocabulary_->end_tokens;
    return std::find(ends.begin(), ends.end(), token) != ends.end();
  }
  /// Has it so many states that the next request had better begin anew?
  bool is_large() const {
    const std::lock_guard lock(mutex_);
    return states_.size() > byte_states::most_states / 2;
  }

 private:
  static constexpr std::size_t most_masks = 2048;

  // Walks the tokens' bytes and the states side by side.
  mask find(std::int32_t s) {
    mask bits((vocabulary_->bytes.size() + 63) / 64);
    const auto set = [&](std::int32_t id) {
      if (const auto i = static_cast<std::size_t>(id); i / 64 < bits.size()) bits[i / 64] |= std::uint64_t{1} << i % 64;
    };
    const auto& nodes = vocabulary_->trie.nodes();
    const auto& tokens = vocabulary_->trie.tokens();
    const auto set_all = [&](std::int32_t begin, std::int32_t end) {
      for (std::int32_t t = begin; t < end; ++t) set(tokens[static_cast<std::size_t>(t)]);
    };
    std::vector<std::int32_t> at(token_trie::longest + 1);  // the state behind so many bytes
    at[0] = s;
    for (std::size_t i = 0; i < nodes.size();) {
      const token_trie::node& n = nodes[i];
      const std::int32_t from = at[n.depth - 1u];
      if (n.plain_height > 0 && states_.takes_plain(from, n.plain_height)) {  // within a string whole branches follow
        set_all(n.tokens, n.all_end);
        i = static_cast<std::size_t>(n.end);
        continue;
      }
      const std::int32_t to = states_.next(from, n.byte);
      if (to == byte_states::dead) {
        i = static_cast<std::size_t>(n.end);
        continue;
      }
      at[n.depth] = to;
      set_all(n.tokens, n.tokens_end);
      ++i;
    }
    if (states_.accepts(s))
      for (const std::int32_t id : vocabulary_->end_tokens) set(id);
    return bits;
  }

  mutable std::mutex mutex_;
  byte_states states_;
  std::shared_ptr<const vocabulary> vocabulary_;
  std::unordered_map<std::int32_t, std::shared_ptr<const mask>> masks_;
};

/// Where one answer stands in a grammar.
class grammar_filter : public token_filter {
 public:
  explicit grammar_filter(std::shared_ptr<token_masks> m) : masks_(std::move(m)), state_(masks_->start()) {}
  void allowed(std::span<std::uint64_t> bits) override {
    std::fill(bits.begin(), bits.end(), 0);
    if (ended_ || state_ == byte_states::dead) return;
    const auto mask = masks_->allowed(state_);
    std::copy_n(mask->begin(), std::min(mask->size(), bits.size()), bits.begin());
  }
  bool accept(std::int32_t token) override {
    if (ended_ || state_ == byte_states::dead) return false;
    if (masks_->ends_by(token)) return ended_ = masks_->accepts(state_);
    const std::int32_t to = masks_->next(state_, token);
    if (to == byte_states::dead) return false;
    state_ = to;
    return true;
  }
  bool finished() const override { return ended_ || state_ == byte_states::dead || !masks_->goes_on(state_); }
  std::shared_ptr<token_filter> clone() const override { return std::make_shared<grammar_filter>(*this); }

 private:
  std::shared_ptr<token_masks> masks_;
  std::int32_t state_;
  bool ended_ = false;
};

}  // namespace tokamax::serve
