// tests/linalg/eigh.cpp: eigenvalues and eigenvectors of symmetric matrices, and their derivative.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/eigh.hpp>

#include "linalg/matrices.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// v diag(w^3) v^T and the eigenvalues: they do not depend on the signs of the vectors.
arrays without_signs(const arrays& x) {
  const auto [w, v] = linalg::eigh(x[0]);
  return {matmul(linalg::detail::times_diagonal(v, w * w * w), linalg::detail::transposed(v)), w};
}
}  // namespace

TEST_CASE("eigh and its derivative are right") {
  for (const shape& s : {shape{3, 3}, {2, 4, 4}, {1, 1}})
    check_function(without_signs, {noise(s, 1)}, {.tolerance = 3e-5, .order = 1});
  check_function([](const arrays& x) -> arrays { return linalg::eigvalsh(x[0]); }, {noise({3, 3}, 4)},
                 {.tolerance = 2e-5, .order = 2});
}

TEST_CASE("v w v^T gives the matrix back") {
  for (const dtype t : {f32, f64})
    for (const shape& s : {shape{5, 5}, {2, 30, 30}, {1, 1}, {0, 0}, {0, 2, 2}}) {
      const array a = linalg::detail::symmetric_part(noise(s, 5, t));
      const auto [w, v] = linalg::eigh(a);
      const double bound = t == f64 ? 1e-13 : 2e-5;
      CHECK(apart(matmul(linalg::detail::times_diagonal(v, w), linalg::detail::transposed(v)), a) < bound);
      CHECK(skew(v) < bound);
      CHECK(apart(w, linalg::eigvalsh(a)) < bound);
    }
}

TEST_CASE("eigenvalues ascend, and NaN stays in its matrix") {
  const array w = linalg::eigvalsh(array::from<float>({2, 0, 0, 0, -1, 0, 0, 0, 7}, {3, 3}));
  CHECK(apart(w, array{-1.0f, 2.0f, 7.0f}) < 1e-6);
  array bad = noise({2, 3, 3}, 1);
  bad.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const array x = linalg::eigvalsh(bad);
  CHECK(std::isnan(x.data<float>()[0]));
  CHECK(!std::isnan(x.data<float>()[3]));
  CHECK_THROWS_WITH(linalg::eigh(zeros({2, 3})), contains("eigh: matrix"));
}

TEST_CASE("eigh of matrices with special values: NaN of those that are not finite, and of no others") {
  const function f = [](const arrays& x) -> arrays {
    const auto [w, v] = linalg::eigh(x[0]);
    const array back = linalg::detail::transposed(v);
    return {w, linalg::eigvalsh(x[0]), matmul(linalg::detail::times_diagonal(v, w), back), matmul(back, v)};
  };
  for (const dtype t : {f32, f64}) {
    for (const shape& s : {shape{42, 4, 4}, {42, 1, 1}, {2, 3, 2, 2}, {2, 0, 0}, {0, 2, 2}})
      check_adversarial(f, {hostile(s, 3, t)}, near_in(t));
    check_adversarial(f, {of_every_rank(t)}, near_in(t));
  }
}
