// tests/lax/sort.cpp: stable sorting of several operands by the first.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/sort.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

using namespace tokamax;
using namespace tokamax::test;

namespace {
const bool known = (reference_rules()[&sort_p] = [](const asked& a) -> values {
  const auto o = a.attrs<sort_options>();
  values out = a.in;
  const value& key = a.in[0];
  const std::int64_t n = key.extent(o.axis);
  auto before = [&](double x, double y) {  // NaN is the largest
    if (o.descending) std::swap(x, y);
    return std::isnan(y) ? !std::isnan(x) : x < y;
  };
  for_each_place(key.type.shape, [&](shape at, std::size_t) {
    if (at[o.axis] != 0) return;
    auto where = [&](std::int64_t i) {
      at[o.axis] = i;
      return place(key.type.shape, at);
    };
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) { return before(key.data[where(i)], key.data[where(j)]); });
    for (std::int64_t i = 0; i < n; ++i)
      for (std::size_t k = 0; k < out.size(); ++k) out[k].data[where(i)] = a.in[k].data[where(order[static_cast<std::size_t>(i)])];
  });
  return out;
}, true);
constexpr float infinite = std::numeric_limits<float>::infinity(), undefined = std::numeric_limits<float>::quiet_NaN();
}  // namespace

TEST_CASE("sort keeps the contract") {
  check_op(sort_p, {{{noise({3, 5}, 1)}, pack(sort_options{1, false})},
                    {{noise({4, 3}, 1), noise({4, 3}, 2), noise({4, 3}, 3)}, pack(sort_options{0, true})},
                    {{array::from<std::int32_t>({3, -1, 3, 0, -1}), noise({5}, 1)}, pack(sort_options{0, false})}});
}

TEST_CASE("long lines are sorted by their digits, with the same order") {
  check_values([](const arrays& x) -> arrays { return sort({x[0], x[1]}); },
               {noise({2, 3000}, 1), noise({2, 3000}, 2)});
  const array few = astype(noise({5000}, 3) * 4.0f, i32);
  check_values([](const arrays& x) -> arrays { return argsort(x[0]); }, {few});
  check_values([](const arrays& x) -> arrays { return argsort(x[0], 0, true); }, {few});
}

TEST_CASE("numbers that move no others have the order and the bits of a stable sort") {
  for (const std::int64_t n : {200, 3000, 100003}) {  // by comparisons, by digits, by digits in chunks
    std::vector<float> x(static_cast<std::size_t>(n));
    const array ranks = noise({n}, 5) * 50.0f;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::trunc(ranks.values<float>()[i]);  // zeros of both signs
    x[17] = undefined, x[50] = std::bit_cast<float>(0xffc01234u), x[100] = -infinite;
    for (const bool descending : {false, true}) {
      std::vector<float> expected = x;
      std::stable_sort(expected.begin(), expected.end(), [&](float a, float b) {
        if (descending) std::swap(a, b);
        return std::isnan(b) ? !std::isnan(a) : a < b;
      });
      const array y = sort(array::from(std::span<const float>(x), {n}), 0, descending);
      CHECK(std::equal(expected.begin(), expected.end(), y.values<float>().begin(), [](float a, float b) {
        return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
      }));
    }
  }
  const array few = astype(noise({2, 700, 3}, 3) * 1000.0f, i32);
  check_values(
      [](const arrays& v) -> arrays { return {sort(v[0], 1), sort(v[0], 1, true), sort(astype(v[0], u32), 1)}; },
      {few});
}

TEST_CASE("rows that are sorted together have the order and the bits of a stable sort of each") {
  for (const std::int64_t n : {2, 9, 64, 127, 1025, 2048, 2049})
    for (const std::int64_t rows : {7, 8, 19}) {
      std::vector<float> x(static_cast<std::size_t>(rows * n));
      const array ranks = noise({rows * n}, static_cast<int>(n)) * 50.0f;
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = std::trunc(ranks.values<float>()[i]);
        if (i % 97 == 5) x[i] = i % 2 ? infinite : -infinite;
        if (i % 31 == 7)
          x[i] = std::bit_cast<float>((i % 2 ? 0xffc00000u : 0x7fc00000u) + static_cast<std::uint32_t>(i));
      }
      for (const bool descending : {false, true}) {
        std::vector<float> expected = x;
        for (std::int64_t r = 0; r < rows; ++r)
          std::stable_sort(expected.begin() + r * n, expected.begin() + (r + 1) * n, [&](float a, float b) {
            if (descending) std::swap(a, b);
            return std::isnan(b) ? !std::isnan(a) : a < b;
          });
        const array y = sort(array::from(std::span<const float>(x), {rows, n}), 1, descending);
        CAPTURE(n, rows, descending);
        CHECK(std::equal(expected.begin(), expected.end(), y.values<float>().begin(), [](float a, float b) {
          return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
        }));
      }
    }
  for (const dtype t : {f32, i32, u32})
    for (const shape& s : {shape{24, 33}, {9, 256}, {3, 5, 40}})
      check_adversarial([](const arrays& v) -> arrays { return {sort(v[0]), sort(v[0], -1, true)}; },
                        {adversarial(s, 1, t)});
}

TEST_CASE("NaN comes last, and zeros are equal") {
  const array x = array::from<float>({undefined, 0.0f, infinite, -0.0f, -infinite, 1.0f});
  const auto order = argsort(x);
  const std::vector<std::int32_t> expected{4, 1, 3, 5, 2, 0};
  CHECK(std::equal(expected.begin(), expected.end(), order.values<std::int32_t>().begin()));
  const array u = sort(array::from<std::uint32_t>({0x80000000u, 1u, 0xffffffffu, 0u}));
  CHECK(u.values<std::uint32_t>()[2] == 0x80000000u);
  CHECK(sort(array::from<bool>({true, false})).values<bool>()[0] == false);
}

TEST_CASE("argsort agrees with JAX") {
  check_golden("argsort_stable", [](const arrays& x) -> arrays { return argsort(x[0]); });
  check_golden("argsort_i8", [](const arrays& x) -> arrays { return argsort(x[0]); });
}

TEST_CASE("operands of other shapes are rejected") {
  CHECK_THROWS_WITH(sort({zeros({2}), zeros({3})}), contains("sort: shapes: found f32[3], expected f32[2]"));
  CHECK_THROWS_WITH(sort(zeros({2}), 1), contains("sort: axis"));
}

TEST_CASE("special values are sorted as documented") {
  for (const shape& s : {shape{83, 37}, {1009}, {0, 5}, {5, 0}})
    for (const bool descending : {false, true})
      for (const dtype t : every_dtype)
        check_adversarial(
            [=](const arrays& x) -> arrays {
              const arrays both = sort({x[0], x[1]}, 0, descending);
              return {sort(x[0], -1, descending), argsort(x[0], 0, descending), both[0], both[1]};
            },
            {adversarial(s, 3, t), adversarial(s, 2, t)});
}
