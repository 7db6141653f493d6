// tests/ops/ragged_gather.cpp: rows by index within a range.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/ragged_gather.hpp>

#include "support/adversarial.hpp"
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

TEST_CASE("what moves ragged rows keeps the contract of functions") {
  const array x = noise({6, 3}, 1), at = permutation(6, 6), from = number(1), to = number(5);
  const tk::test::check_options o{.order = 1};
  tk::test::check_function([](const tk::arrays& v) -> tk::arrays { return tk::ragged_gather(v[0], v[1], v[2], v[3]); },
                           {x, at, from, to}, o);
  tk::test::check_function([](const tk::arrays& v) -> tk::arrays { return tk::ragged_scatter(v[0], v[1], v[2], v[3]); },
                           {x, at, from, to}, o);
}

TEST_CASE("ragged_gather keeps the bits of all dtypes, and fills rows that are not there") {
  const array at = array::from<std::int32_t>({0, 6, -1, 99, 3, 5, 5, 2, 6, 1, 0, 0x7fffffff, -0x7fffffff - 1});
  for (const tk::dtype t : tk::test::every_dtype)
    for (const tk::shape& s : {tk::shape{83, 37}, {53, 1}, {1, 1009}, {7, 0}, {9, 2, 3}})
      for (const auto& [first, last] : {std::pair<std::int32_t, std::int32_t>{0, 13}, {2, 9}, {5, 5}, {-7, 0x7fffffff}})
        tk::test::check_adversarial(
            [](const tk::arrays& v) -> tk::arrays { return tk::ragged_gather(v[0], v[1], v[2], v[3]); },
            {tk::test::adversarial(s, 1, t), at, number(first), number(last)});
}

TEST_CASE("functions of ragged rows say what is wrong with their operands") {
  const array x(floats({6, 3})), at({tk::i32, false, {6}}), w(floats({6}));
  const array one({tk::i32, false, {}});
  CHECK_THROWS_WITH(tk::ragged_gather(x, w, one, one), contains("ragged_gather: indices"));
  CHECK_THROWS_WITH(tk::ragged_gather(x, at, at, one), contains("ragged_gather: range"));
  CHECK_THROWS_WITH(tk::ragged_scatter(array(floats({})), at, one, one), contains("ragged_scatter: x"));
}
