// tests/serve/llm/block_pool.cpp: blocks are held, given back and reused; contents outlive their holders.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/llm/block_pool.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax::serve;
using ids = std::vector<block_id>;

TEST_CASE("blocks are taken from the front, and those without contents come back to it") {
  block_pool p(4);
  CHECK(p.size() == 4);
  CHECK(p.free_blocks() == ids{0, 1, 2, 3});
  for (const block_id b : {0, 1, 2}) CHECK(p.take() == b);
  p.release(1);
  CHECK(p.free_blocks() == ids{1, 3});
  const std::int32_t tokens[] = {7, 8};
  p.name(0, 0, tokens);
  p.release(0);
  CHECK(p.free_blocks() == ids{1, 3, 0});
  CHECK(p.find(0, tokens)->block == 0);
  p.hold(0), p.hold(0);
  CHECK(p.holders(0) == 2);
  CHECK(p.free_blocks() == ids{1, 3});
  p.release(0), p.release(0);
  CHECK(p.free_blocks() == ids{1, 3, 0});
  for (const block_id b : {1, 3, 0}) CHECK(p.take() == b);
  CHECK_FALSE(p.find(0, tokens));
  CHECK_THROWS_WITH(p.take(), contains("block_pool: take: found no free block"));
}

TEST_CASE("a block that nobody holds cannot be given back") {
  block_pool p(2);
  CHECK_THROWS_WITH(p.release(0), contains("block_pool: release: found block 0, expected one that is held"));
  const block_id b = p.take();
  p.release(b);
  CHECK_THROWS_WITH(p.release(b), contains("found block 0"));
  CHECK_THROWS_WITH(p.release(2), contains("found block 2"));
  CHECK_THROWS_WITH(p.release(-1), contains("found block -1"));
  CHECK(p.free_count() == 2);
}

TEST_CASE("the same contents in two blocks have one chain, and are found as long as one of them is there") {
  block_pool p(3);
  const std::int32_t tokens[] = {1, 2}, next[] = {3, 4};
  const block_id a = p.take(), b = p.take();
  const chain_id chain = p.name(a, 0, tokens);
  CHECK(p.name(b, 0, tokens) == chain);
  const chain_id longer = p.name(p.take(), chain, next);
  CHECK(longer != chain);
  CHECK(p.find(chain, next)->chain == longer);
  CHECK_FALSE(p.find(0, next));
  p.release(a);
  CHECK(p.take() == a);
  CHECK(p.find(0, tokens)->block == b);
  p.release(b);
  CHECK(p.take() == b);
  CHECK_FALSE(p.find(0, tokens));
  CHECK(p.name(a, 0, tokens) != chain);  // numbers are not used twice
}

TEST_CASE("a pool without blocks") {
  block_pool p(0);
  CHECK(p.free_blocks().empty());
  CHECK_THROWS_WITH(p.take(), contains("no free block"));
}
