// tests/ops/ragged_gather.cpp: rows by index within a range, and their sums with weights.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/ragged_gather.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {
constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
array number(std::int32_t v) { return array::from<std::int32_t>({v}); }
array permutation(std::int64_t n, std::int64_t rows) {
  array a = array::uninitialized({tk::i32, false, {n}});
  for (std::int64_t i = 0; i < n; ++i) a.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 37 % rows);
  return a;
}
}  // namespace

TEST_CASE("ragged_gather and ragged_scatter move the rows of a range") {
  for (const auto& [first, last] : {std::pair<std::int32_t, std::int32_t>{3, 28}, {0, 50}, {7, 7}, {9, 4}, {-3, 99}})
    for (const std::int64_t columns : {0, 1, 13}) {
      const array x = noise({50, columns}, 1), at = permutation(50, 50);
      const array found = tk::ragged_gather(x, at, number(first), number(last));
      const array back = tk::ragged_scatter(x, at, number(first), number(last));
      array expected = tk::test::noise({50, columns}, 2), scattered = tk::test::noise({50, columns}, 2);
      float* const rows = expected.mutable_data<float>();
      float* const to = scattered.mutable_data<float>();
      for (std::int64_t i = 0; i < 50; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          const bool within = i >= first && i < last;
          const std::int64_t other = i * 37 % 50;
          rows[i * columns + j] = within ? x.values<float>()[static_cast<std::size_t>(other * columns + j)] : 0;
          to[other * columns + j] = within ? x.values<float>()[static_cast<std::size_t>(i * columns + j)] : 0;
        }
      CAPTURE(first, last, columns);
      CHECK(tk::test::distance(found, expected) == 0);
      CHECK(tk::test::distance(back, scattered) == 0);
    }
  CHECK(tk::ragged_scatter(noise({3, 2}, 1), permutation(3, 9), number(0), number(3), 100).extent(0) == 100);
}

TEST_CASE("ragged_gather_reduce sums weighted rows, without those that do not count") {
  for (const std::int64_t group : {1, 4, 16, 32}) {
    const array x = noise({20, 6}, 1), at = permutation(64, 20), weights = noise({64}, 2);
    const array valid = weights > -0.5f;
    const array found = tk::ragged_gather_reduce(x, at, weights, valid, group);
    std::vector<float> expected(static_cast<std::size_t>(64 / group * 6));
    for (std::int64_t i = 0; i < 64; ++i)
      for (std::int64_t j = 0; j < 6; ++j) {
        const float w = weights.values<float>()[static_cast<std::size_t>(i)];
        if (w > -0.5f)
          expected[static_cast<std::size_t>(i / group * 6 + j)] +=
              w * x.values<float>()[static_cast<std::size_t>(i * 37 % 20 * 6 + j)];
      }
    CHECK(tk::test::distance(found, array::from<float>(expected, {64 / group, 6})) < 4e-6);
  }
}

TEST_CASE("what moves ragged rows keeps the contract of functions") {
  const array x = noise({6, 3}, 1), at = permutation(6, 6), w = noise({6}, 2), from = number(1), to = number(5);
  const tk::test::check_options o{.order = 1};
  tk::test::check_function([](const tk::arrays& v) -> tk::arrays { return tk::ragged_gather(v[0], v[1], v[2], v[3]); },
                           {x, at, from, to}, o);
  tk::test::check_function([](const tk::arrays& v) -> tk::arrays { return tk::ragged_scatter(v[0], v[1], v[2], v[3]); },
                           {x, at, from, to}, o);
  tk::test::check_function(
      [](const tk::arrays& v) -> tk::arrays { return tk::ragged_gather_reduce(v[0], v[1], v[2], v[3], 3); },
      {x, at, w, array(w > 0.0f)}, o);
}

TEST_CASE("functions of ragged rows say what is wrong with their operands") {
  const array x(floats({6, 3})), at({tk::i32, false, {6}}), w(floats({6})), valid({tk::bool_, false, {6}});
  const array one({tk::i32, false, {}});
  CHECK_THROWS_WITH(tk::ragged_gather(x, w, one, one), contains("ragged_gather: indices"));
  CHECK_THROWS_WITH(tk::ragged_gather(x, at, at, one), contains("ragged_gather: range"));
  CHECK_THROWS_WITH(tk::ragged_scatter(array(floats({})), at, one, one), contains("ragged_scatter: x"));
  CHECK_THROWS_WITH(tk::ragged_gather_reduce(x, at, w, valid, 4), contains("ragged_gather_reduce: group"));
  CHECK_THROWS_WITH(tk::ragged_gather_reduce(x, at, at, valid, 3), contains("ragged_gather_reduce: weights"));
  CHECK_THROWS_WITH(tk::ragged_gather_reduce(x, at, w, w, 3), contains("ragged_gather_reduce: valid"));
}
