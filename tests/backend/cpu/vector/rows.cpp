// tests/backend/cpu/vector/rows.cpp: row folds and loops on awkward lengths.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/vector/rows.hpp>

#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;

TEST_CASE("rows: sums, maxima and vector loops cover each column once") {
  for (std::int64_t cols = 0; cols < 150; ++cols) {
    std::vector<float> x(static_cast<std::size_t>(cols));
    float sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) sum += x[j] = static_cast<float>(j % 13) - 20.0f;
    const float* const p = x.data();
    CHECK(cpu_backend::sum_row(cols, [=](std::int64_t j, auto lanes) { return lanes(p + j); }) == sum);
    const float most = cpu_backend::max_row(
        cols, [=](std::int64_t j, auto lanes) { return lanes(p + j, -std::numeric_limits<float>::infinity()); });
    CHECK(most == (cols == 0 ? -std::numeric_limits<float>::infinity() : cols < 13 ? p[cols - 1] : -8.0f));
    const auto both = cpu_backend::sums_row<2>(
        cols, [=](std::int64_t j, auto lanes) { return std::array{lanes(p + j), lanes(p + j) + lanes(p + j)}; });
    CHECK(both == std::array{sum, 2.0f * sum});
    std::vector<float> doubled(x.size());
    float* const to = doubled.data();
    cpu_backend::for_vectors(cols, [=](std::int64_t j, auto lanes) { lanes.put(to + j, lanes(p + j) + lanes(p + j)); });
    for (std::size_t j = 0; j < x.size(); ++j) CHECK(doubled[j] == 2.0f * x[j]);
  }
}

TEST_CASE("rows: each row is visited once") {
  for (const std::int64_t rows : {0, 1, 1000}) {
    for (const std::int64_t cols : {0, 1, 100, 100000}) {
      std::vector<int> visits(static_cast<std::size_t>(rows));
      cpu_backend::for_rows(rows, cols, [&](std::int64_t r) { ++visits[static_cast<std::size_t>(r)]; });
      CHECK(visits == std::vector<int>(static_cast<std::size_t>(rows), 1));
    }
  }
}

TEST_CASE("rows: blocks cover a row, and streamed rows are written as others are") {
  for (const std::int64_t cols : {0, 1, 2047, 2048, 2049, 10000}) {
    std::int64_t covered = 0;
    cpu_backend::for_blocks(cols, [&](std::int64_t first, std::int64_t count) {
      CHECK(first == covered);
      CHECK(count > 0);
      CHECK(count <= cpu_backend::row_block);
      covered += count;
    });
    CHECK(covered == cols);
  }
  const std::int64_t rows = 1000, cols = 48;
  float* const to = cpu_backend::scratch<struct streamed_rows>(rows * cols);
  for (const bool streamed : {false, true}) {
    std::fill_n(to, rows * cols, 0.0f);
    cpu_backend::for_written_rows(rows, cols, streamed, [=](std::int64_t r, auto whole) {
      cpu_backend::for_vectors<decltype(whole)>(cols, [=](std::int64_t j, auto lanes) {
        lanes.put(to + r * cols + j, cpu_backend::f32v(static_cast<float>(r)));
      });
    });
    bool right = true;
    for (std::int64_t i = 0; i < rows * cols; ++i) right = right && to[i] == static_cast<float>(i / cols);
    CHECK(right);
  }
  CHECK_FALSE(cpu_backend::passes_caches(rows, cols, to));         // small
  CHECK(cpu_backend::passes_caches(1 << 20, cols, to));            // large
  CHECK_FALSE(cpu_backend::passes_caches(1 << 20, cols, to, to));  // in place
  CHECK_FALSE(cpu_backend::passes_caches(1 << 20, cols, to + 8));  // not on lines
  CHECK_FALSE(cpu_backend::passes_caches(1 << 20, cols + 8, to));  // nor its rows
}
