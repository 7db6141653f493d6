// tests/text/token_table.cpp: tokens by texts and ids, and texts as beginnings of others.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/text/token_table.hpp>

#include "support/catch.hpp"

namespace text = tokamax::text;

TEST_CASE("Tokens are found by their texts and by their ids") {
  constexpr std::uint32_t count = 20000;
  text::token_table table(count);
  const auto name = [](std::uint32_t i) { return std::string(i % 13, 'x') + std::to_string(i); };
  for (std::uint32_t i = 0; i < count; ++i) REQUIRE(table.insert(name(i), 3 * i));
  CHECK(!table.insert(name(7), 1));
  CHECK(!table.insert("new", 3 * 7));
  CHECK(table.count() == count);
  CHECK(table.ids() == 3 * count - 2);
  for (std::uint32_t i = 0; i < count; ++i) {
    REQUIRE(table.find(name(i)) == static_cast<std::int32_t>(3 * i));
    REQUIRE(table.text(3 * i) == name(i));
    REQUIRE(!table.has(3 * i + 1));
  }
  CHECK(table.find("new") == -1);
  CHECK(table.find("") == -1);
  text::token_table empty;
  CHECK(empty.find("a") == -1);
  CHECK(!empty.has(0));
  CHECK(empty.insert("", 0));
  CHECK(empty.find("") == 0);
}

TEST_CASE("A key table finds the keys that were put in") {
  text::key_table<int> table(1000);
  for (std::uint64_t i = 0; i < 1000; ++i) table[i << 40 | i] = static_cast<int>(i);
  for (std::uint64_t i = 0; i < 1000; ++i) REQUIRE(*table.find(i << 40 | i) == static_cast<int>(i));
  CHECK(!table.find(5));
  CHECK(!text::key_table<int>().find(0));
}

TEST_CASE("A prefix tree finds all texts with which another begins") {
  text::prefix_tree tree(20);
  tree.insert("a", 0), tree.insert("abc", 1), tree.insert("abd", 2), tree.insert("b", 3), tree.insert("a", 4);
  std::vector<std::pair<std::size_t, std::int32_t>> found;
  const auto put = [&](std::size_t size, std::int32_t number) { found.emplace_back(size, number); };
  tree.prefixes("abcd", put);
  CHECK(found == std::vector<std::pair<std::size_t, std::int32_t>>{{1, 0}, {3, 1}});
  found.clear();
  tree.prefixes("", put), tree.prefixes("ca", put), text::prefix_tree().prefixes("a", put);
  CHECK(found.empty());
}
