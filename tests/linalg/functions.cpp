// tests/linalg/functions.cpp: the functions of matrices that are composed of decompositions give what JAX gives.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/cholesky.hpp>
#include <tokamax/linalg/complex_solve.hpp>
#include <tokamax/linalg/determinant.hpp>
#include <tokamax/linalg/eigh.hpp>
#include <tokamax/linalg/expm.hpp>
#include <tokamax/linalg/least_squares.hpp>
#include <tokamax/linalg/matrix_power.hpp>
#include <tokamax/linalg/norm.hpp>
#include <tokamax/linalg/polyfit.hpp>
#include <tokamax/linalg/products.hpp>
#include <tokamax/linalg/qr.hpp>
#include <tokamax/linalg/tensor_solve.hpp>

#include "linalg/matrices.hpp"
#include "support/golden_cases.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;

linalg::order order_in(options o, const char* name) {
  if (!o.has(name)) return {};
  const std::string text = o.text(name);
  if (text == "fro") return linalg::fro;
  if (text == "nuc") return linalg::nuc;
  return std::stod(text);
}
linalg::norm_options norm_in(options o) {
  linalg::norm_options n{.ord = order_in(o, "ord"), .keepdims = o.flag("keepdims")};
  if (o.has("axis")) n.axis = o.list("axis");
  return n;
}

int degree(options o) { return static_cast<int>(o.integer("deg")); }

case_functions functions() {
  return {
      {"det", [](const arrays& x, options) -> arrays { return linalg::det(x[0]); }},
      {"slogdet",
       [](const arrays& x, options) -> arrays {
         const auto [side, log_abs] = linalg::slogdet(x[0]);
         return {side, log_abs};
       }},
      {"inv", [](const arrays& x, options) -> arrays { return linalg::inv(x[0]); }},
      {"complex_inv",
       [](const arrays& x, options) -> arrays {
         const complex_parts y = linalg::inv(complex_parts{x[0], x[1]});
         return {y.re, y.im};
       }},
      {"complex_solve",
       [](const arrays& x, options) -> arrays {
         const complex_parts y = linalg::solve(complex_parts{x[0], x[1]}, complex_parts{x[2], x[3]});
         return {y.re, y.im};
       }},
      {"complex_eigvalsh",
       [](const arrays& x, options) -> arrays { return linalg::eigvalsh(complex_parts{x[0], x[1]}); }},
      {"matrix_rank", [](const arrays& x, options) -> arrays { return linalg::matrix_rank(x[0]); }},
      {"trace", [](const arrays& x, options) -> arrays { return linalg::trace(x[0]); }},
      {"diagonal", [](const arrays& x, options o) -> arrays { return linalg::diagonal(x[0], o.integer("offset")); }},
      {"matrix_power", [](const arrays& x, options o) -> arrays { return linalg::matrix_power(x[0], o.integer("n")); }},
      {"expm", [](const arrays& x, options) -> arrays { return linalg::expm(x[0]); }},
      {"solve", [](const arrays& x, options) -> arrays { return linalg::solve(x[0], x[1]); }},
      {"solve_triangular",
       [](const arrays& x, options o) -> arrays {
         return linalg::triangular_solve(
             x[0], x[1], {.lower = o.flag("lower"), .transpose_a = o.flag("trans"), .unit_diagonal = o.flag("unit")});
       }},
      {"pinv", [](const arrays& x, options) -> arrays { return linalg::pinv(x[0]); }},
      {"svdvals", [](const arrays& x, options) -> arrays { return linalg::svdvals(x[0]); }},
      {"cond", [](const arrays& x, options o) -> arrays { return linalg::cond(x[0], order_in(o, "p")); }},
      {"polyfit", [](const arrays& x, options o) -> arrays { return polyfit(x[0], x[1], degree(o)); }},
      {"polyfit_weights",
       [](const arrays& x, options o) -> arrays { return polyfit(x[0], x[1], degree(o), {.weights = x[2]}); }},
      {"polyfit_full",
       [](const arrays& x, options o) -> arrays {
         const polyfit_result r = polyfit_full(x[0], x[1], degree(o));
         return {r.coefficients, r.residuals, r.rank, r.singular_values};
       }},
      {"polyfit_covariance",
       [](const arrays& x, options o) { return polyfit_covariance(x[0], x[1], degree(o), {}, o.flag("unscaled")); }},
      {"lstsq", [](const arrays& x, options) -> arrays { return linalg::lstsq(x[0], x[1]).x; }},
      {"cholesky",
       [](const arrays& x, options o) -> arrays { return linalg::cholesky(x[0], {.upper = o.flag("upper")}); }},
      {"cho_solve",
       [](const arrays& x, options) -> arrays { return linalg::cho_solve(linalg::cho_factor(x[0]), x[1]); }},
      {"eigvalsh", [](const arrays& x, options) -> arrays { return linalg::eigvalsh(x[0]); }},
      {"qr_r", [](const arrays& x, options) -> arrays { return linalg::qr(x[0]).r; }},
  };
}

case_functions norms() {
  return {
      {"vector_norm",
       [](const arrays& x, options o) -> arrays {
         const linalg::norm_options n = norm_in(o);
         return linalg::vector_norm(x[0], {n.ord, n.axis, n.keepdims});
       }},
      {"matrix_norm",
       [](const arrays& x, options o) -> arrays { return linalg::matrix_norm(x[0], {.ord = order_in(o, "ord")}); }},
      {"norm", [](const arrays& x, options o) -> arrays { return linalg::norm(x[0], norm_in(o)); }},
      {"multi_dot", [](const arrays& x, options) -> arrays { return linalg::multi_dot(x); }},
      {"outer", [](const arrays& x, options) -> arrays { return linalg::outer(x[0], x[1]); }},
      {"cross", [](const arrays& x, options o) -> arrays { return linalg::cross(x[0], x[1], o.axis(-1)); }},
      {"vecdot", [](const arrays& x, options o) -> arrays { return linalg::vecdot(x[0], x[1], o.axis(-1)); }},
      {"tensorsolve", [](const arrays& x, options) -> arrays { return linalg::tensorsolve(x[0], x[1]); }},
      {"tensorinv",
       [](const arrays& x, options o) -> arrays {
         return linalg::tensorinv(x[0], static_cast<int>(o.integer("ind", 2)));
       }},
  };
}
}  // namespace

TEST_CASE("functions of matrices are those of jax.numpy.linalg and jax.scipy.linalg") {
  check_cases("linalg/functions.txt", functions());
}
TEST_CASE("norms and products are those of jax.numpy.linalg") { check_cases("linalg/norms.txt", norms()); }

TEST_CASE("second derivatives of determinants and the pseudo-inverse") {
  check_function([](const arrays& x) -> arrays { return linalg::det(x[0]); }, {regular({3, 3}, 1)},
                 {.tolerance = 2e-5});
  check_function([](const arrays& x) -> arrays { return linalg::slogdet(x[0]).logabsdet; }, {regular({3, 3}, 1)},
                 {.tolerance = 2e-5});
  check_function([](const arrays& x) -> arrays { return linalg::pinv(x[0]); }, {noise({3, 2}, 2)},
                 {.tolerance = 2e-5, .order = 1});
}

TEST_CASE("least squares of data without full rank has the shortest solution, and says what it found") {
  const array a = array::from<float>({1, 1, 1, 1, 1, 1}, {3, 2}), b = array{1.0f, 2.0f, 3.0f};
  const auto r = linalg::lstsq(a, b);
  CHECK(apart(r.x, array{1.0f, 1.0f}) < 1e-5);
  CHECK(std::fabs(r.residuals.item() - 2) < 1e-5);
  CHECK(r.rank.item<int>() == 1);
  CHECK(apart(r.singular_values, linalg::svdvals(a)) == 0);
  CHECK_THROWS_WITH(linalg::lstsq(a, zeros({2})), contains("lstsq: b"));
}

TEST_CASE("expm of f64 has the digits of f64, and too large a matrix gives NaN") {
  const array a = array::from<double>({0, 7, -7, 0}, {2, 2}), e = linalg::expm(a);
  CHECK(std::fabs(e.data<double>()[0] - std::cos(7.0)) < 1e-13);
  CHECK(std::fabs(e.data<double>()[1] - std::sin(7.0)) < 1e-13);
  CHECK(std::isnan(linalg::expm(eye(2) * 1e7f).data<float>()[0]));
  CHECK(apart(linalg::expm(zeros({2, 2})), eye(2)) == 0);
}

TEST_CASE("a chain of matrices is multiplied in the cheapest order") {
  const linalg::detail::chain_order order({10, 1000, 2, 1000});
  CHECK(order.split[2] == 2);  // the first two, then the last one
  CHECK_THROWS_WITH(linalg::multi_dot({}), contains("multi_dot: operands: found 0, expected two or more"));
}

TEST_CASE("norms of 16-bit floats are rounded once, and so are their gradients") {
  const auto number = [](const array& x) { return astype(x, f64).item<double>(); };
  const array many = full({10000}, 100.0f, f16);  // whose sum of squares is 1e8
  CHECK(number(linalg::norm(many)) == 10000);
  CHECK(number(linalg::norm(many, {3})) == Approx(100 * std::cbrt(10000)).epsilon(1e-3));
  CHECK(number(linalg::norm(many * 0.01f, {1})) == Approx(10000).epsilon(1e-2));
  CHECK(number(linalg::norm(reshape(many, {100, 100}), {linalg::fro})) == 10000);
  CHECK(number(linalg::norm(reshape(many, {100, 100}), {-1})) == 10000);
  CHECK(number(linalg::norm(full({3}, 1e-4f, f16))) == Approx(1.7329e-4).epsilon(2e-3));  // squares vanish in f16
  CHECK(linalg::norm(many).dtype() == f16);
  const array g = grad([](const array& x) { return linalg::norm(x); })(many);
  CHECK(number(g[17]) == Approx(0.01).epsilon(1e-3));
  CHECK(number(max(abs(g - full({10000}, 0.01f, f16)))) == 0);
}
