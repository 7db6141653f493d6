// tests/transforms/cumulative.cpp: running products, extremes and sums of logarithms.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/transforms/cumulative.hpp>

#include "support/check_op.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// Each element combined with all before it, or behind it, along the middle axis of [2, n, 3].
std::vector<double> walked(const array& x, bool reverse, double (*f)(double, double)) {
  value v = to_value(x);
  const auto n = static_cast<std::size_t>(x.extent(1));
  for (std::size_t outer = 0; outer < 2; ++outer)
    for (std::size_t step = 1; step < n; ++step)
      for (std::size_t inner = 0; inner < 3; ++inner) {
        const std::size_t at = reverse ? n - 1 - step : step, before = reverse ? at + 1 : at - 1;
        double& here = v.data[(outer * n + at) * 3 + inner];
        here = f(v.data[(outer * n + before) * 3 + inner], here);
      }
  return v.data;
}
}  // namespace

TEST_CASE("running products, extremes and logsumexp combine what came before") {
  for (const std::int64_t n : {1, 2, 7, 16})
    for (const bool reverse : {false, true}) {
      const array x = noise({2, n, 3}, 3);
      const auto check = [&](const array& found, double (*f)(double, double)) {
        const std::vector<double> expected = walked(x, reverse, f);
        const value v = to_value(found);
        for (std::size_t i = 0; i < expected.size(); ++i) CHECK(std::fabs(v.data[i] - expected[i]) < 2e-6);
      };
      check(cumprod(x, 1, reverse), [](double a, double b) { return a * b; });
      check(cummax(x, 1, reverse), [](double a, double b) { return std::fmax(a, b); });
      check(cummin(x, 1, reverse), [](double a, double b) { return std::fmin(a, b); });
      check(cumlogsumexp(x, 1, reverse), [](double a, double b) { return std::log(std::exp(a) + std::exp(b)); });
    }
}

TEST_CASE("their derivatives are those of the functions that combine") {
  check_function([](const arrays& x) -> arrays { return cumprod(x[0], 0); }, {noise({5, 2}, 1)}, {.order = 1});
  check_function([](const arrays& x) -> arrays { return cumlogsumexp(x[0], 0, true); }, {noise({4}, 1)}, {.order = 1});
  CHECK_THROWS_WITH(cummax(zeros({2}), 1), contains("cummax: axis"));
  CHECK(cumprod(array(3, {i32, false, {2}})).dtype() == i32);
}
