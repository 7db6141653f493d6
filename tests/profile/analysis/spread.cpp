// tests/profile/analysis/spread.cpp: mean, median and spread of some numbers.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/analysis/spread.hpp>

#include "support/catch.hpp"

TEST_CASE("numbers have a middle and a spread") {
  struct row {
    std::vector<double> x;
    double mean, deviation, least, median, most, noise;
  };
  const std::vector<row> rows = {
      {{}, 0, 0, 0, 0, 0, 0},
      {{5}, 5, 0, 5, 5, 5, 0},
      {{7, 3}, 5, std::sqrt(8), 3, 5, 7, 1.2533 * 1.4826 * 2 / std::sqrt(2)},
      {{4, 1, 2}, 7.0 / 3, std::sqrt(7.0 / 3), 1, 2, 4, 1.2533 * 1.4826 / std::sqrt(3)},
      {{1, 1, 1, 1, 1000}, 200.8, 446.766, 1, 1, 1000, 0},
  };
  for (const row& r : rows) {
    const tokamax::profile::spread s = tokamax::profile::spread_of(r.x);
    CHECK(s.count == r.x.size());
    CHECK(s.mean == Approx(r.mean));
    CHECK(s.deviation == Approx(r.deviation));
    CHECK(s.least == r.least);
    CHECK(s.median == r.median);
    CHECK(s.most == r.most);
    CHECK(s.noise == Approx(r.noise));
  }
}
