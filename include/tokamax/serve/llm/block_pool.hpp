// tokamax/serve/llm/block_pool.hpp: the blocks of a cache: who holds them, what they contain, and which is reused next.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <cstdint>        // int32_t
#include <optional>       // optional
#include <span>           // span
#include <string>         // string
#include <unordered_map>  // unordered_map
#include <utility>        // exchange
#include <vector>         // vector

namespace tokamax::serve {

using block_id = std::int32_t;
/// A text of whole blocks. Each has a number, which no other ever gets; 0 is the text without tokens.
using chain_id = std::uint64_t;

/// A block that contains the last tokens of a chain.
struct cached_block {
  block_id block = 0;
  chain_id chain = 0;
};

/// Which of the free blocks are reused first: those without known contents and then the others by the time of their last use, or all by
/// that time.
enum class reuse_order : std::uint8_t { unknown_first, oldest_first };

/// Blocks by number. A block is held by any number of texts, or it is free; what a free block contains can be found until it is reused.
///
/// Contents are found by the chain before them and their tokens, which are compared as they are: no two texts are ever taken for the
/// same, as those of one hash would be.
///
/// source  vllm.v1.core.block_pool
class block_pool {
 public:
  explicit block_pool(std::int64_t blocks, reuse_order order = reuse_order::unknown_first)
      : order_(order), blocks_(static_cast<std::size_t>(blocks) + 1) {
    for (std::size_t i = 0; i < blocks_.size();
         ++i) {  // a ring: the last entry is between its last and its first block
      blocks_[i].before = static_cast<block_id>(i == 0 ? blocks : static_cast<std::int64_t>(i) - 1);
      blocks_[i].behind = static_cast<block_id>(i + 1 == blocks_.size() ? 0 : i + 1);
    }
    free_ = blocks;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(blocks_.size()) - 1; }
  std::int64_t free_count() const { return free_; }
  std::int64_t holders(block_id b) const { return at(b).holders; }
  /// The free blocks in the order in which they are reused.
  std::vector<block_id> free_blocks() const {
    std::vector<block_id> all;
    for (block_id b = blocks_.back().behind; b != ring(); b = at(b).behind) all.push_back(b);
    return all;
  }

  /// The block that contains these tokens behind the chain `before`. The salt counts where there is nothing before.
  std::optional<cached_block> find(chain_id before, std::span<const std::int32_t> tokens,
                                   const std::string& salt = {}) const {
    const auto found = contents_.find(key_of(before, tokens, salt));
    if (found == contents_.end()) return std::nullopt;
    return cached_block{found->second.blocks.front(), found->second.chain};
  }
  /// States what a block that is held contains. Others may contain the same.
  chain_id name(block_id b, chain_id before, std::span<const std::int32_t> tokens, const std::string& salt = {}) {
    const auto [it, fresh] = contents_.try_emplace(key_of(before, tokens, salt));
    if (fresh) it->second.chain = ++last_chain_;
    it->second.blocks.push_back(b);
    blocks_[static_cast<std::size_t>(b)].content = &*it;
    return it->second.chain;
  }
  /// Holds a block that was found.
  void hold(block_id b) {
    if (blocks_[static_cast<std::size_t>(b)].holders++ == 0) unlink(b);
  }
  /// Holds the free block that is reused next, whose contents are forgotten.
  /// errors  "block_pool: take" of the kind `resource` if none is free
  block_id take() {
    if (free_ == 0) throw error(error_kind::resource, "block_pool: take", "no free block", "one");
    const block_id b = blocks_.back().behind;
    hold(b);
    forget(b);
    return b;
  }
  /// Gives a block back.
  /// errors  "block_pool: release" of the kind `internal` if nobody holds it
  void release(block_id b) {
    if (b < 0 || b >= size() || at(b).holders == 0)
      throw error(error_kind::internal, "block_pool: release", "block " + std::to_string(b), "one that is held");
    if (--blocks_[static_cast<std::size_t>(b)].holders > 0) return;
    link(b, order_ == reuse_order::unknown_first && !at(b).content ? blocks_.back().behind : ring());
  }
  /// Forgets what all blocks contain.
  void forget_contents() {
    for (block_id b = 0; b < size(); ++b) forget(b);
  }

 private:
  struct key {
    chain_id before;
    std::vector<std::int32_t> tokens;
    std::string salt;
    bool operator==(const key&) const = default;
  };
  struct key_hash {
    std::size_t operator()(const key& k) const {
      std::uint64_t h = k.before + std::hash<std::string>()(k.salt);
      for (const std::int32_t t : k.tokens) {
        h = (h ^ static_cast<std::uint32_t>(t)) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
      }
      return static_cast<std::size_t>(h);
    }
  };
  struct content {
    chain_id chain = 0;
    std::vector<block_id> blocks;
  };
  using contents = std::unordered_map<key, content, key_hash>;
  struct block {
    block_id before = 0, behind = 0;  // in the ring of free blocks
    std::int64_t holders = 0;
    contents::value_type* content = nullptr;  // its address stays as long as it is there
  };

  static key key_of(chain_id before, std::span<const std::int32_t> tokens, const std::string& salt) {
    return {before, {tokens.begin(), tokens.end()}, before == 0 ? salt : std::string()};
  }
  const block& at(block_id b) const { return blocks_[static_cast<std::size_t>(b)]; }
  block_id ring() const { return static_cast<block_id>(size()); }
  void unlink(block_id b) {
    blocks_[static_cast<std::size_t>(at(b).before)].behind = at(b).behind;
    blocks_[static_cast<std::size_t>(at(b).behind)].before = at(b).before;
    --free_;
  }
  void link(block_id b, block_id behind) {  // in front of `behind`
    const block_id before = at(behind).before;
    blocks_[static_cast<std::size_t>(b)].before = before, blocks_[static_cast<std::size_t>(b)].behind = behind;
    blocks_[static_cast<std::size_t>(before)].behind = blocks_[static_cast<std::size_t>(behind)].before = b;
    ++free_;
  }
  void forget(block_id b) {
    contents::value_type* const c = std::exchange(blocks_[static_cast<std::size_t>(b)].content, nullptr);
    if (!c) return;
    std::erase(c->second.blocks, b);
    if (c->second.blocks.empty()) contents_.erase(contents_.find(c->first));
  }

  reuse_order order_;
  std::vector<block> blocks_;  // and one that closes the ring
  std::int64_t free_ = 0;
  contents contents_;
  chain_id last_chain_ = 0;
};

}  // namespace tokamax::serve
