// tests/data/dataset.cpp: reading goes on exactly where a position says.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/dataset.hpp>
#include <tokamax/data/shuffle.hpp>
#include <tokamax/data/tokens.hpp>

#include <vector>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace data = tokamax::data;

TEST_CASE("a reader counts steps and epochs") {
  auto reader = data::tokens("abc").from();
  CHECK(reader.position() == data::position{0, 0});
  for (int i = 0; i < 7; ++i) {
    const auto [step, token] = reader.next();
    CHECK(step == i);
    CHECK(token == 'a' + i % 3);
  }
  CHECK(reader.position() == data::position{2, 1});
}

TEST_CASE("a reader is a range, and its position is behind what was read") {
  const auto letters = data::tokens("abcdef") | data::shuffle({.seed = 5});
  auto reader = letters.from({1, 4});
  std::vector<std::int64_t> steps;
  for (const auto& [step, token] : reader) {
    CHECK(token == letters[step]);
    CHECK(data::step_of(reader.position(), letters.size()) == step + 1);
    steps.push_back(step);
    if (steps.size() == 4) break;
  }
  CHECK(steps == std::vector<std::int64_t>{10, 11, 12, 13});
}

TEST_CASE("every position is restored") {
  const auto letters = data::tokens("abcdefgh") | data::shuffle({.seed = 5});
  std::vector<std::int32_t> whole;
  auto all = letters.from();
  for (int i = 0; i < 40; ++i) whole.push_back(all.next().value);
  auto reader = letters.from();
  for (std::size_t i = 0; i < 20; ++i) {
    auto restored = letters.from(reader.position());
    for (std::size_t k = i; k < 40; ++k) REQUIRE(restored.next().value == whole[k]);
    reader.next();
  }
}

TEST_CASE("positions outside an epoch are refused") {
  CHECK_THROWS_WITH(data::tokens("abc").from({0, 3}), contains("index 3") && contains("0 to 2"));
  CHECK_THROWS_AS(data::tokens("abc").from({-1, 0}), tokamax::error);
}

TEST_CASE("positions that cannot be counted are refused") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_WITH(data::tokens("abc").from({most, 0}), contains("epoch 9223372036854775807"));
  CHECK_THROWS_AS(data::step_of({most / 3, 2}, 3), tokamax::error);
  CHECK(data::step_of({most / 3 - 2, 2}, 3) == (most / 3 - 2) * 3 + 2);
  CHECK(data::step_of({0, most - 1}, most) == most - 1);
}
