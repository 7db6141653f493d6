// tests/linalg/svd.cpp: singular value decompositions and their derivative.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/svd.hpp>

#include "linalg/matrices.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// u diag(s^2) vh and the singular values: they do not depend on the signs of the vectors.
arrays without_signs(const arrays& x) {
  const auto [u, s, vh] = linalg::svd(x[0]);
  return {matmul(linalg::detail::times_diagonal(u, s * s), vh), s};
}
}  // namespace

TEST_CASE("svd and its derivative are right for every shape") {
  for (const shape& s : {shape{3, 3}, {4, 2}, {2, 4}, {2, 3, 2}, {1, 1}})
    check_function(without_signs, {noise(s, 1)}, {.tolerance = 2e-5, .order = 1});
  check_function([](const arrays& x) -> arrays { return linalg::svdvals(x[0]); }, {noise({3, 2}, 4)},
                 {.tolerance = 2e-5, .order = 2});
}

TEST_CASE("u s vh gives the matrix back") {
  for (const dtype t : {f32, f64})
    for (const bool full : {false, true})
      for (const shape& s : {shape{5, 5}, {2, 6, 3}, {2, 3, 6}, {1, 1}, {50, 40}, {0, 3}, {3, 0}, {0, 2, 2}}) {
        const array a = noise(s, 5, t);
        const auto [u, w, vh] = linalg::svd(a, full);
        INFO(std::string(message(a.type()).view()));
        const double bound = t == f64 ? 1e-13 : 5e-5;
        const std::int64_t k = w.extent(w.rank() - 1);
        const array thin_u = slice_in_dim(u, 0, k, -1), thin_vh = slice_in_dim(vh, 0, k, -2);
        CHECK(apart(matmul(linalg::detail::times_diagonal(thin_u, w), thin_vh), a) < bound);
        CHECK(skew(u) < bound);
        CHECK(skew(linalg::detail::transposed(vh)) < bound);
        CHECK(apart(w, linalg::svdvals(a)) < bound);
      }
}

TEST_CASE("matrices without full rank, zeros and NaN") {
  const auto [u, s, vh] = linalg::svd(ones({3, 2}));
  CHECK(std::fabs(s.data<float>()[0] - std::sqrt(6.0f)) < 1e-5f);
  CHECK(s.data<float>()[1] < 1e-6f);
  CHECK(skew(u) < 1e-5);
  CHECK(apart(linalg::svdvals(zeros({2, 2})), zeros({2})) == 0);
  array bad = noise({2, 3, 3}, 1);
  bad.mutable_data<float>()[4] = std::numeric_limits<float>::infinity();
  const array w = linalg::svdvals(bad);
  CHECK(std::isnan(w.data<float>()[0]));
  CHECK(!std::isnan(w.data<float>()[3]));
}

TEST_CASE("the derivative of vectors that complete a basis is refused") {
  const auto f = [](const array& x) { return sum(linalg::svd(x, true).u); };
  CHECK_THROWS_WITH(grad(f)(noise({4, 2}, 1)), contains("svd: derivative"));
  const auto g = [](const array& x) { return sum(linalg::svd(x, true).s); };
  CHECK(grad(g)(noise({4, 2}, 1)).shape() == shape{4, 2});
  CHECK_THROWS_WITH(linalg::svd(zeros({3})), contains("svd: matrix"));
}

TEST_CASE("svd of matrices with special values: NaN of those that are not finite, and of no others") {
  const function f = [](const arrays& x) -> arrays {
    const auto [u, s, vh] = linalg::svd(x[0]);
    return {s, linalg::svdvals(x[0]), matmul(linalg::detail::times_diagonal(u, s), vh)};
  };
  for (const dtype t : {f32, f64}) {
    for (const shape& s :
         {shape{42, 4, 4}, {42, 1, 1}, {21, 3, 5}, {21, 5, 3}, {2, 3, 2, 2}, {2, 0, 3}, {2, 3, 0}, {0, 2, 2}})
      check_adversarial(f, {hostile_rectangles(s, 3, t)}, near_in(t));
    check_adversarial(f, {of_every_rank(t)}, near_in(t));
  }
}
