// tests/linalg/solve.cpp: linear systems and inverses.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/solve.hpp>

#include "linalg/matrices.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("solve, inv and lu_solve, and their derivatives, are right") {
  const auto f = [](const arrays& x) -> arrays { return linalg::solve(x[0], x[1]); };
  check_function(f, {regular({3, 3}, 1), noise({3}, 2)}, {.tolerance = 2e-5});
  check_function(f, {regular({2, 3, 3}, 1), noise({3, 2}, 2)}, {.tolerance = 2e-5, .order = 1});
  check_function([](const arrays& x) -> arrays { return linalg::inv(x[0]); }, {regular({3, 3}, 3)},
                 {.tolerance = 2e-5});
  for (const bool transposed : {false, true})
    check_function(
        [transposed](const arrays& x) -> arrays { return linalg::lu_solve(linalg::lu_factor(x[0]), x[1], transposed); },
        {regular({3, 3}, 4), noise({3, 2}, 5)}, {.tolerance = 2e-5, .order = 1});
}

TEST_CASE("solutions give b back") {
  for (const dtype t : {f32, f64})
    for (const std::int64_t n : {1, 5, 64}) {
      const array a = regular({2, n, n}, 1, t), b = noise({2, n, 3}, 2, t);
      const double bound = t == f64 ? 1e-12 : 2e-4;
      CHECK(apart(matmul(a, linalg::solve(a, b)), b) < bound);
      CHECK(apart(matmul(linalg::detail::transposed(a), linalg::lu_solve(linalg::lu_factor(a), b, true)), b) < bound);
      CHECK(apart(matmul(a, linalg::inv(a)), broadcast_to(eye(n, t), {2, n, n})) < bound);
    }
  CHECK(linalg::solve(zeros({0, 0}), zeros({0})).shape() == shape{0});
  CHECK(linalg::inv(zeros({0, 2, 2})).shape() == shape{0, 2, 2});
}

TEST_CASE("a singular matrix has no finite inverse") {
  CHECK(!std::isfinite(linalg::inv(ones({2, 2})).data<float>()[0]));
  CHECK(!std::isfinite(linalg::solve(zeros({1, 1}), ones({1})).data<float>()[0]));
}

TEST_CASE("solve and inv reject operands that do not fit") {
  CHECK_THROWS_WITH(linalg::solve(zeros({2, 3}), zeros({2})), contains("solve: matrix"));
  CHECK_THROWS_WITH(linalg::solve(eye(3), zeros({2})),
                    contains("solve: b: found f32[2], expected as many rows as f32[3,3]"));
  CHECK_THROWS_WITH(linalg::inv(zeros({3})), contains("inv: matrix"));
}

TEST_CASE("solve of systems with special values, without an element, and of singular ones") {
  const function f = [](const arrays& x) -> arrays { return linalg::solve(x[0], x[1]); };
  for (const dtype t : {f32, f64}) {
    for (const std::int64_t n : {0, 1, 2, 5})
      check_adversarial(f, {hostile({42, n, n}, 3, t), sprinkled({42, n, 3}, 2, t, 100)}, near_in(t));
    check_adversarial(f, {of_every_rank(t), sprinkled({4, 3, 2}, 9, t, 100)}, near_in(t));
  }
}
