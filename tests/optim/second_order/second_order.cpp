// tests/optim/second_order/second_order.cpp: products with Hessians, eigenvalues and roots of matrices, and non-negative least squares.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/second_order/second_order.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace optim = tokamax::optim;
using tk::array;
using tk::test::distance;

namespace {
// sum(c x^3): its Hessian is 6 c x on the diagonal
array cubes(const array& x, const array& c) { return tk::sum(c * x * x * x); }
const array x = array::from<float>({1, -2, 3}), c = array::from<float>({1, 2, 0.5f});
}  // namespace

TEST_CASE("second derivatives of a loss") {
  CHECK(distance(optim::hvp(cubes, array::from<float>({1, 1, 2}), x, c), array::from<float>({6, -24, 18})) < 1e-5);
  CHECK(distance(optim::hessian_diag(cubes, x, c), array::from<float>({6, -24, 9})) < 1e-5);
  CHECK(distance(optim::fisher_diag(cubes, x, c), array::from<float>({9, 576, 182.25f})) < 1e-5);
}

TEST_CASE("the greatest eigenvalue and roots of a matrix") {
  const array a = array::from<float>({4, 1, 0, 1, 3, 1, 0, 1, 2}, {3, 3});
  const auto [value, vector] = optim::power_iteration(a);
  CHECK(value.item() == Approx(4.7320508));
  CHECK(distance(tk::matmul(a, vector), vector * value) < 1e-4);
  const auto negated = optim::power_iteration([&](const array& v) { return tk::matmul(-a, v); }, tk::ones({3}));
  CHECK(negated.first.item() == Approx(-4.7320508));
  for (const int p : {1, 2, 4, 8}) {
    CAPTURE(p);
    const auto [root, error] = optim::matrix_inverse_pth_root(a, p);
    array power = root;
    for (int k = 1; k < p; k *= 2) power = tk::matmul(power, power);
    CHECK(distance(tk::matmul(power, a), tk::eye(3)) < 1e-4);
    CHECK(error.item() < 1e-4);
  }
  CHECK(optim::matrix_inverse_pth_root(tk::full({1, 1}, 16.0f), 4).first.item() == Approx(0.5));
  CHECK_THROWS_WITH(optim::matrix_inverse_pth_root(a, 3), contains("matrix_inverse_pth_root: p: found 3"));
}

TEST_CASE("least squares without negative numbers") {
  const array a = array::from<float>({1, 2, 3, 4, 5, 7, 2, 0, 1}, {3, 3});
  const array expected = array::from<float>({0, 2, 0.5f});
  CHECK(distance(optim::nnls(a, tk::matmul(a, expected), 2000), expected) < 1e-2);
  const array bound = optim::nnls(tk::eye(2), array::from<float>({-1, 2}), 50);
  CHECK(distance(bound, array::from<float>({0, 2})) < 1e-6);
  CHECK(distance(optim::nnls(tk::zeros({2, 2}), tk::ones({2}), 5), tk::zeros({2})) == 0);
}
