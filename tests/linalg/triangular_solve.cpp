// tests/linalg/triangular_solve.cpp: systems with a triangle, on either side, transposed or not.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/triangular_solve.hpp>

#include "linalg/matrices.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("triangular_solve keeps the contract") {
  std::vector<example> examples;
  for (int bits = 0; bits < 16; ++bits) {
    const linalg::triangular_solve_options o{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0};
    examples.push_back({{regular({3, 3}, 1), noise(o.left_side ? shape{3, 2} : shape{2, 3}, 2)}, pack(o)});
  }
  examples.push_back({{regular({2, 2, 2}, 3), noise({2, 2, 1}, 4)}, pack(linalg::triangular_solve_options{})});
  check_op(linalg::triangular_solve_p, examples, {.order = 1});
}

TEST_CASE("vectors, broadcast batches and empty operands have the shapes of b") {
  const array a = regular({3, 3}, 5), v = noise({3}, 6), many = noise({4, 3, 2}, 7);
  const array lower = linalg::detail::lower_triangle(a);
  CHECK(apart(matmul(lower, linalg::triangular_solve(a, v, {.lower = true})), v) < 1e-6);
  CHECK(apart(matmul(linalg::triangular_solve(a, v, {.left_side = false, .lower = true}), lower), v) < 1e-6);
  CHECK(apart(matmul(lower, linalg::triangular_solve(a, many, {.lower = true})), many) < 1e-6);
  CHECK(linalg::triangular_solve(a, zeros({3, 0})).shape() == shape{3, 0});
  CHECK(linalg::triangular_solve(zeros({0, 0}), zeros({0, 2})).shape() == shape{0, 2});
  CHECK(linalg::triangular_solve(a, noise({3}, 1, f64)).dtype() == f64);
}

TEST_CASE("a zero on the diagonal gives infinities, and NaN stays in its column") {
  const array a = array::from<float>({1, 0, 0, 0}, {2, 2});
  CHECK(std::isinf(linalg::triangular_solve(a, ones({2}), {.lower = true}).data<float>()[1]));
  array b = ones({2, 2});
  b.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const array x = linalg::triangular_solve(eye(2), b);
  CHECK(std::isnan(x.data<float>()[0]));
  CHECK(x.data<float>()[1] == 1);
}

TEST_CASE("triangular_solve rejects operands that do not fit") {
  CHECK_THROWS_WITH(linalg::triangular_solve(eye(3), zeros({2, 2})), contains("triangular_solve: b: found f32[2,2]"));
  CHECK_THROWS_WITH(linalg::triangular_solve(zeros({2, 3}), zeros({2})), contains("triangular_solve: matrix"));
  CHECK_THROWS_WITH(linalg::triangular_solve(zeros({2, 2, 2}), zeros({3, 2, 2})), contains("triangular_solve: matrix"));
  CHECK_THROWS_WITH(linalg::triangular_solve(zeros({2, 2}), array(1.0f)), contains("an array with an axis"));
}

TEST_CASE("triangular_solve carries special values of the triangle that it reads, and of the right side") {
  for (const dtype t : {f32, f64})
    for (const bool left : {false, true})
      for (const bool lower : {false, true})
        for (const bool turned : {false, true}) {
          const function f = [=](const arrays& x) -> arrays {
            return linalg::triangular_solve(
                x[0], x[1],
                {.left_side = left, .lower = lower, .transpose_a = turned, .unit_diagonal = left != turned});
          };
          for (const std::int64_t n : {0, 1, 3, 6})
            check_adversarial(f, {hostile({42, n, n}, 5, t), sprinkled({42, n, n}, 3, t, 100)}, near_in(t));
          if (!turned) check_adversarial(f, {of_every_rank(t), sprinkled({4, 3, 3}, 3, t, 100)}, near_in(t));
        }
}
