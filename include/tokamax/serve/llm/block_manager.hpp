// tokamax/serve/llm/block_manager.hpp: the blocks of texts that grow, and of texts that begin as others did.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
#pragma once

#include <tokamax/serve/llm/block_pool.hpp>  // block_pool

#include <iterator>  // ssize

namespace tokamax::serve {

/// The blocks of a text, in order.
struct block_table {
  std::vector<block_id> blocks = {};
  std::size_t named = 0;  ///< so many of the first ones can be found by others
  chain_id chain = 0;     ///< the text of these
};

/// Gives blocks to texts, and finds those that are there already.
/// source  vllm.v1.core.kv_cache_manager
class block_manager {
 public:
  using tokens = std::span<const std::int32_t>;

  block_manager(std::int64_t blocks, std::int64_t block_size, bool finds = true,
                reuse_order order = reuse_order::unknown_first)
      : pool_(blocks, order), size_(block_size), finds_(finds) {}

  const block_pool& pool() const { return pool_; }
  std::int64_t block_size() const { return size_; }
  /// The blocks that so many tokens take.
  std::int64_t blocks_of(std::int64_t count) const { return (count + size_ - 1) / size_; }

  /// The longest beginning of a text that is there, in whole blocks. Nobody holds them yet.
  std::vector<cached_block> find(tokens text, const std::string& salt = {}) const {
    std::vector<cached_block> found;
    if (!finds_) return found;
    const auto size = static_cast<std::size_t>(size_);
    for (std::size_t at = 0; at + size <= text.size(); at += size) {
      const auto next = pool_.find(found.empty() ? 0 : found.back().chain, text.subspan(at, size), salt);
      if (!next) break;
      found.push_back(*next);
    }
    return found;
  }
  /// Gives a text what it lacks of the blocks of `count` tokens. `found` are its first ones, if it has none yet. False: there is no
  /// room, and nothing has changed.
  bool grow(block_table& table, std::span<const cached_block> found, std::int64_t count) {
    std::int64_t wanted = blocks_of(count) - std::ssize(table.blocks) - std::ssize(found);
    for (const cached_block& c : found) wanted += pool_.holders(c.block) == 0;
    if (wanted > pool_.free_count()) return false;
    for (const cached_block& c : found) {
      pool_.hold(c.block);
      table.blocks.push_back(c.block);
      table.named = table.blocks.size(), table.chain = c.chain;
    }
    while (std::ssize(table.blocks) < blocks_of(count)) table.blocks.push_back(pool_.take());
    return true;
  }
  /// Lets others find the blocks that these tokens of the text fill.
  void name(block_table& table, tokens text, const std::string& salt = {}) {
    if (!finds_) return;
    const auto size = static_cast<std::size_t>(size_);
    for (; (table.named + 1) * size <= text.size(); ++table.named)
      table.chain = pool_.name(table.blocks[table.named], table.chain, text.subspan(table.named * size, size), salt);
  }
  /// Gives all blocks back, the last one first: of a text that is found again, the end is lost before the beginning.
  void release(block_table& table) {
    while (!table.blocks.empty()) {
      pool_.release(table.blocks.back());
      table.blocks.pop_back();
    }
    table = {};
  }
  /// Forgets what blocks contain. Texts that hold some go on, and are not found.
  void forget_contents() { pool_.forget_contents(); }

 private:
  block_pool pool_;
  std::int64_t size_;
  bool finds_;
};

}  // namespace tokamax::serve
