// tests/benchmarking/diff_summary.cpp: differences of arrays with NaN, infinities, no elements and other types.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/diff_summary.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace {
namespace tk = tokamax;
constexpr float inf = std::numeric_limits<float>::infinity(), no_number = std::numeric_limits<float>::quiet_NaN();
}  // namespace

TEST_CASE("the largest difference is found, and NaN differs from NaN unless told otherwise") {
  const tk::array expected{1.2f, -2.3f, no_number, 3.4f}, actual{1.2f, -2.3f, no_number, -20.0f};
  const tk::diff_summary s = tk::array_diff_summary(expected, actual, {.equal_nan = true});
  CHECK(s.max_absolute_diff_values == std::pair<double, double>{3.4f, -20.0});
  CHECK(s.max_absolute_diff() == Approx(23.4));
  CHECK(s.percent_close == 0.75);
  CHECK(!s.allclose);
  const tk::diff_summary strict = tk::array_diff_summary(expected, actual);
  CHECK(std::isnan(strict.max_absolute_diff_values.first));
  CHECK(std::isnan(strict.max_absolute_diff()));
  CHECK(std::isnan(strict.l2_diff));
  CHECK(strict.percent_close == 0.5);
  CHECK(tk::array_diff_summary(expected, expected, {.equal_nan = true}).allclose);
}

TEST_CASE("the norm of the difference") {
  const tk::diff_summary s = tk::array_diff_summary(tk::array{2, 2}, tk::array{-1, -2});
  CHECK(s.max_absolute_diff() == 4);
  CHECK(s.l2_diff == 5);
  CHECK(s.percent_close == 0);
}

TEST_CASE("the tolerances are isclose's, relative to the expected element") {
  const auto close = [](double expected, double actual, const tk::diff_options& o = {}) {
    const auto one = [](double v) { return tk::array::from<double>({v}); };
    return tk::array_diff_summary(one(expected), one(actual), o).allclose;
  };
  CHECK(close(1, 1 + 1e-5));
  CHECK(!close(1, 1 + 1.1e-5));
  CHECK(close(0, 1e-8));
  CHECK(!close(0, 1.1e-8));
  CHECK(close(11, 10, {.rtol = 0.0910, .atol = 0}));  // 1 <= 0.091 * 11, but 1 > 0.091 * 10
  CHECK(!close(10, 11, {.rtol = 0.0910, .atol = 0}));
  CHECK(close(inf, inf));
  CHECK(!close(inf, -inf, {.rtol = 1}));
  CHECK(!close(1, inf, {.rtol = 1}));
  CHECK(!close(no_number, 1, {.equal_nan = true}));
}

TEST_CASE("equal infinities differ by 0, and arrays without elements are close") {
  const tk::diff_summary s = tk::array_diff_summary(tk::array{inf, 1.0f}, tk::array{inf, 3.0f});
  CHECK(s.max_absolute_diff() == 2);
  CHECK(s.l2_diff == 2);
  CHECK(tk::array_diff_summary(tk::array{inf, inf}, tk::array{inf, inf}).max_absolute_diff() == 0);
  const tk::diff_summary none = tk::array_diff_summary(tk::zeros({0}), tk::zeros({0}));
  CHECK(none.allclose);
  CHECK(none.percent_close == 1);
  CHECK(none.max_absolute_diff() == 0);
  CHECK_THROWS_WITH(tk::array_diff_summary(tk::zeros({2}), tk::zeros({3})),
                    contains("array_diff_summary: actual: found f32[3], expected f32[2]"));
  CHECK_THROWS_WITH(tk::array_diff_summary(tk::zeros({2}), tk::zeros({2}, tk::f64)), contains("expected f32[2]"));
}
