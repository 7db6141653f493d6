// tests/base/shape.cpp
#include <tokamax/base/shape.hpp>

#include "support/catch.hpp"

using namespace tokamax;

static_assert(shape{2, 3}.rank() == 2 && shape{2, 3}[-1] == 3 && shape{}.rank() == 0);
static_assert(shape{2, 3} == shape{2, 3} && !(shape{2, 3} == shape{2}) && !(shape{2, 3} == shape{3, 2}));
static_assert(size(shape{2, 3, 4}) == 24 && size(shape{}) == 1 && size(shape{5, 0}) == 0);
static_assert(shape{2, 3}.contains(3) && !shape{2, 3}.contains(4));
static_assert(iota_axes(3) == axes{0, 1, 2} && other_axes(4, {1, 3}) == axes{0, 2});

// Dynamic extents are a factor times a symbol.
static_assert(is_dyn(dyn()) && !is_dyn(0) && !is_dyn(7));
constexpr std::int64_t symbols[8] = {5, 7, 1, 1, 1, 1, 1, 1};
static_assert(resolve(dyn(), symbols) == 5 && resolve(dyn(1, 3), symbols) == 21 && resolve(9, symbols) == 9);
static_assert(mul_extent(dyn(1), 3) == dyn(1, 3) && mul_extent(3, dyn(1, 2)) == dyn(1, 6) && mul_extent(3, 4) == 12);
constexpr std::int64_t product = mul_extent(dyn(0, 2), mul_extent(dyn(1, 3), dyn(0)));
static_assert(resolve(product, symbols) == 2 * 5 * 3 * 7 * 5 && symbol_of(product) == -1 && is_extent(product));
static_assert(div_extent(product, dyn(0, 6)) == mul_extent(dyn(0), dyn(1)) && div_extent(product, dyn(1, 6)) < 0);
static_assert(div_extent(dyn(1, 6), dyn(1, 2)) == 3 && !is_extent(div_extent(dyn(1, 6), 4)) && div_extent(7, 2) == 3);
static_assert(add_extent(dyn(), dyn(0, 2)) == dyn(0, 3) && add_extent(0, dyn(1)) == dyn(1) && add_extent(2, 3) == 5);
static_assert(!is_extent(add_extent(dyn(), 1)) && !is_extent(add_extent(dyn(), dyn(1))));
static_assert(at_most(dyn(), dyn()) && at_most(2, 2) && !at_most(dyn(), 2) && !at_most(2, dyn()));
static_assert(!is_extent(mul_extent(product, mul_extent(product, product))),
              "nor can products of more than three symbols");
// What arithmetic makes of dynamic extents is none.
static_assert([] {
  const std::int64_t n = dyn(), m = dyn(1, 4);
  for (std::int64_t k = 1; k < 1000; ++k)
    if (is_extent(n + k) || is_extent(n - k) || is_extent(m - 1024 * k) || is_extent(n / (k + 1))) return false;
  return !is_extent(n + n) && !is_extent(n + m) && !is_extent(n * 2) && !is_extent(m - n - 1);
}());
static_assert(size(shape{dyn(), 4}) == dyn(0, 4));
static_assert(symbol_of(dyn(3, 5)) == 3 && factor_of(dyn(3, 5)) == 5);
static_assert(is_dynamic({2, dyn()}) && !is_dynamic({2, 3}));

static_assert(row_major({2, 3, 4}) == shape{12, 4, 1} && row_major({2, dyn(), 4}) == shape{dyn(0, 4), 4, 1});

// Numbers that no extent is told apart from dynamic ones, products too large stand for themselves.
static_assert(is_extent(0) && is_extent(dyn(7, 3)) && !is_extent(-1) && !is_extent(-9) && !is_extent(dyn() + 1));
static_assert(mul_extent(std::int64_t{1} << 40, std::int64_t{1} << 40) == too_large && size({0, 1LL << 62, 8}) == 0);
static_assert(mul_extent(dyn(), std::int64_t{1} << 40) == too_large && mul_extent(1LL << 62, 1) == 1LL << 62);

// A list that is too long keeps one number too many, for the trace that meets it.
static_assert([] {
  shape s = iota_axes(16);
  s.push_back(16);
  s.push_back(17);
  return s.rank() == 17 && shape{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}.rank() == 17;
}());

TEST_CASE("no list is written past its end") {
  shape s = iota_axes(16);
  CHECK(s.rank() == max_rank);
  CHECK_THROWS_WITH(s.push_back(16), "rank: found more than 16 axes, expected at most 16");
  CHECK(s == iota_axes(16));
  CHECK_THROWS_WITH((shape{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
                    "rank: found more than 16 axes, expected at most 16");
  CHECK(s[-16] == 0);
  CHECK_THROWS_WITH(s[16], "axis: found 16, expected an axis of rank 16");
  CHECK_THROWS_WITH(s[-17], "axis: found -17, expected an axis of rank 16");
}

TEST_CASE("extents can be listed and walked") {
  shape s{1};
  s.push_back(8);
  std::int64_t sum = 0;
  for (const std::int64_t e : s) sum += e;
  CHECK(sum == 9);
}
