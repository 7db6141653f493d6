// tests/serve/llm/block_manager.cpp: blocks are given, found and reused in the order of vLLM's tests, number by number.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/llm/block_manager.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax::serve;

namespace {
using ids = std::vector<block_id>;
using tokens = std::vector<std::int32_t>;

/// `common` tokens that all texts share, and `own` ones of text `name`.
tokens text(int common, int own, int name) {
  tokens t;
  for (int i = 0; i < common; ++i) t.push_back(i / 16);
  for (int i = 0; i < own; ++i) t.push_back(1000 * name + i);
  return t;
}
/// Begins a text as a scheduler does: finds, grows and names.
std::size_t begin(block_manager& m, block_table& table, const tokens& t, const std::string& salt = {}) {
  const auto found = m.find(std::span(t).first(t.size() - 1), salt);
  REQUIRE(m.grow(table, found, std::ssize(t)));
  m.name(table, t, salt);
  return found.size();
}
}  // namespace

TEST_CASE("texts with a common beginning share its blocks; freed blocks are reused in vLLM's order") {
  block_manager m(11, 16);
  block_table null, a, b, c, d;
  REQUIRE(m.grow(null, {}, 1));  // vLLM keeps block 0
  CHECK(begin(m, a, text(48, 7, 1)) == 0);
  CHECK(a.blocks == ids{1, 2, 3, 4});
  CHECK(a.named == 3);
  CHECK(begin(m, b, text(48, 5, 2)) == 3);
  CHECK(b.blocks == ids{1, 2, 3, 5});
  for (const block_id i : {1, 2, 3}) CHECK(m.pool().holders(i) == 2);
  m.release(a), m.release(b);
  CHECK(m.pool().free_blocks() == ids{5, 4, 6, 7, 8, 9, 10, 3, 2, 1});
  CHECK(begin(m, c, text(48, 6, 3)) == 3);
  CHECK(c.blocks == ids{1, 2, 3, 5});
  m.release(c);
  CHECK(m.pool().free_blocks() == ids{5, 4, 6, 7, 8, 9, 10, 3, 2, 1});
  CHECK(begin(m, d, text(0, 160, 4)) == 0);
  CHECK(d.blocks == ids{5, 4, 6, 7, 8, 9, 10, 3, 2, 1});
  CHECK(m.find(text(48, 0, 0)).empty());  // its blocks were reused
}

TEST_CASE("the walk through vLLM's prefix cache") {
  block_manager m(10, 4, true, reuse_order::oldest_first);
  tokens first;
  for (int i = 0; i < 15; ++i) first.push_back(i);
  block_table a, b, c;
  begin(m, a, first);
  CHECK(a.blocks == ids{0, 1, 2, 3});
  CHECK(a.named == 3);
  first.push_back(15), first.push_back(16);
  REQUIRE(m.grow(a, {}, std::ssize(first)));
  m.name(a, first);
  CHECK(a.blocks == ids{0, 1, 2, 3, 4});
  CHECK(a.named == 4);
  tokens second(first.begin(), first.begin() + 10);
  for (int i = 0; i < 4; ++i) second.push_back(100 + i);
  CHECK(begin(m, b, second) == 2);
  CHECK(b.blocks == ids{0, 1, 5, 6});
  m.release(a);
  CHECK(m.pool().free_blocks() == ids{7, 8, 9, 4, 3, 2});
  m.release(b);
  CHECK(m.pool().free_blocks() == ids{7, 8, 9, 4, 3, 2, 6, 5, 1, 0});
  tokens third(first.begin(), first.begin() + 12);
  for (int i = 0; i < 17; ++i) third.push_back(200 + i);
  CHECK(begin(m, c, third) == 3);
  CHECK(c.blocks == ids{0, 1, 2, 7, 8, 9, 4, 3});
}

TEST_CASE("only whole blocks are found, behind the same tokens and with the same salt") {
  block_manager m(20, 4);
  block_table a, b;
  begin(m, a, {1, 2, 3, 4, 5, 6, 7, 8, 9}, "mine");
  struct row {
    tokens t;
    std::string salt;
    std::size_t found;
  };
  for (const row& r :
       {row{{1, 2, 3, 4, 5, 6, 7, 8}, "mine", 2}, row{{1, 2, 3, 4, 5, 6, 7}, "mine", 1}, row{{1, 2, 3}, "mine", 0},
        row{{}, "mine", 0}, row{{1, 2, 3, 4, 5, 6, 7, 8}, "other", 0}, row{{1, 2, 3, 4, 5, 6, 7, 8}, "", 0},
        row{{5, 6, 7, 8}, "mine", 0}, row{{1, 2, 3, 4, 5, 6, 8, 7}, "mine", 1},
        row{{1, 2, 4, 3, 5, 6, 7, 8}, "mine", 0}, row{{1, 2, 3, 4, 1, 2, 3, 4}, "mine", 1}}) {
    CAPTURE(r.t, r.salt);
    CHECK(m.find(r.t, r.salt).size() == r.found);
  }
  block_manager none(20, 4, false);
  begin(none, b, {1, 2, 3, 4, 5});
  CHECK(none.find(tokens{1, 2, 3, 4}).empty());
}

TEST_CASE("without room nothing changes") {
  block_manager m(4, 4);
  block_table a, b;
  begin(m, a, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK_FALSE(m.grow(b, {}, 5));
  CHECK(b.blocks.empty());
  CHECK(m.pool().free_count() == 1);
  CHECK(m.grow(a, {}, 16));
  CHECK_FALSE(m.grow(a, {}, 17));
  m.release(a);
  // what is found and free takes room, too: two found blocks and three more are five
  const auto found = m.find(tokens{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(found.size() == 2);
  CHECK_FALSE(m.grow(b, found, 17));
  CHECK(m.pool().free_count() == 4);
  CHECK(m.grow(b, found, 16));
  CHECK(m.pool().free_count() == 0);
  m.release(b);
  m.release(b);  // has none
  CHECK(m.pool().free_count() == 4);
}

TEST_CASE("contents that are forgotten are not found, and texts that hold them go on") {
  block_manager m(4, 2);
  block_table a, b;
  begin(m, a, {1, 2, 3, 4, 5});
  m.forget_contents();
  CHECK(m.find(tokens{1, 2, 3, 4}).empty());
  m.name(a, tokens{1, 2, 3, 4, 5, 6});
  CHECK(m.find(tokens{1, 2, 3, 4, 5, 6}).empty());  // its beginning is not there
  m.release(a);
  CHECK(m.pool().free_count() == 4);
  CHECK(begin(m, b, {1, 2, 3, 4, 5}) == 0);
  CHECK(m.find(tokens{1, 2, 3, 4}).size() == 2);
}
