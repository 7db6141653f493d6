// tests/lax/elementwise/logaddexp.cpp: sums of numbers given by their logarithms.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/logaddexp.hpp>

#include <limits>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("logaddexp keeps the contract") {
  check_op(logaddexp_p, {{{noise({3, 7}, 4), noise({3, 7}, 5)}},
                         {{noise({5}, 1, bf16), noise({5}, 2, bf16)}},
                         {{noise({0}, 1), noise({0}, 2)}}});
}

TEST_CASE("logaddexp of large numbers and infinities") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const array x = array::from<float>({1000, -1000, 0, -infinity, infinity, -infinity, infinity}),
              y = array::from<float>({1000, -1000, -200, -infinity, infinity, 3, -infinity});
  const array out = logaddexp(x, y);
  const auto found = out.values<float>();
  CHECK(found[0] == Approx(1000.6931472));
  CHECK(found[1] == Approx(-999.3068528));
  CHECK(found[2] == 0);
  CHECK(found[3] == -infinity);
  CHECK(found[4] == infinity);
  CHECK(found[5] == 3);
  CHECK(found[6] == infinity);
}

TEST_CASE("logaddexp broadcasts, promotes and rejects as the operators do") {
  constexpr array row(array_type{bf16, false, {4}}), column(array_type{f32, false, {3, 1}}),
      count(array_type{i32, false, {}});
  static_assert(logaddexp(row, column).type() == array_type{f32, false, {3, 4}});
  static_assert(logaddexp(count, count).type() == array_type{f32, false, {}});
  CHECK_THROWS_WITH(logaddexp(zeros({3}), zeros({4})), contains("logaddexp: shapes: found"));
}

TEST_CASE("equal infinities share the gradient") {
  const float inf = std::numeric_limits<float>::infinity();
  const array x = array::from<float>({-inf, inf, -inf, 1, 1}), y = array::from<float>({-inf, inf, 2, -inf, 1});
  const auto total = [](const array& a, const array& b) { return sum(logaddexp(a, b)); };
  const auto [dx, dy] = grad<0, 1>(total)(x, y);
  CHECK(difference(to_values(arrays{dx}), to_values(arrays{array::from<float>({0.5f, 0.5f, 0, 1, 0.5f})}), 1e-6) == "");
  CHECK(difference(to_values(arrays{dy}), to_values(arrays{array::from<float>({0.5f, 0.5f, 1, 0, 0.5f})}), 1e-6) == "");
}
