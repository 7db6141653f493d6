// tokamax/optim/second_order/second_order.hpp: products with Hessians, diagonals, eigenvalues and roots of matrices.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/numpy/matmul.hpp>                        // matmul
#include <tokamax/optim/tree.hpp>                          // vdot, norm
#include <tokamax/random/samplers.hpp>                     // uniform
#include <tokamax/transforms/control_flow/fori_loop.hpp>   // fori_loop
#include <tokamax/transforms/control_flow/while_loop.hpp>  // while_loop
#include <tokamax/transforms/grad.hpp>                     // grad
#include <tokamax/transforms/jvp.hpp>                      // jvp

namespace tokamax::optim {

/// The product of the Hessian of loss(params, inputs...) and v.
/// source  optax.second_order.hvp
template <class Loss, class Params, class... Inputs>
constexpr Params hvp(const Loss& loss, const Params& v, const Params& params, const Inputs&... inputs) {
  const auto slope = grad([&](const Params& p) { return array(loss(p, inputs...)); });
  return jvp(slope, std::tuple{params}, std::tuple{v}).second;
}
/// The diagonal of that Hessian, for one product with each unit vector of a leaf.
/// source  optax.second_order.hessian_diag
template <class Loss, class... Inputs>
constexpr array hessian_diag(const Loss& loss, const array& params, const Inputs&... inputs) {
  const auto entry = [&](const array& i, const array& found) {
    const array unit = reshape(astype(iota(i32, {params.size()}, 0) == i, params.dtype()), params.shape());
    return found + unit * hvp(loss, unit, params, inputs...);
  };
  return fori_loop(0, params.size(), entry, zeros(params.shape(), params.dtype()));
}
/// The squares of the gradient of a negative log-likelihood.
/// source  optax.second_order.fisher_diag
template <class Loss, class Params, class... Inputs>
constexpr Params fisher_diag(const Loss& loss, const Params& params, const Inputs&... inputs) {
  const Params slope = grad([&](const Params& p) { return array(loss(p, inputs...)); })(params);
  return tree::mul(slope, slope);
}

struct power_iteration_options {
  int num_iters = 100;
  double error_tolerance = 1e-6;
};
/// The eigenvalue of the greatest size of a linear function of trees, and its vector of norm 1, from the start v0.
/// source  optax.power_iteration
template <class F, class Tree>
  requires std::is_invocable_v<const F&, const Tree&>
constexpr std::pair<array, Tree> power_iteration(const F& f, const Tree& v0, const power_iteration_options& o = {}) {
  struct search {
    Tree unit, product;
    array value, steps;
  };
  const auto normalized = [](const Tree& t) { return tree::scale(1.0 / tree::norm(t), t); };
  const auto goes_on = [&](const search& s) {
    const array error = tree::norm(tree::sub(s.product, tree::scale(s.value, s.unit)));
    return logical_and(logical_not(abs(error / s.value) < o.error_tolerance), s.steps < o.num_iters);
  };
  const auto next = [&](const search& s) {
    const Tree unit = normalized(s.product), product = f(unit);
    return search{unit, product, tree::vdot(unit, product), s.steps + 1};
  };
  const Tree unit = normalized(v0);
  const search end = while_loop(goes_on, next, search{unit, f(unit), zeros({}), zeros({}, i32)});
  return {end.value, normalized(end.product)};
}
/// The same of a matrix [n, n], from a start with elements from -1 to 1.
constexpr std::pair<array, array> power_iteration(const array& matrix, const power_iteration_options& o = {}) {
  const array v0 = random::uniform(random::key(0), {matrix.extent(1)}, matrix.dtype(), -1.0, 1.0);
  return power_iteration([&](const array& v) { return matmul(matrix, v); }, v0, o);
}

struct inverse_root_options {
  int num_iters = 100;
  double ridge_epsilon = 1e-6, error_tolerance = 1e-6;
};
/// (A + ridge_epsilon e I)^(-1/p) of a symmetric matrix with the greatest eigenvalue e, by Newton's iteration, and the
/// error that is left.
/// shapes  [n, n] -> the same and a scalar
/// errors  "matrix_inverse_pth_root: p" other than 1, 2, 4 and 8
/// source  optax.matrix_inverse_pth_root; Guo, Higham 2006
constexpr std::pair<array, array> matrix_inverse_pth_root(const array& matrix, int p,
                                                          const inverse_root_options& o = {},
                                                          source_line l = source_line::current()) {
  if (p != 1 && p != 2 && p != 4 && p != 8)
    reject(matrix, l, "matrix_inverse_pth_root: p", message() << p, "1, 2, 4 or 8");
  const std::int64_t n = matrix.extent(0);
  const array eye = astype(iota(i32, {n, n}, 0) == iota(i32, {n, n}, 1), f32);
  const array ridge = o.ridge_epsilon * maximum(power_iteration(matrix).first, array(1e-16));
  const array damped = astype(matrix, f32) + ridge * eye;
  if (n == 1) return {astype(power(damped, array(-1.0 / p)), matrix.dtype()), zeros({})};
  struct newton {
    array steps, m, root, before, error, improves;
  };
  const auto error_of = [&](const array& m) { return max(abs(m - eye)); };
  const auto goes_on = [&](const newton& s) {
    return logical_and(s.steps < o.num_iters, logical_and(s.error > o.error_tolerance, s.improves));
  };
  const auto next = [&](const newton& s) {
    const array step = (1.0 + 1.0 / p) * eye - 1.0 / p * s.m;
    array power_of_step = step;
    for (int k = 1; k < p; k *= 2) power_of_step = matmul(power_of_step, power_of_step);
    const array m = matmul(power_of_step, s.m), error = error_of(m);
    return newton{s.steps + 1, m, matmul(s.root, step), s.root, error, error < 1.2 * s.error};
  };
  const array z = (1.0 + p) / (2.0 * sqrt(sum(damped * damped))), first = damped * z;
  const array root = eye * power(z, array(1.0 / p));
  const newton end =
      while_loop(goes_on, next, newton{zeros({}, i32), first, root, root, error_of(first), ones({}, bool_)});
  return {astype(select(end.improves, end.root, end.before), matrix.dtype()), error_of(end.m)};
}

/// The x of 0 or more that minimises |a x - b|, by `iters` steps of the accelerated projected gradient.
/// shapes  a [m, n], b [m] or [m, k] -> [n] or [n, k]
/// source  optax.nnls
constexpr array nnls(const array& a, const array& b, int iters) {
  const array at = transpose(a), q = matmul(at, a), r = matmul(at, b);
  const array frobenius = sqrt(sum(q * q)), columns = max(sum(abs(q), {.axis = {0}}));
  const array bound = minimum(frobenius, columns), length = select(bound == 0, ones_like(bound), bound);
  struct descent {
    array x, p, c;
  };
  const auto step = [&](const array&, const descent& s) {
    const array next = (1.0 + sqrt(1.0 + 4.0 * s.c * s.c)) / 2.0;
    const array x = maximum(s.p - (matmul(q, s.p) - r) / length, zeros_like(s.p));
    return descent{x, x + (s.c - 1.0) / next * (x - s.x), next};
  };
  const array none = zeros_like(r);
  return fori_loop(0, iters, step, descent{none, none, zeros({})}).x;
}

}  // namespace tokamax::optim
