// tests/core/graph.cpp: the table of nodes, each there once.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/graph.hpp>
#include <tokamax/core/op.hpp>

#include "support/catch.hpp"

using namespace tokamax;

namespace {
constexpr op first_p{.name = "first"}, second_p{.name = "second"};
constexpr array_type t{f32, false, {2}};

constexpr bool shares() {
  graph g;
  const int x = g.input(t), y = g.input(t);
  const std::int64_t w[] = {1, 2}, v[] = {1, 3};
  auto add = [&](const op& o, int in, const std::int64_t* words, int n, sharing shared = sharing::same_order) {
    return g.find_or_add(&o, shared, &in, 1, words, n, t, {});
  };
  const int a = add(first_p, x, w, 2);
  return add(first_p, x, w, 2) == a && add(first_p, y, w, 2) != a && add(second_p, x, w, 2) != a &&
         add(first_p, x, v, 2) != a && add(first_p, x, w, 1) != a && add(first_p, x, w, 2, sharing::none) != a &&
         add(first_p, x, w, 2) == a;
}
static_assert(shares());

constexpr bool shares_in_either_order() {
  graph g;
  const int x[] = {g.input(t), g.input(t)}, y[] = {x[1], x[0]};
  auto add = [&](sharing shared, const int* in) { return g.find_or_add(&first_p, shared, in, 2, nullptr, 0, t, {}); };
  const int a = add(sharing::either_order, y);
  return add(sharing::either_order, x) == a && g.operand(g[a], 0) == x[1] && add(sharing::same_order, x) != a;
}
static_assert(shares_in_either_order());
}  // namespace

TEST_CASE("inputs stay apart; nodes without operands differ by type") {
  graph g;
  CHECK(g.input(t) != g.input(t));
  const std::int64_t w = 5;
  auto constant = [&](const array_type& type) {
    return g.find_or_add(&first_p, sharing::same_order, nullptr, 0, &w, 1, type, {});
  };
  CHECK(constant(t) == constant(t));
  CHECK(constant(t) != constant({f32, false, {3}}));
  CHECK(constant(t) != constant({i32, false, {2}}));
  CHECK(constant(t) != constant({f32, true, {2}}));
}

TEST_CASE("sharing survives many nodes of one operand, and copies") {
  graph g;
  const int x = g.input(t);
  std::vector<int> ids;
  auto add = [&](graph& to, std::int64_t k) {
    return to.find_or_add(&first_p, sharing::same_order, &x, 1, &k, 1, t, {});
  };
  for (int k = 0; k < 5000; ++k) ids.push_back(add(g, k));
  graph copy(g);
  for (int k = 0; k < 5000; ++k) {
    REQUIRE(add(g, k) == ids[static_cast<std::size_t>(k)]);
    REQUIRE(add(copy, k) == ids[static_cast<std::size_t>(k)]);
  }
  CHECK(g.count() == 5001);
}
