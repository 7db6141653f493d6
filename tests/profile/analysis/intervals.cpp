// tests/profile/analysis/intervals.cpp: unions, intersections and differences of times.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/analysis/intervals.hpp>

#include "support/catch.hpp"

namespace {
using namespace tokamax::profile;
using interval_list = std::vector<interval>;

struct union_row {
  interval_list all, expected;
};
struct pair_row {
  interval_list a, b, both, rest;
};
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
}  // namespace

TEST_CASE("intervals become disjoint and ascending") {
  const std::vector<union_row> rows = {
      {{}, {}},
      {{{1, 2}}, {{1, 2}}},
      {{{1, 1}}, {}},
      {{{5, 3}}, {}},
      {{{1, 3}, {5, 7}}, {{1, 3}, {5, 7}}},
      {{{5, 7}, {1, 3}}, {{1, 3}, {5, 7}}},
      {{{1, 4}, {3, 7}}, {{1, 7}}},
      {{{1, 9}, {3, 7}}, {{1, 9}}},
      {{{3, 7}, {1, 9}}, {{1, 9}}},
      {{{1, 3}, {3, 7}}, {{1, 7}}},
      {{{1, 3}, {1, 3}}, {{1, 3}}},
      {{{1, 3}, {1, 5}}, {{1, 5}}},
      {{{1, 5}, {3, 5}}, {{1, 5}}},
      {{{1, 3}, {2, 2}, {9, 4}}, {{1, 3}}},
      {{{1, 3}, {4, 6}, {2, 5}}, {{1, 6}}},
      {{{0, 10}, {1, 2}, {3, 4}, {12, 13}}, {{0, 10}, {12, 13}}},
      {{{-5, -1}, {-2, 3}}, {{-5, 3}}},
      // three streams of a device
      {{{0, 10}, {20, 30}, {5, 15}, {25, 35}, {40, 50}, {8, 12}}, {{0, 15}, {20, 35}, {40, 50}}},
      {{{0, most}, {5, 7}}, {{0, most}}},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    CHECK(union_of(rows[i].all) == rows[i].expected);
    CHECK(union_of(union_of(rows[i].all)) == rows[i].expected);
  }
  CHECK(length({}) == 0);
  CHECK(length({{0, 15}, {20, 35}, {40, 50}}) == 40);
}

TEST_CASE("two sets of times have a part in common, and the first a rest") {
  const std::vector<pair_row> rows = {
      {{}, {}, {}, {}},
      {{{1, 5}}, {}, {}, {{1, 5}}},
      {{}, {{1, 5}}, {}, {}},
      {{{1, 5}}, {{1, 5}}, {{1, 5}}, {}},
      {{{1, 5}}, {{5, 9}}, {}, {{1, 5}}},
      {{{5, 9}}, {{1, 5}}, {}, {{5, 9}}},
      {{{1, 5}}, {{3, 9}}, {{3, 5}}, {{1, 3}}},
      {{{3, 9}}, {{1, 5}}, {{3, 5}}, {{5, 9}}},
      {{{1, 9}}, {{3, 5}}, {{3, 5}}, {{1, 3}, {5, 9}}},
      {{{3, 5}}, {{1, 9}}, {{3, 5}}, {}},
      {{{1, 9}}, {{1, 3}, {5, 9}}, {{1, 3}, {5, 9}}, {{3, 5}}},
      {{{1, 3}, {5, 7}, {9, 11}}, {{2, 10}}, {{2, 3}, {5, 7}, {9, 10}}, {{1, 2}, {10, 11}}},
      {{{0, 100}}, {{10, 20}, {30, 40}, {90, 110}}, {{10, 20}, {30, 40}, {90, 100}}, {{0, 10}, {20, 30}, {40, 90}}},
      {{{1, 2}, {3, 4}}, {{2, 3}}, {}, {{1, 2}, {3, 4}}},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [a, b, both, rest] = rows[i];
    CAPTURE(i);
    CHECK(intersection(a, b) == both);
    CHECK(intersection(b, a) == both);
    CHECK(difference(a, b) == rest);
    CHECK(length(both) + length(rest) == length(a));
  }
}
