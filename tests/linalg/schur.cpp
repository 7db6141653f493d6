// tests/linalg/schur.cpp: Schur's form of real matrices.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/schur.hpp>

#include "linalg/matrices.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("a = z t z^T, and t is triangular but for blocks of two rows") {
  for (const dtype t : {f32, f64})
    for (const shape& s : {shape{4, 4}, {2, 7, 7}, {1, 1}, {0, 0}, {0, 2, 2}}) {
      const array a = noise(s, 3, t);
      const auto [form, z] = linalg::schur(a);
      const double bound = t == f64 ? 1e-12 : 1e-5;
      CHECK(apart(matmul(matmul(z, form), linalg::detail::transposed(z)), a) < bound);
      if (a.size() > 0) CHECK(skew(z) < bound);
      CHECK(apart(linalg::detail::lower_triangle(form, -2), zeros(s, t)) == 0);
    }
}

TEST_CASE("schur refuses what it has no result for, and NaN stays in its matrix") {
  CHECK_THROWS_WITH(linalg::schur(zeros({2, 3})), contains("schur: matrix"));
  CHECK_THROWS_WITH(grad([](const array& x) { return sum(linalg::schur(x).t); })(noise({2, 2}, 1)),
                    contains("schur: derivative"));
  array bad = noise({2, 3, 3}, 1);
  bad.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const array t = linalg::schur(bad).t;
  CHECK(std::isnan(t.data<float>()[0]));
  CHECK(!std::isnan(t.data<float>()[9]));
}

TEST_CASE("schur of matrices with special values: NaN of those that are not finite, and of no others") {
  const function f = [](const arrays& x) -> arrays {
    const auto [form, z] = linalg::schur(x[0]);
    const array back = linalg::detail::transposed(z);
    return {matmul(matmul(z, form), back), matmul(back, z)};
  };
  for (const dtype t : {f32, f64})
    for (const shape& s : {shape{42, 4, 4}, {42, 1, 1}, {2, 3, 2, 2}, {2, 0, 0}, {0, 2, 2}})
      check_adversarial(f, {hostile(s, 3, t)}, near_in(t));
}
