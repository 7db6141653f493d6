// tests/backend/cpu/rows.cpp: row folds and loops on awkward lengths.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/rows.hpp>

#include <vector>

#include "support/catch.hpp"

namespace simd = tokamax::simd;

TEST_CASE("rows: sums, maxima and vector loops cover each column once") {
  for (std::int64_t cols = 0; cols < 150; ++cols) {
    std::vector<float> x(static_cast<std::size_t>(cols));
    float sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] = static_cast<float>(j % 13) - 20.0f;
    const float* const p = x.data();
    CHECK(simd::sum_row(cols, [=](std::int64_t j, auto lanes) { return lanes(p + j); }) == sum);
    const float most = simd::max_row(
        cols, [=](std::int64_t j, auto lanes) { return lanes(p + j, -std::numeric_limits<float>::infinity()); });
    CHECK(most == (cols == 0 ? -std::numeric_limits<float>::infinity() : cols < 13 ? p[cols - 1] : -8.0f));
    std::vector<float> doubled(x.size());
    float* const to = doubled.data();
    simd::for_vectors(cols, [=](std::int64_t j, auto lanes) { lanes.put(to + j, lanes(p + j) + lanes(p + j)); });
    for (std::size_t j = 0; j < x.size(); ++j) CHECK(doubled[j] == 2.0f * x[j]);
  }
}

TEST_CASE("rows: each row is visited once") {
  for (const std::int64_t rows : {0, 1, 1000}) {
    for (const std::int64_t cols : {0, 1, 100, 100000}) {
      std::vector<int> visits(static_cast<std::size_t>(rows));
      simd::for_rows(rows, cols, [&](std::int64_t r) { ++visits[static_cast<std::size_t>(r)]; });
      CHECK(visits == std::vector<int>(static_cast<std::size_t>(rows), 1));
    }
  }
}
