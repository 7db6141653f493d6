// tokamax/optim/matrices/orthogonalize.hpp: matrices near the orthogonal ones, by products alone.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/matrices/muon.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>            // sum
#include <tokamax/lax/shapes/transpose.hpp>  // swapaxes
#include <tokamax/linalg/svd.hpp>            // svdvals
#include <tokamax/numpy/matmul.hpp>          // matmul

#include <algorithm>         // min
#include <array>             // array
#include <initializer_list>  // initializer_list

namespace tokamax::optim {

/// Coefficients of the steps of Newton and Schulz: one row for all steps, or a row for each.
struct newton_schulz_coefficients {
  static constexpr int most = 12;
  std::array<std::array<double, 3>, most> rows{};
  int count = 0;

  constexpr newton_schulz_coefficients(double a, double b, double c) : rows{{{a, b, c}}}, count(1) {}
  constexpr newton_schulz_coefficients(std::initializer_list<std::array<double, 3>> list) {
    if (list.size() < 1 || list.size() > most)
      reject(nullptr, location(), "newton_schulz_coefficients: rows", message() << static_cast<int>(list.size()),
             "1 to 12");
    for (const auto& row : list) rows[static_cast<std::size_t>(count++)] = row;
  }
};
/// source  Jordan 2024, Muon
inline constexpr newton_schulz_coefficients muon_coefficients{3.4445, -4.7750, 2.0315};
/// source  Ahn et al. 2025, arXiv:2504.05295; the preset `dion` of Optax
inline constexpr newton_schulz_coefficients dion_coefficients{{4.0848, -6.8946, 2.9270},
                                                              {3.9505, -6.3029, 2.6377},
                                                              {3.7418, -5.5913, 2.3037},
                                                              {2.8769, -3.1427, 1.2046},
                                                              {2.8366, -3.0525, 1.2012}};
/// The best polynomial of each step for singular values from 0.001 to 1. All but the last step leave a margin of 1 % for
/// rounding.
/// errors  "polar_express: steps" below 1 or above 12
/// source  Amsel et al. 2025, arXiv:2505.16932
constexpr newton_schulz_coefficients polar_express(int steps = 5) {
  constexpr std::array<std::array<double, 3>, 8> best{{{8.28721201814563, -23.595886519098837, 17.300387312530933},
                                                       {4.107059111542203, -2.9478499167379106, 0.5448431082926601},
                                                       {3.9486908534822946, -2.908902115962949, 0.5518191394370137},
                                                       {3.3184196573706015, -2.488488024314874, 0.51004894012372},
                                                       {2.300652019954817, -1.6689039845747493, 0.4188073119525673},
                                                       {1.891301407787398, -1.2679958271945868, 0.37680408948524835},
                                                       {1.8750014808534479, -1.2500016453999487, 0.3750001645474248},
                                                       {1.875, -1.25, 0.375}}};
  constexpr double margin = 1.01;
  if (steps < 1 || steps > newton_schulz_coefficients::most)
    reject(nullptr, location(), "polar_express: steps", message() << steps, "1 to 12");
  newton_schulz_coefficients c(0, 0, 0);
  c.count = steps;
  for (int i = 0; i < steps; ++i) {
    auto& row = c.rows[static_cast<std::size_t>(i)];
    row = best[static_cast<std::size_t>(std::min(i, 7))];
    if (i >= 7) continue;
    row[0] /= margin;
    row[1] /= margin * margin * margin;
    row[2] /= margin * margin * margin * margin * margin;
  }
  return c;
}

/// What brings singular values to 1 and below before the first step: the root of all squares, the largest singular value,
/// the sum of each row of |x x^T|, or the root of the squares of x x^T. The last two take part in the first step and cost no product.
enum class preconditioning : std::uint8_t { frobenius, spectral, aol, schatten };

struct orthogonalize_options {
  int steps = 5;  ///< as many as rows of coefficients, if there are several
  double eps = 1e-8;
  newton_schulz_coefficients coefficients = muon_coefficients;
  optim::preconditioning preconditioning = optim::preconditioning::frobenius;
};

/// Brings the singular values of matrices near 1 and keeps their singular vectors, by products alone. From x / (|x| + eps), each step
/// computes, with a = x x^T (or of the transposed matrix, if that is smaller),
///
///   x = c0 x + (c1 a + c2 a a) x
///
/// shapes  x [..., m, n] -> the same
/// errors  "orthogonalize: matrix" of rank below 2
/// source  optax.contrib._muon.orthogonalize_via_newton_schulz; Jordan 2024, Muon; Boissin et al. 2025, arXiv:2512.04632 (aol);
///         Grishina et al. 2025, arXiv:2506.10935 (schatten)
constexpr array orthogonalize(const array& x, const orthogonalize_options& o = {},
                              source_line l = source_line::current()) {
  if (x.rank() < 2) {
    reject(x, l, "orthogonalize: matrix", x.type(), "rank 2 or more");
    return x;
  }
  using enum preconditioning;
  const bool tall = x.extent(x.rank() - 2) > x.extent(x.rank() - 1);
  const auto squares = [](const array& a) { return sum(a * a, {.axis = {-2, -1}, .keepdims = true}); };
  array y = x;
  if (tall) y = swapaxes(x, -2, -1);
  if (o.preconditioning == frobenius) y = y / (sqrt(squares(y)) + o.eps);
  if (o.preconditioning == spectral && y.size() > 0)
    y = y / (expand_dims(max(linalg::svdvals(y), {.axis = {-1}, .keepdims = true}), -1) + o.eps);
  const int several = o.coefficients.count > 1 ? o.coefficients.count : o.steps;
  for (int i = 0; i < several; ++i) {
    const auto& c = o.coefficients.rows[static_cast<std::size_t>(o.coefficients.count > 1 ? i : 0)];
    array a = matmul(y, swapaxes(y, -2, -1));
    if (i == 0 && o.preconditioning == aol) {
      const array s = rsqrt(maximum(sum(abs(a), {.axis = {-1}, .keepdims = true}), array(1e-8)));
      y = y * s;
      a = a * s * swapaxes(s, -2, -1);
    }
    if (i == 0 && o.preconditioning == schatten) {
      const array s = rsqrt(maximum(sqrt(squares(a)), array(1e-8)));
      y = y * s;
      a = a * (s * s);
    }
    y = c[0] * y + matmul(c[1] * a + c[2] * matmul(a, a), y);
  }
  if (tall) return swapaxes(y, -2, -1);
  return y;
}

}  // namespace tokamax::optim
