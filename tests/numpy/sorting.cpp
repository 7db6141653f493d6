// tests/numpy/sorting.cpp: orders, places and sets are those of jax.numpy.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;

sized how_many(options o) { return {o.integer("size", sized::counted), o.number("fill_value")}; }
unique_options of_set(options o) {
  unique_options u{o.integer("size", sized::counted), {}};
  if (o.has("fill_value")) u.fill_value = array(o.number("fill_value"));
  return u;
}
search_side side(options o) { return o.text("side") == "right" ? search_side::right : search_side::left; }

void add_orders(case_functions& table) {
  table["sort"] = [](const arrays& x, options o) -> arrays { return sort(x[0], o.axis(-1)); };
  table["argsort"] = [](const arrays& x, options o) -> arrays { return argsort(x[0], o.axis(-1)); };
  table["lexsort"] = [](const arrays& x, options o) -> arrays { return lexsort(x, o.axis(-1)); };
  table["searchsorted"] = [](const arrays& x, options o) -> arrays { return searchsorted(x[0], x[1], side(o)); };
  table["digitize"] = [](const arrays& x, options o) -> arrays { return digitize(x[0], x[1], o.flag("right")); };
  table["nonzero"] = [](const arrays& x, options o) { return nonzero(x[0], how_many(o)); };
  table["argwhere"] = [](const arrays& x, options o) -> arrays { return argwhere(x[0], how_many(o)); };
  table["flatnonzero"] = [](const arrays& x, options o) -> arrays { return flatnonzero(x[0], how_many(o)); };
  table["compress"] = [](const arrays& x, options o) -> arrays {
    if (o.has("axis")) return compress(x[0], x[1], o.axis(0), how_many(o));
    return compress(x[0], x[1], how_many(o));
  };
  table["extract"] = [](const arrays& x, options o) -> arrays { return extract(x[0], x[1], how_many(o)); };
}
void add_sets(case_functions& table) {
  table["unique"] = [](const arrays& x, options o) -> arrays { return unique(x[0], of_set(o)); };
  table["unique_all"] = [](const arrays& x, options o) -> arrays {
    unique_options set = of_set(o);
    set.equal_nan = false;
    const unique_result u = unique_all(x[0], set);
    return {u.values, u.indices, u.inverse, u.counts};
  };
  table["isin"] = [](const arrays& x, options o) -> arrays { return isin(x[0], x[1], o.flag("invert")); };
  table["union1d"] = [](const arrays& x, options o) -> arrays { return union1d(x[0], x[1], of_set(o)); };
  table["setdiff1d"] = [](const arrays& x, options o) -> arrays { return setdiff1d(x[0], x[1], of_set(o)); };
  table["intersect1d"] = [](const arrays& x, options o) -> arrays { return intersect1d(x[0], x[1], of_set(o)); };
  table["setxor1d"] = [](const arrays& x, options o) -> arrays { return setxor1d(x[0], x[1], of_set(o)); };
}
}  // namespace

TEST_CASE("orders, places and sets are those of jax.numpy") {
  case_functions table;
  add_orders(table);
  add_sets(table);
  check_cases("numpy/sorting.txt", table);
}

TEST_CASE("partitions have the k-th element in its place") {
  const array x = noise({3, 7}, 1), y = partition(x, 2), i = argpartition(x, 2);
  CHECK(array_equal(y, sort(x)).item<bool>());
  CHECK(array_equal(take_along_axis(x, i, -1), y).item<bool>());
  CHECK_THROWS_AS(partition(x, 7), error);
}

TEST_CASE("edges that decrease have the intervals of NumPy") {
  const array x = array::from<float>({-1, 0, 0.5f, 1, 2.5f, 3, 4}), down = array::from<float>({3, 1, 0});
  const auto is = [](const array& found, std::initializer_list<std::int32_t> v) {
    return difference(to_values(arrays{found}), to_values(arrays{array::from<std::int32_t>(v)}), 0) == "";
  };
  CHECK(is(digitize(x, down), {3, 2, 2, 1, 1, 0, 0}));
  CHECK(is(digitize(x, down, true), {3, 3, 2, 2, 1, 1, 0}));
  CHECK(is(digitize(astype(x, i32), astype(down, i32)), {3, 2, 2, 1, 1, 0, 0}));
}

TEST_CASE("NaN is in exactly one of two sets") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto is = [](const array& found, std::initializer_list<float> v) {
    return difference(to_values(arrays{found}), to_values(arrays{array::from<float>(v)}), 0) == "";
  };
  const array a = array::from<float>({nan, nan, 1}), b = array::from<float>({2, 1}), c = array::from<float>({nan, 2});
  CHECK(is(setxor1d(a, b), {2, nan}));
  CHECK(is(setxor1d(b, a), {2, nan}));
  CHECK(is(setxor1d(a, c), {1, 2, nan, nan}));
  CHECK(is(setxor1d(b, b), {}));
}
