// tests/benchmarking/numeric_summary.cpp: summaries of arrays with and without NaN, infinities and elements.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/numeric_summary.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace {
namespace tk = tokamax;
constexpr float inf = std::numeric_limits<float>::infinity(), no_number = std::numeric_limits<float>::quiet_NaN();
}  // namespace

TEST_CASE("a summary of numbers leaves NaN out") {
  const tk::numeric_summary s = tk::array_numeric_summary(tk::array::from({1.5f, -2.25f, no_number, 3.5f}, {2, 2}));
  CHECK(s.has_nan);
  CHECK(!s.has_inf);
  CHECK(s.min == -2.25);
  CHECK(s.max == 3.5);
  CHECK(s.mean == Approx(2.75 / 3));
  CHECK(s.mean_abs == Approx(7.25 / 3));
}

TEST_CASE("infinities are seen, and sums of narrow dtypes do not overflow") {
  const tk::numeric_summary s = tk::array_numeric_summary(tk::array{-inf, 1.0f});
  CHECK(s.has_inf);
  CHECK(!s.has_nan);
  CHECK(s.min == -inf);
  CHECK(s.mean_abs == inf);
  CHECK(tk::array_numeric_summary(tk::full({1000}, 60000.0, tk::f16)).mean == 60000);
  CHECK(tk::array_numeric_summary(tk::full({300}, 100, tk::i8)).mean == 100);
  CHECK(tk::array_numeric_summary(tk::array::from({true, false, true, true})).mean == 0.75);
}

TEST_CASE("without elements, or with NaN only, the numbers are NaN") {
  for (const tk::array& x : {tk::zeros({0, 3}), tk::full({2}, no_number)}) {
    const tk::numeric_summary s = tk::array_numeric_summary(x);
    CHECK(s.has_nan == (x.size() > 0));
    for (const double v : {s.min, s.max, s.mean, s.mean_abs}) CHECK(std::isnan(v));
  }
  CHECK_THROWS_WITH(tk::array_numeric_summary(tk::array(tk::array_type{tk::f32, false, {2}})),
                    contains("without data"));
}
