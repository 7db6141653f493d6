// tests/linalg/eig.cpp: eigenvalues of matrices that are not symmetric.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/eig.hpp>

#include "linalg/matrices.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("a v = v diag(w)") {
  for (const dtype t : {f32, f64})
    for (const shape& s : {shape{4, 4}, {2, 7, 7}, {1, 1}, {0, 0}, {0, 2, 2}}) {
      const array a = noise(s, 3, t);
      const auto [w, v] = linalg::eig(a);
      const double bound = t == f64 ? 1e-12 : 1e-4;
      const auto scaled = [](const array& x, const array& d) { return linalg::detail::times_diagonal(x, d); };
      CHECK(apart(matmul(a, v.re), scaled(v.re, w.re) - scaled(v.im, w.im)) < bound);
      CHECK(apart(matmul(a, v.im), scaled(v.re, w.im) + scaled(v.im, w.re)) < bound);
    }
}

TEST_CASE("the gradient of eigenvalues agrees with finite differences") {
  const array a = noise({4, 4}, 3, f64), weights = noise({4}, 4, f64);
  const auto f = [&](const array& x) {
    const auto w = linalg::eigvals(x);
    return sum(w.re * weights + w.im * weights * 0.5 + w.im * w.im);
  };
  const array slope = grad(f)(a);
  double worst = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    array up = a, down = a;
    up.mutable_data<double>()[i] += 1e-6;
    down.mutable_data<double>()[i] -= 1e-6;
    const double difference = (f(up).item<double>() - f(down).item<double>()) / 2e-6;
    worst = std::fmax(worst, std::fabs(difference - slope.data<double>()[i]));
  }
  CHECK(worst < 1e-6);
}

TEST_CASE("the derivative of eigenvectors is refused, and NaN stays in its matrix") {
  const auto f = [](const array& x) { return sum(linalg::eig(x).eigenvectors.re); };
  CHECK_THROWS_WITH(grad(f)(noise({2, 2}, 1)), contains("eig: derivative"));
  CHECK_THROWS_WITH(linalg::eig(zeros({2, 3})), contains("eig: matrix"));
  array bad = noise({2, 3, 3}, 1);
  bad.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const array w = linalg::eigvals(bad).re;
  CHECK(std::isnan(w.data<float>()[0]));
  CHECK(!std::isnan(w.data<float>()[3]));
}

TEST_CASE("eig of matrices with special values: NaN of those that are not finite, and of no others") {
  const function f = [](const arrays& x) -> arrays {
    const auto [w, v] = linalg::eig(x[0]);
    const auto scaled = [](const array& m, const array& d) { return linalg::detail::times_diagonal(m, d); };
    const axes last{x[0].rank() - 2};  // sums over all eigenvalues, whose order is free, and what their vectors fulfil
    return {reduce_sum(w.re, last),
            reduce_sum(w.im, last),
            reduce_sum(w.re * w.re - w.im * w.im, last),
            matmul(x[0], v.re) - scaled(v.re, w.re) + scaled(v.im, w.im),
            matmul(x[0], v.im) - scaled(v.re, w.im) - scaled(v.im, w.re),
            reduce_sum(v.re * v.re + v.im * v.im, last)};
  };
  for (const dtype t : {f32, f64})
    for (const shape& s : {shape{42, 4, 4}, {42, 1, 1}, {2, 3, 2, 2}, {2, 0, 0}, {0, 2, 2}})
      check_adversarial(f, {hostile(s, 3, t)}, near_in(t));
}
