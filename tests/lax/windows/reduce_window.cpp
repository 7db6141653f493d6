// tests/lax/windows/reduce_window.cpp: reductions by any function, of axes and of windows.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/windows/reduce_window.hpp>

#include <tokamax/lax/reduce.hpp>
#include <tokamax/lax/windows/pool.hpp>

#include "support/check_op.hpp"

#include <cmath>
#include <set>
#include <string>

using namespace tokamax;
using namespace tokamax::test;

namespace {
const auto product = [](const array& a, const array& b) { return a * b; };
const auto larger = [](const array& a, const array& b) { return maximum(a, b); };
const auto plus = [](const array& a, const array& b) { return a + b; };
constexpr float infinite = std::numeric_limits<float>::infinity();

double apart(const array& a, const array& b) {
  const value x = to_value(a), y = to_value(b);
  REQUIRE(x.data.size() == y.data.size());
  double most = 0;
  for (std::size_t i = 0; i < x.data.size(); ++i) most = std::fmax(most, std::fabs(x.data[i] - y.data[i]));
  return most;
}
}  // namespace

TEST_CASE("reduce combines all elements, whatever their number") {
  for (const std::int64_t n : {1, 2, 5, 8, 13}) {
    const array x = noise({3, n, 2}, 1) + 1.5f;
    double expected[6] = {1, 1, 1, 1, 1, 1};
    const value v = to_value(x);
    for (std::size_t i = 0; i < v.data.size(); ++i)
      expected[i / static_cast<std::size_t>(2 * n) * 2 + i % 2] *= v.data[i];
    const value found = to_value(reduce(x, 1.0f, product, {1}));
    for (std::size_t i = 0; i < 6; ++i) CHECK(std::fabs(found.data[i] / expected[i] - 1) < 1e-5);
    CHECK(apart(reduce(x, -infinite, larger, {0, 2}), max(x, {.axis = {0, 2}})) == 0);
  }
  CHECK(reduce(zeros({0, 2}), 1.0f, product, {0}).data<float>()[1] == 1);
  CHECK(reduce(ones({2, 3}, i32), 0, plus, {-1}).dtype() == i32);
  check_function([](const arrays& x) -> arrays { return reduce(x[0], 1.0f, product, {0}); }, {noise({5, 2}, 1)});
  CHECK_THROWS_WITH(reduce(zeros({2}), 0.0f, plus, {1}), contains("reduce: axis"));
}

TEST_CASE("reduce by one op is the reduction that has kernels") {
  const auto ops_of = [](const function& f, const array& x) {
    std::set<std::string> names;
    const graph g = trace(f, types_of({x}));
    for (const node& n : g.nodes)
      if (n.op) names.insert(std::string(n.op->name));
    return names;
  };
  const array x = noise({3, 5}, 1);
  const auto least = [](const array& a, const array& b) { return minimum(b, a); };
  const auto both = [](const array& a, const array& b) { return logical_and(a, b); };
  const auto more = [](const array& a, const array& b) { return a + b + 1.0f; };
  CHECK(ops_of([&](const arrays& v) -> arrays { return reduce(v[0], 0.0f, plus, {1}); }, x).contains("reduce_sum"));
  CHECK(ops_of([&](const arrays& v) -> arrays { return reduce(v[0], -infinite, larger, {1}); }, x)
            .contains("reduce_max"));
  CHECK(
      ops_of([&](const arrays& v) -> arrays { return reduce(v[0], infinite, least, {0}); }, x).contains("reduce_min"));
  CHECK(ops_of([&](const arrays& v) -> arrays { return reduce(v[0] > 0.0f, array(true), both, {0}); }, x)
            .contains("reduce_and"));
  CHECK(!ops_of([&](const arrays& v) -> arrays { return reduce(v[0], 0.0f, more, {1}); }, x).contains("reduce_sum"));
  const array scale = full({}, 2.0f);
  const auto closed = [&](const array& a, const array& b) { return a + b * scale; };
  CHECK(reduce(ones({2}), 0.0f, closed, {0}).item() == 3);
  CHECK(apart(reduce(x, infinite, least, {0, 1}), min(x)) == 0);
}

TEST_CASE("reduce_window agrees with pools, and with windows that are written out") {
  const array x = noise({2, 7, 6, 3}, 1);
  const array pooled = max_pool(x, {2, 3}, {.strides = {2, 1}});
  CHECK(apart(reduce_window(x, -infinite, larger, {1, 2, 3, 1}, {.strides = {1, 2, 1, 1}}), pooled) == 0);
  const array line = array{1.0f, 2.0f, 3.0f, 4.0f, 5.0f};
  CHECK(apart(reduce_window(line, 0.0f, plus, {2}, {.low = {1}, .high = {1}}),
              array{1.0f, 3.0f, 5.0f, 7.0f, 9.0f, 5.0f}) == 0);
  CHECK(apart(reduce_window(line, 0.0f, plus, {2}, {.window_dilation = {3}}), array{5.0f, 7.0f}) == 0);
  CHECK(apart(reduce_window(line, 1.0f, product, {2}, {.strides = {2}, .base_dilation = {2}}),
              array{1.0f, 2.0f, 3.0f, 4.0f}) == 0);
  CHECK(reduce_window(line, 0.0f, plus, {6}).size() == 0);
  check_function([](const arrays& v) -> arrays { return reduce_window(v[0], 0.0f, plus, {2, 2}, {.low = {1, 0}}); },
                 {noise({3, 4}, 1)}, {.order = 1});
  CHECK_THROWS_WITH(reduce_window(line, 0.0f, plus, {0}), contains("reduce_window: window"));
}
