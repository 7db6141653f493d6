// tests/data/shuffle.cpp: an order is a permutation, and another one in each epoch.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/shuffle.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace data = tokamax::data;

namespace {
struct numbers : data::dataset<numbers> {
  std::int64_t count;
  explicit numbers(std::int64_t n) : count(n) {}
  std::int64_t size() const { return count; }
  std::int64_t operator[](std::int64_t index) const { return index % count; }
};
constexpr bool is_permutation(std::int64_t size, std::uint64_t seed) {
  std::vector<char> seen(static_cast<std::size_t>(size));
  const data::permutation order(size, seed);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t to = order(i);
    if (to < 0 || to >= size || seen[static_cast<std::size_t>(to)]++) return false;
  }
  return true;
}
std::vector<std::int64_t> epoch(const auto& source, std::int64_t number) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < source.size(); ++i) result.push_back(source[number * source.size() + i]);
  return result;
}
}  // namespace

TEST_CASE("every size is permuted") {
  for (const std::int64_t size : {1, 2, 3, 5, 16, 100, 255, 256, 257, 1000, 4096, 46205})
    for (const std::uint64_t seed : {0u, 1u, 52u}) CHECK(is_permutation(size, seed));
}

TEST_CASE("large sizes need no memory") {
  const std::int64_t size = 1234567891234;
  const data::permutation order(size, 27);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 10000; ++i) values.push_back(order(i));
  std::sort(values.begin(), values.end());
  CHECK(std::adjacent_find(values.begin(), values.end()) == values.end());
  CHECK(values.front() >= 0);
  CHECK(values.back() < size);
  CHECK(values.back() > size / 2);
}

TEST_CASE("each element reaches each place equally often") {
  constexpr int seeds = 20000;
  int count[5][5] = {};
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const data::permutation order(5, data::counter_hash(9, seed));
    for (int i = 0; i < 5; ++i) ++count[i][order(i)];
  }
  for (const auto& row : count)
    for (const int c : row) CHECK(std::abs(c - seeds / 5) < 5 * std::sqrt(seeds / 5.0));
}

TEST_CASE("epochs differ, seeds differ, nothing is lost") {
  const auto shuffled = numbers(50) | data::shuffle({.seed = 1});
  const auto other = numbers(50) | data::shuffle({.seed = 2});
  const auto first = epoch(shuffled, 0), second = epoch(shuffled, 1);
  CHECK(first == epoch(shuffled, 0));
  CHECK(first != second);
  CHECK(first != epoch(other, 0));
  CHECK(std::is_permutation(first.begin(), first.end(), second.begin()));
  CHECK_FALSE(std::is_sorted(first.begin(), first.end()));
}
