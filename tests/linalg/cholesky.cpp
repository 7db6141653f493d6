// tests/linalg/cholesky.cpp: Cholesky factors, their derivative, and solutions with them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/cholesky.hpp>

#include "linalg/matrices.hpp"
#include "support/threads.hpp"

#include <cmath>
#include <tuple>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("cholesky keeps the contract") {
  check_op(
      linalg::cholesky_p,
      {{{positive_definite({3, 3}, 1)}}, {{positive_definite({2, 4, 4}, 2)}}, {{array::from<float>({2.25f}, {1, 1})}}});
}

TEST_CASE("the factor gives the matrix back") {
  for (const dtype t : {f32, f64})
    for (const std::int64_t n : {1, 2, 7, 33, 130}) {
      const array a = positive_definite({2, n, n}, 3, t);
      const array l = linalg::cholesky(a), u = linalg::cholesky(a, {.upper = true});
      const double bound = (t == f64 ? 1e-14 : 1e-5) * static_cast<double>(n);
      CHECK(apart(matmul(l, linalg::detail::transposed(l)), a) < bound);
      CHECK(apart(matmul(linalg::detail::transposed(u), u), a) < bound);
      CHECK(apart(l, linalg::detail::lower_triangle(l)) == 0);
      CHECK(l.dtype() == t);
    }
}

TEST_CASE("of a matrix that is not symmetric, cholesky takes the symmetric part or the lower triangle") {
  const array a = array::from<float>({4, 100, 2, 5}, {2, 2});
  const array lower = linalg::cholesky(a, {.symmetrize_input = false});
  CHECK(apart(lower, array::from<float>({2, 0, 1, 2}, {2, 2})) < 1e-6);
  CHECK(std::isnan(linalg::cholesky(a).data<float>()[2]));  // the part is not positive definite
}

TEST_CASE("matrices that have no factor give NaN, and the others of the batch do not") {
  const array good = positive_definite({3, 3}, 5);
  array bad = -good;
  const array nan = good * std::numeric_limits<float>::quiet_NaN();
  const array l = linalg::cholesky(stack({good, bad, nan, good}));
  const float* x = l.data<float>();
  for (int i = 0; i < 9; ++i) {
    CHECK(std::isnan(x[9 + i]) == (i % 3 <= i / 3));
    CHECK(std::isnan(x[18 + i]) == (i % 3 <= i / 3));
    CHECK(x[i] == x[27 + i]);
  }
  CHECK(linalg::cholesky(zeros({0, 3, 3})).size() == 0);
  CHECK(linalg::cholesky(zeros({2, 0, 0})).shape() == shape{2, 0, 0});
}

TEST_CASE("blocks of large matrices: the same bits for any number of threads, and NaN from a mistake in any of them") {
  const array a = positive_definite({200, 200}, 3);
  check_same_bits([](const arrays& x) -> arrays { return {linalg::cholesky(x[0])}; }, {a});
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  for (const auto& [row, column, value] :
       {std::tuple{150, 150, -1.0f}, {199, 199, nan}, {199, 0, inf}, {0, 199, -inf}, {70, 130, nan}}) {
    array bad = positive_definite({200, 200}, 3);
    bad.mutable_data<float>()[row * 200 + column] = value;
    const array l = linalg::cholesky(bad);
    int wrong = 0;
    for (int i = 0; i < 200; ++i)
      for (int j = 0; j < 200; ++j) wrong += std::isnan(l.data<float>()[i * 200 + j]) != (j <= i) ? 1 : 0;
    CAPTURE(row, column, value);
    CHECK(wrong == 0);
  }
}

TEST_CASE("cho_solve solves with either triangle") {
  const array a = positive_definite({4, 4}, 6), b = noise({4, 2}, 7), v = noise({4}, 8);
  for (const bool lower : {false, true}) {
    const auto f = linalg::cho_factor(a, lower);
    CHECK(apart(matmul(a, linalg::cho_solve(f, b)), b) < 1e-5);
    CHECK(apart(matmul(a, linalg::cho_solve(f, v)), v) < 1e-5);
  }
  check_function(
      [](const arrays& x) -> arrays {
        const array spd = matmul(x[0], linalg::detail::transposed(x[0])) + eye(3);
        return linalg::cho_solve(linalg::cho_factor(spd), x[1]);
      },
      {noise({3, 3}, 1), noise({3}, 2)}, {.tolerance = 2e-5});
}

TEST_CASE("operands that are no square matrices of floats are rejected") {
  CHECK_THROWS_WITH(linalg::cholesky(zeros({2, 3})),
                    contains("cholesky: matrix: found f32[2,3], expected [..., n, n]"));
  CHECK_THROWS_WITH(linalg::cholesky(zeros({3})), contains("cholesky: matrix"));
  CHECK_THROWS_WITH(linalg::cholesky(zeros({2, 2}, bf16)),
                    contains("cholesky: dtype: found bf16[2,2], expected f32 or f64"));
  CHECK(linalg::cholesky(eye(2, i32)).dtype() == f32);
}

namespace {
using matrix = tensor<f32, 3, 3>;
constexpr auto log_determinant = [](const matrix& a) {
  return sum(log(linalg::detail::diagonal_of(linalg::cholesky(a))));
};
}  // namespace

TEST_CASE("a program that is known while compiling has the values and gradient of one that is not") {
  const matrix a = positive_definite({3, 3}, 9);
  const auto known = jit(value_and_grad(log_determinant), cpu);
  const auto late = jit(value_and_grad(log_determinant), cpu, at_run_time);
  const auto [v, g] = known(a);
  const auto [w, h] = late(a);
  CHECK(v.item() == w.item());
  CHECK(apart(g, h) == 0);
  CHECK(apart(matmul(g, a), eye(3) * 0.5) < 1e-5);  // the gradient is a^-1 / 2
}

TEST_CASE("cholesky of matrices with special values, without an element, and of one") {
  const function factor = [](const arrays& x) -> arrays { return linalg::cholesky(x[0]); };
  for (const dtype t : {f32, f64}) {
    for (const shape& s : {shape{42, 4, 4}, {3, 7, 2, 2}, {42, 1, 1}, {0, 3, 3}, {2, 0, 0}, {5, 41, 41}})
      check_adversarial(factor, {hostile(s, 3, t) + eye(s[s.rank() - 1], t) * 2.0}, near_in(t));
    check_adversarial(factor, {of_every_rank(t)}, near_in(t));
  }
}
