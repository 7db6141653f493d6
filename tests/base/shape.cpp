// tests/base/shape.cpp
#include <tokamax/base/shape.hpp>

#include "support/catch.hpp"

using namespace tokamax;

static_assert(shape{2, 3}.rank() == 2 && shape{2, 3}[-1] == 3 && shape{}.rank() == 0);
static_assert(shape{2, 3} == shape{2, 3} && !(shape{2, 3} == shape{2}) && !(shape{2, 3} == shape{3, 2}));
static_assert(size(shape{2, 3, 4}) == 24 && size(shape{}) == 1 && size(shape{5, 0}) == 0);
static_assert(shape{2, 3}.contains(3) && !shape{2, 3}.contains(4));
static_assert(iota_axes(3) == axes{0, 1, 2} && other_axes(4, {1, 3}) == axes{0, 2});

// Extents may be dynamic.
static_assert(size(shape{dyn(), 4}) == dyn(0, 4));
static_assert(is_dynamic({2, dyn()}) && !is_dynamic({2, 3}));

static_assert(row_major({2, 3, 4}) == shape{12, 4, 1} && row_major({2, dyn(), 4}) == shape{dyn(0, 4), 4, 1});

static_assert(size({0, 1LL << 62, 8}) == 0);

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
