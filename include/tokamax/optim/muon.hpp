// tokamax/optim/muon.hpp: steps by orthogonal matrices.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/optimisers.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>            // sum
#include <tokamax/lax/shapes/transpose.hpp>  // transpose
#include <tokamax/numpy/matmul.hpp>          // matmul
#include <tokamax/optim/adam.hpp>            // scale_by_adam
#include <tokamax/optim/masked.hpp>          // multi_transform

#include <algorithm>  // max
#include <array>      // array
#include <cmath>      // sqrt

namespace tokamax::optim {

/// Coefficients of a step of Newton and Schulz.
using newton_schulz_coefficients = std::array<double, 3>;
inline constexpr newton_schulz_coefficients muon_coefficients{3.4445, -4.7750, 2.0315};

/// Brings the singular values of a matrix near 1 and keeps its singular vectors, by products alone. From x / (|x| + eps), each step
/// computes, with a = x x^T (or of the transposed matrix, if that is smaller),
///
///   x = c0 x + (c1 a + c2 a a) x
///
/// shapes  x [m, n] -> the same
/// errors  "orthogonalize: matrix" of another rank
/// source  optax.contrib.orthogonalize_via_newton_schulz; Jordan 2024, Muon
constexpr array orthogonalize(const array& x, int steps = 5, double eps = 1e-8,
                              const newton_schulz_coefficients& c = muon_coefficients,
                              source_line l = source_line::current()) {
  if (x.rank() != 2) {
    reject(x, l, "orthogonalize: matrix", x.type(), "rank 2");
    return x;
  }
  const bool tall = x.extent(0) > x.extent(1);
  array y = x;
  if (tall) y = transpose(x);
  y = y / (sqrt(sum(y * y)) + eps);
  for (int i = 0; i < steps; ++i) {
    const array a = matmul(y, transpose(y));
    y = c[0] * y + matmul(c[1] * a + c[2] * matmul(a, a), y);
  }
  if (tall) return transpose(y);
  return y;
}

template <class Params>
struct muon_state {
  array count = zeros({}, i32);        ///< updates so far
  Params mu = for_averages(Params{});  ///< averages of gradients
};

/// The orthogonal matrix beside an average gradient, times sqrt(max(1, n / m)) for a kernel [m, n], or with `consistent_rms` r
/// times r sqrt(max(m, n)). With `adaptive` it is also scaled by its product with the gradient.
///
/// shapes  all floating parameters are matrices; give it the others' by `masked` or `multi_transform`
/// dtypes  averages and products of matrices of 16 bits are f32
/// source  optax.contrib.scale_by_muon, scale_by_shape
struct scale_by_muon {
  int steps = 5;
  array beta = 0.95;
  double eps = 1e-8;
  bool nesterov = true, adaptive = false;
  double consistent_rms = 0;  ///< 0: none
  newton_schulz_coefficients coefficients = muon_coefficients;

  template <class Params>
  constexpr muon_state<Params> init(const Params& params) const {
    return {zeros({}, i32), for_averages(zeros_like(params))};
  }
  template <class Params>
  constexpr std::pair<Params, muon_state<Params>> update(const Params& g, const muon_state<Params>& s,
                                                         const Params&) const {
    const array count = incremented(s.count);
    const Params mu = detail::moved(beta, s.mu, g);
    const detail::corrected_mean mean(beta, nesterov, astype(count, f32));
    auto step = [&](const array& m, const array& x) {
      const array average = mean(m, x);
      array y = orthogonalize(average, steps, eps, coefficients);
      if (adaptive) y = sum(average * y) * y;
      return astype(y * factor(x), x.dtype());
    };
    return {map_floating(step, mu, g), {count, mu}};
  }

 private:
  constexpr double factor(const array& x) const {
    const double m = static_cast<double>(x.extent(0)), n = static_cast<double>(x.extent(1));
    if (consistent_rms > 0) return consistent_rms * root(std::max(m, n));
    return root(std::max(1.0, n / m));
  }
  /// sqrt, which constant expressions of C++20 lack.
  static constexpr double root(double x) {
    if (!std::is_constant_evaluated()) return std::sqrt(x);
    double y = x;
    for (int i = 0; i < 100; ++i) y = 0.5 * (y + x / y);
    return y;
  }
};

template <class Schedule = schedule, class Mask = mask>
struct muon_options {
  Schedule learning_rate;
  int steps = 5;
  array beta = 0.95;
  double eps = 1e-8;
  array weight_decay = 0.0;
  Mask only = everything;  ///< the matrices that decay
  bool nesterov = true, adaptive = false;
  double consistent_rms = 0;
  array adam_b1 = 0.9, adam_b2 = 0.999, adam_eps_root = 0.0, adam_weight_decay = 0.0;
};

/// Muon for matrices, and Adam with the same rate for all other parameters. Leave embeddings and heads to Adam by a
/// `multi_transform` of your own.
/// source  optax.contrib.muon; Jordan 2024; Liu et al. 2025, arXiv:2502.16982
template <class Options = muon_options<>>
constexpr auto muon(const Options& o) {
  return multi_transform(
      [](const array& p) { return p.rank() == 2; },
      labelled{true, chain(scale_by_muon{o.steps, o.beta, o.eps, o.nesterov, o.adaptive, o.consistent_rms},
                           add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate})},
      labelled{false, chain(scale_by_adam{o.adam_b1, o.adam_b2, o.eps, o.adam_eps_root, o.nesterov},
                            add_decayed_weights{o.adam_weight_decay}, scale_by_learning_rate{o.learning_rate})});
}

}  // namespace tokamax::optim
