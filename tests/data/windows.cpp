// tests/data/windows.cpp: all windows of a text, and random ones.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/tokens.hpp>
#include <tokamax/data/windows.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace data = tokamax::data;

namespace {
std::string read(const auto& window) {
  std::string result;
  for (std::int64_t i = 0; i < window.size(); ++i) result += static_cast<char>(window[i]);
  return result;
}
}  // namespace

TEST_CASE("windows start at every token") {
  const auto windows = data::tokens("abcde") | data::windows(3);
  REQUIRE(windows.size() == 3);
  CHECK(read(windows[0]) == "abc");
  CHECK(read(windows[2]) == "cde");
  CHECK(read(windows[3]) == "abc");  // the next epoch
  CHECK((data::tokens("abc") | data::windows(3)).size() == 1);
}

TEST_CASE("windows start at every stride") {
  const auto windows = data::tokens("abcdefgh") | data::windows(3, {.stride = 2});
  REQUIRE(windows.size() == 3);
  CHECK(read(windows[1]) == "cde");
  CHECK(read(windows[2]) == "efg");
}

TEST_CASE("random windows are uniform and depend on seed and index") {
  const auto windows = data::tokens("abcdefghijk") | data::random_windows(2, {.seed = 3});
  const auto others = data::tokens("abcdefghijk") | data::random_windows(2, {.seed = 4});
  REQUIRE(windows.size() == 10);
  constexpr int draws = 50000;
  std::vector<int> count(10);
  int same = 0;
  for (int i = 0; i < draws; ++i) {
    ++count[static_cast<std::size_t>(windows[i].start)];
    same += windows[i].start == others[i].start;
    if (i < 100) CHECK(windows[i].start == windows[i].start);
  }
  const double expected = draws / 10.0, bound = 5 * std::sqrt(expected);
  for (const int c : count) CHECK(std::abs(c - expected) < bound);
  CHECK(std::abs(same - expected) < bound);
}

TEST_CASE("a text shorter than a window is refused by name") {
  const data::tokens text("abcde", "short.txt");
  CHECK_THROWS_WITH(text | data::windows(6),
                    contains("5 tokens") && contains("6 or more") && contains("context of 5") && contains("short.txt"));
  CHECK_THROWS_WITH(text | data::random_windows(6), contains("short.txt"));
  CHECK_THROWS_WITH(text | data::windows(0), contains("0 and 1"));
}
