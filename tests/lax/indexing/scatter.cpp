// tests/lax/indexing/scatter.cpp: rows replaced by index, the last of several for one row, and what lies outside.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/scatter.hpp>
#include <tokamax/lax/shapes/reverse.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
array indices(std::initializer_list<std::int32_t> v, const shape& s) { return array::from<std::int32_t>(v, s); }
}  // namespace

TEST_CASE("scatter keeps the contract, and the last update of a row counts") {
  const words one = pack(scatter_options{}), two = pack(scatter_options{2});
  check_op(scatter_p, {{{noise({2, 3, 2}, 2), indices({0, 5, 6, 5}, {2, 2}), noise({2, 2, 2}, 1)}, two},
                       {{noise({4, 2}, 2), indices({0, 3, 3}, {3}), noise({3, 2}, 1)}, one},
                       {{noise({4, 3}, 2), indices({1, -1, 4, 1}, {2, 2}), noise({2, 2, 3}, 1)}, one},
                       {{noise({4}, 2), indices({2}, {1}), noise({1}, 1)}, one},
                       {{noise({4, 2}, 2), indices({}, {0}), noise({0, 2}, 1)}, one},
                       {{noise({3, 2, 0}, 2), indices({1, 1}, {2}), noise({2, 2, 0}, 1)}, one},
                       {{noise({3, 2}, 2, bf16), indices({1, 1}, {2}), noise({2, 2}, 1, bf16)}, one}});
  const array found = scatter(noise({4, 2}, 2), indices({3, 1, 3}, {3}), noise({3, 2}, 1));
  CHECK(found.values<float>()[6] == noise({3, 2}, 1).values<float>()[4]);
}

TEST_CASE("scatter moves special values of every dtype, and i64 indices that no axis has are outside") {
  for (const dtype t : every_dtype)
    check_adversarial([](const arrays& v) -> arrays { return scatter(v[0], v[1], v[2]); },
                      {adversarial({7, 33}, 1, t), indices({5, 0, 5, -2, 9}, {5}), adversarial({5, 33}, 2, t)});
  const array far = array::from<std::int64_t>({std::int64_t{1} << 32, -(std::int64_t{1} << 40), 1}, {3});
  check_values([](const arrays& v) -> arrays { return scatter(v[0], v[1], v[2]); },
               {noise({2, 3}, 1), far, noise({3, 3}, 2)});
}

TEST_CASE("scatter writes over an operand that nobody reads again, and over no other") {
  const array rows = indices({0, 3, 3}, {3});
  const std::vector<array> x{noise({4, 2}, 2), noise({3, 2}, 1)};
  check_function([&](const arrays& v) -> arrays { return scatter(v[0] * 2.0f, rows, v[1]) + 1.0f; }, x);
  check_function(
      [&](const arrays& v) -> arrays {
        const array twice = reverse(v[0], {0}) * 2.0f;
        return {scatter(twice, rows, v[1]) + 1.0f, scatter(twice, rows, v[1] * 3.0f), twice};
      },
      x);
}

TEST_CASE("scatter says what is wrong with its operands") {
  const array x({f32, false, {4, 2}}), at({i32, false, {3}}), rows({f32, false, {3, 2}});
  CHECK_THROWS_WITH(scatter(array({f32, false, {}}), at, rows), contains("scatter: operand"));
  CHECK_THROWS_WITH(scatter(x, rows, rows), contains("scatter: index dtype"));
  CHECK_THROWS_WITH(scatter(x, at, x), contains("scatter: updates") && contains("f32[3,2]"));
}
