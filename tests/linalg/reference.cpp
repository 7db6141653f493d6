// tests/linalg/reference.cpp: the decompositions in double precision, by loops that are plain enough to trust.
// SPDX-License-Identifier: Apache-2.0
#include "support/reference.hpp"

#include <tokamax/linalg/cholesky.hpp>
#include <tokamax/linalg/eig.hpp>
#include <tokamax/linalg/eigh.hpp>
#include <tokamax/linalg/lu.hpp>
#include <tokamax/linalg/qr.hpp>
#include <tokamax/linalg/schur.hpp>
#include <tokamax/linalg/svd.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <numeric>

using namespace tokamax;
using namespace tokamax::test;

namespace {

/// A matrix as rows of numbers.
struct table {
  std::size_t m = 0, n = 0;
  std::vector<double> x;
  table(std::size_t rows, std::size_t columns) : m(rows), n(columns), x(rows * columns, 0.0) {}
  double& operator()(std::size_t i, std::size_t j) { return x[i * n + j]; }
  double operator()(std::size_t i, std::size_t j) const { return x[i * n + j]; }
};
table turned(const table& a) {
  table t(a.n, a.m);
  for (std::size_t i = 0; i < a.m; ++i)
    for (std::size_t j = 0; j < a.n; ++j) t(j, i) = a(i, j);
  return t;
}
table product(const table& a, const table& b) {
  table c(a.m, b.n);
  for (std::size_t i = 0; i < a.m; ++i)
    for (std::size_t k = 0; k < a.n; ++k)
      for (std::size_t j = 0; j < b.n; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}
table identity(std::size_t n) {
  table t(n, n);
  for (std::size_t i = 0; i < n; ++i) t(i, i) = 1;
  return t;
}
std::size_t extent_from_end(const value& v, int back) { return static_cast<std::size_t>(v.extent(v.rank() - back)); }

/// Applies f to each matrix of the operands. f returns the results for one matrix, which are appended to those before.
values for_each(const asked& a, const types& out,
                const std::function<std::vector<std::vector<double>>(const std::vector<table>&)>& f) {
  values results;
  for (const array_type& t : out) results.push_back({t, {}});
  std::size_t batch = 1;
  for (int i = 0; i + 2 < a.in[0].rank(); ++i) batch *= static_cast<std::size_t>(a.in[0].extent(i));
  for (std::size_t i = 0; i < batch; ++i) {
    std::vector<table> in;
    for (const value& v : a.in) {
      table t(extent_from_end(v, 2), extent_from_end(v, 1));
      std::copy_n(v.data.begin() + static_cast<std::ptrdiff_t>(i * t.x.size()), t.x.size(), t.x.begin());
      in.push_back(t);
    }
    const auto made = f(in);
    for (std::size_t k = 0; k < made.size(); ++k)
      results[k].data.insert(results[k].data.end(), made[k].begin(), made[k].end());
  }
  return results;
}
bool is_finite(const table& t) {
  return std::all_of(t.x.begin(), t.x.end(), [](double x) { return std::isfinite(x); });
}
/// A result for a matrix with NaN or infinities: NaN everywhere.
std::vector<double> undefined(std::size_t n) { return std::vector<double>(n, std::nan("")); }
types types_of_results(const asked& a) {
  arrays in;
  for (const value& v : a.in) in.push_back(array(v.type));
  const call c = call_of(*a.n.op, in.data(), in.count(), a.g.words_of(a.n), a.n.word_count);
  return a.n.op->infer_all ? a.n.op->infer_all(c) : types{a.n.op->infer(c)};
}

values cholesky(const asked& a) {
  return for_each(a, types_of_results(a), [](const std::vector<table>& in) -> std::vector<std::vector<double>> {
    const std::size_t n = in[0].n;
    table l(n, n);
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = j; i < n; ++i) {
        double sum = (in[0](i, j) + in[0](j, i)) / 2;
        for (std::size_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
        l(i, j) = i == j ? std::sqrt(sum) : sum / l(j, j);
        if (i == j && !(sum > 0 && is_finite(in[0]))) {  // not positive definite: nothing of the factor is defined
          for (std::size_t r = 0; r < n; ++r)
            std::fill_n(l.x.begin() + static_cast<std::ptrdiff_t>(r * n), r + 1, std::nan(""));
          return {l.x};
        }
      }
    return {l.x};
  });
}

values solve_triangle(const asked& a) {
  const auto o = a.attrs<linalg::triangular_solve_options>();
  return for_each(a, types_of_results(a), [o](const std::vector<table>& in) -> std::vector<std::vector<double>> {
    const table b = o.left_side ? in[1] : turned(in[1]);
    const bool turn = o.transpose_a == o.left_side;
    const table t = turn ? turned(in[0]) : in[0];
    const bool lower = o.lower != turn;
    table x = b;
    const std::size_t n = t.n;
    for (std::size_t c = 0; c < b.n; ++c)
      for (std::size_t step = 0; step < n; ++step) {
        const std::size_t i = lower ? step : n - 1 - step;
        double sum = b(i, c);
        for (std::size_t k = lower ? 0 : i + 1; k < (lower ? i : n); ++k) sum -= t(i, k) * x(k, c);
        x(i, c) = o.unit_diagonal ? sum : sum / t(i, i);
      }
    return {o.left_side ? x.x : turned(x).x};
  });
}

values lu(const asked& a) {
  return for_each(a, types_of_results(a), [](const std::vector<table>& in) -> std::vector<std::vector<double>> {
    table x = in[0];
    std::vector<double> pivots, order(x.m);
    std::iota(order.begin(), order.end(), 0.0);
    for (std::size_t j = 0; j < std::min(x.m, x.n); ++j) {
      std::size_t best = j;
      for (std::size_t i = j; i < x.m; ++i)
        if (std::fabs(x(i, j)) > std::fabs(x(best, j)) || (std::isnan(x(i, j)) && !std::isnan(x(best, j)))) best = i;
      pivots.push_back(static_cast<double>(best));
      std::swap(order[j], order[best]);
      for (std::size_t k = 0; k < x.n; ++k) std::swap(x(j, k), x(best, k));
      if (x(j, j) == 0) continue;
      for (std::size_t i = j + 1; i < x.m; ++i) {
        x(i, j) /= x(j, j);
        for (std::size_t k = j + 1; k < x.n; ++k) x(i, k) -= x(i, j) * x(j, k);
      }
    }
    return {x.x, pivots, order};
  });
}

/// q is the product of reflections, each of which turns a column onto the axis from which it points away.
values qr(const asked& a) {
  const bool full = a.attrs<linalg::qr_attributes>().full_matrices;
  return for_each(a, types_of_results(a), [full](const std::vector<table>& in) -> std::vector<std::vector<double>> {
    const std::size_t columns = full ? in[0].m : std::min(in[0].m, in[0].n);
    if (!is_finite(in[0])) {
      table triangle(columns, in[0].n);
      for (std::size_t i = 0; i < columns; ++i)
        for (std::size_t j = i; j < in[0].n; ++j) triangle(i, j) = std::nan("");
      return {undefined(in[0].m * columns), triangle.x};
    }
    table r = in[0], q = identity(r.m);
    for (std::size_t j = 0; j < std::min(r.m - (r.m > 0), r.n); ++j) {
      double norm = 0;
      for (std::size_t i = j; i < r.m; ++i) norm += r(i, j) * r(i, j);
      norm = std::sqrt(norm);
      if (norm == 0) continue;
      std::vector<double> v(r.m, 0.0);
      for (std::size_t i = j; i < r.m; ++i) v[i] = r(i, j);
      v[j] += r(j, j) >= 0 ? norm : -norm;
      const double square = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
      table h = identity(r.m);
      for (std::size_t i = 0; i < r.m; ++i)
        for (std::size_t k = 0; k < r.m; ++k) h(i, k) -= 2 * v[i] * v[k] / square;
      r = product(h, r);
      q = product(q, h);
    }
    const std::size_t k = columns;
    table thin(q.m, k), top(k, r.n);
    for (std::size_t i = 0; i < q.m; ++i)
      for (std::size_t j = 0; j < k; ++j) thin(i, j) = q(i, j);
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = i; j < r.n; ++j) top(i, j) = r(i, j);
    return {thin.x, top.x};
  });
}

/// Rotations that make one element after another zero: eigenvalues in ascending order, and vectors as columns.
std::pair<std::vector<double>, table> jacobi(const table& given) {
  const std::size_t n = given.n;
  table x(n, n), v = identity(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) x(i, j) = (given(i, j) + given(j, i)) / 2;
  for (int sweep = 0; sweep < 60; ++sweep)
    for (std::size_t p = 0; p < n; ++p)
      for (std::size_t q = p + 1; q < n; ++q) {
        if (x(p, q) == 0) continue;
        const double angle = (x(q, q) - x(p, p)) / (2 * x(p, q));
        const double t = (angle >= 0 ? 1 : -1) / (std::fabs(angle) + std::sqrt(angle * angle + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        table turn = identity(n);
        turn(p, p) = turn(q, q) = c;
        turn(p, q) = s;
        turn(q, p) = -s;
        x = product(turned(turn), product(x, turn));
        v = product(v, turn);
      }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return x(i, i) < x(j, j); });
  std::vector<double> w;
  table sorted(n, n);
  for (std::size_t k = 0; k < n; ++k) {
    w.push_back(x(order[k], order[k]));
    for (std::size_t i = 0; i < n; ++i) sorted(i, k) = v(i, order[k]);
  }
  return {w, sorted};
}
values eigh(const asked& a) {
  const bool vectors = a.attrs<linalg::eigh_attributes>().compute_vectors;
  return for_each(a, types_of_results(a), [vectors](const std::vector<table>& in) -> std::vector<std::vector<double>> {
    if (!is_finite(in[0])) {
      std::vector<std::vector<double>> nan{undefined(in[0].n)};
      if (vectors) nan.push_back(undefined(in[0].n * in[0].n));
      return nan;
    }
    const auto [w, v] = jacobi(in[0]);
    if (!vectors) return {w};
    return {w, v.x};
  });
}

/// Schur's factors are not unique, so tests compare z t z^T and z^T z, for which a and the identity do as well.
values schur(const asked& a) {
  return for_each(a, types_of_results(a), [](const std::vector<table>& in) -> std::vector<std::vector<double>> {
    const std::size_t n = in[0].n;
    if (!is_finite(in[0])) return {undefined(n * n), undefined(n * n)};
    std::vector<double> identity(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) identity[i * n + i] = 1;
    return {in[0].x, identity};
  });
}

/// Singular vectors are eigenvectors of [[0, a], [a^T, 0]], whose largest eigenvalues are the singular values. Only
/// matrices of full rank have all of them there.
values svd(const asked& a) {
  const bool vectors = a.attrs<linalg::svd_attributes>().compute_uv;
  return for_each(a, types_of_results(a), [vectors](const std::vector<table>& in) -> std::vector<std::vector<double>> {
    const std::size_t m = in[0].m, n = in[0].n, k = std::min(m, n);
    if (!is_finite(in[0])) {
      if (!vectors) return {undefined(k)};
      return {undefined(m * k), undefined(k), undefined(k * n)};
    }
    table both(m + n, m + n);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) both(i, m + j) = both(m + j, i) = in[0](i, j);
    const auto [w, v] = jacobi(both);
    std::vector<double> s;
    table u(m, k), vh(k, n);
    for (std::size_t c = 0; c < k; ++c) {
      const std::size_t at = m + n - 1 - c;
      s.push_back(w[at]);
      for (std::size_t i = 0; i < m; ++i) u(i, c) = v(i, at) * std::sqrt(2.0);
      for (std::size_t j = 0; j < n; ++j) vh(c, j) = v(m + j, at) * std::sqrt(2.0);
    }
    if (!vectors) return {s};
    return {u.x, s, vh.x};
  });
}

using complex = std::complex<double>;

/// The roots of the characteristic polynomial det(x - a), by the method of Durand and Kerner from points on a circle.
std::vector<complex> eigenvalues(const table& a) {
  const std::size_t n = a.n;
  std::vector<double> c(n + 1, 1.0);  // of x^(n - k), by the method of Faddeev and LeVerrier
  table m(n, n);
  for (std::size_t k = 1; k <= n; ++k) {
    m = product(a, m);
    for (std::size_t i = 0; i < n; ++i) m(i, i) += c[k - 1];
    const table am = product(a, m);
    double trace = 0;
    for (std::size_t i = 0; i < n; ++i) trace += am(i, i);
    c[k] = -trace / static_cast<double>(k);
  }
  double radius = 1;
  for (std::size_t k = 1; k <= n; ++k)
    radius = std::fmax(radius, std::pow(std::fabs(c[k]), 1.0 / static_cast<double>(k)));
  std::vector<complex> roots;
  for (std::size_t i = 0; i < n; ++i)
    roots.push_back(std::polar(radius, 0.4 + 6.28 * static_cast<double>(i) / static_cast<double>(n)));
  for (int step = 0; step < 500; ++step)
    for (std::size_t i = 0; i < n; ++i) {
      complex value = 1, others = 1;
      for (std::size_t k = 1; k <= n; ++k) value = value * roots[i] + c[k];
      for (std::size_t j = 0; j < n; ++j)
        if (j != i) others *= roots[i] - roots[j];
      if (others != 0.0) roots[i] -= value / others;
    }
  return roots;
}
/// The vector of an eigenvalue w_i that is not one twice: what the product of all a - w_j but a - w_i leaves of a vector.
values eig(const asked& a) {
  return for_each(a, types_of_results(a), [](const std::vector<table>& in) -> std::vector<std::vector<double>> {
    const std::size_t n = in[0].n;
    if (!is_finite(in[0])) return {undefined(n), undefined(n), undefined(n * n), undefined(n * n)};
    const std::vector<complex> w = eigenvalues(in[0]);
    std::vector<std::vector<double>> out{{}, {}, std::vector<double>(n * n), std::vector<double>(n * n)};
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<complex> v(n);
      for (std::size_t r = 0; r < n; ++r) v[r] = 1.0 + 0.37 * static_cast<double>(r * r);
      for (std::size_t j = 0; j < n; ++j) {
        if (j == i) continue;
        std::vector<complex> next(n);
        for (std::size_t r = 0; r < n; ++r) {
          next[r] = -w[j] * v[r];
          for (std::size_t k = 0; k < n; ++k) next[r] += in[0](r, k) * v[k];
        }
        v = next;
      }
      double square = 0;
      for (const complex& x : v) square += std::norm(x);
      out[0].push_back(w[i].real());
      out[1].push_back(w[i].imag());
      for (std::size_t r = 0; r < n; ++r) {
        out[2][r * n + i] = v[r].real() / std::sqrt(square);
        out[3][r * n + i] = v[r].imag() / std::sqrt(square);
      }
    }
    return out;
  });
}

const bool known = [] {
  auto& rules = reference_rules();
  rules[&linalg::cholesky_p] = cholesky;
  rules[&linalg::triangular_solve_p] = solve_triangle;
  rules[&linalg::lu_p] = lu;
  rules[&linalg::qr_p] = qr;
  rules[&linalg::eigh_p] = eigh;
  rules[&linalg::svd_p] = svd;
  rules[&linalg::eig_p] = eig;
  rules[&linalg::schur_p] = schur;
  return true;
}();

}  // namespace
