// tests/benchmarking/fraction_tolerances.cpp: shares of elements within tolerances.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/fraction_tolerances.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;

TEST_CASE("each tolerance is kept by its share of the elements") {
  const tk::array expected = tk::zeros({200});
  const auto with_outliers = [](int count, float size) {
    std::vector<float> values(200, 0.0f);
    for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = size;
    return tk::array::from<float>(std::span<const float>(values), {200});
  };
  CHECK(tk::share_within(expected, with_outliers(2, 5e-5f), 1e-5) == 0.99);
  CHECK(tk::allclose_fractions(expected, with_outliers(2, 5e-5f)));
  CHECK(!tk::allclose_fractions(expected, with_outliers(3, 5e-5f)));  // 98.5 % within 1e-5
  CHECK(!tk::allclose_fractions(expected, with_outliers(1, 2e-4f)));  // one beyond the bound of all
  CHECK(tk::allclose_fractions(expected, with_outliers(3, 5e-5f), {{0.98, 1e-5}, {1.0, 1e-4}}));
  CHECK(tk::allclose_fractions(expected, with_outliers(200, 1.0f), {}));
}

TEST_CASE("tolerances may be relative; NaN is within none, and no elements are within all") {
  const tk::array ones = tk::full({4}, 1.0f);
  CHECK(tk::share_within(ones, ones * 1.5f, 0, 0.5) == 1);
  CHECK(tk::share_within(ones, ones * 1.5f, 0, 0.4) == 0);
  const tk::array nans = tk::full({4}, std::numeric_limits<float>::quiet_NaN());
  CHECK(tk::share_within(nans, nans, 1e9) == 0);
  CHECK(!tk::allclose_fractions(ones, nans));
  CHECK(tk::allclose_fractions(tk::zeros({0}), tk::zeros({0})));
  CHECK_THROWS_WITH(tk::allclose_fractions(ones, ones, {{1.5, 0}}), contains("allclose_fractions: fraction"));
  CHECK_THROWS_WITH(tk::allclose_fractions(ones, tk::zeros({3})),
                    contains("share_within: actual: found f32[3], expected f32[4]"));
}
