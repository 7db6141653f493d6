// tokamax/backend/eigen/linalg/factors.hpp: triangular and orthogonal factors: cholesky, triangular_solve, lu, qr.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (backend/eigen/linalg.hpp includes it)
// tested by tests/linalg/lu.cpp
#pragma once

#include <tokamax/backend/eigen/linalg/matrices.hpp>  // for_each_matrix

namespace tokamax::linalg::detail {

/// Calls f(begin, count) for the parts of the lines from `from` to `to`, which threads share. Parts do not depend on the number
/// of threads, so neither do results.
template <class F>
void for_each_part(Eigen::Index from, Eigen::Index to, const F& f) {
  constexpr Eigen::Index lines = 64;
  cpu_backend::parallel_for((to - from + lines - 1) / lines, [&](std::int64_t part) {
    const Eigen::Index begin = from + part * lines;
    f(begin, std::min(lines, to - begin));
  });
}

/// Columns of a matrix by rows.
template <class T>
using part_of_rows = Eigen::Ref<row_major<T>, 0, Eigen::OuterStride<>>;

/// Solves t x = b, where x has b before.
template <class Triangle, class X>
void solve_triangle(const Triangle& t, bool lower, bool unit_diagonal, X all) {
  if (all.size() == 0) return;
  for_each_part(0, all.cols(), [&](Eigen::Index begin, Eigen::Index count) {
    X x = all.middleCols(begin, count);
    if (lower && unit_diagonal) return t.template triangularView<Eigen::UnitLower>().solveInPlace(x);
    if (lower) return t.template triangularView<Eigen::Lower>().solveInPlace(x);
    if (unit_diagonal) return t.template triangularView<Eigen::UnitUpper>().solveInPlace(x);
    t.template triangularView<Eigen::Upper>().solveInPlace(x);
  });
}

/// Calls f(i, j, rows, columns) for the squares of an [n, n] matrix on and below the diagonal. Lines of the caches are read and
/// written whole, also by what exchanges rows and columns.
template <class F>
void for_each_square(Eigen::Index n, const F& f) {
  constexpr Eigen::Index extent = 32;
  for (Eigen::Index i = 0; i < n; i += extent)
    for (Eigen::Index j = 0; j <= i; j += extent) f(i, j, std::min(extent, n - i), std::min(extent, n - j));
}

/// l l^T = x for the lower triangle of a symmetric x, which becomes that of l, in blocks of columns. False if x is not positive
/// definite.
template <class T>
bool factor_in_blocks(matrix<T>& x) {
  constexpr Eigen::Index width = 64;
  const Eigen::Index n = x.rows();
  for (Eigen::Index j = 0; j < n; j += width) {
    const Eigen::Index w = std::min(width, n - j), begin = j + w;
    Eigen::LLT<matrix<T>> factor(x.block(j, j, w, w));
    if (!succeeded(factor)) return false;
    const matrix<T>& l = factor.matrixLLT();
    x.block(j, j, w, w) = l;
    for_each_part(begin, n, [&](Eigen::Index at, Eigen::Index count) {
      auto side = x.block(at, j, count, w);
      l.template triangularView<Eigen::Lower>().transpose().template solveInPlace<Eigen::OnTheRight>(side);
    });
    for_each_part(begin, n, [&](Eigen::Index at, Eigen::Index count) {
      x.block(at, at, n - at, count).noalias() -= x.block(at, j, n - at, w) * x.block(at, j, count, w).transpose();
    });
  }
  return true;
}

/// x = l l^T for the symmetric part of x. A matrix that is not positive definite or not finite has NaN in the lower triangle.
TOKAMAX_BODY void run_cholesky(const kernel_arguments& call) {
  for_each_matrix(call, []<class T>(const kernel_arguments& a, std::int64_t i, T) {
    const auto x = matrix_of<T>(a.in[0], i);
    auto l = matrix_to<T>(a.out[0], i);
    matrix<T> lower(x.rows(), x.cols());
    T zero = 0;  // NaN if an element is not finite
    for_each_square(x.rows(), [&](Eigen::Index r, Eigen::Index c, Eigen::Index m, Eigen::Index n) {
      auto square = lower.block(r, c, m, n);
      square = (x.block(r, c, m, n) + x.block(c, r, n, m).transpose()) * T(0.5);
      zero += (square * T(0)).sum();
    });
    if (zero != T(0) || !factor_in_blocks(lower)) lower.fill(std::numeric_limits<T>::quiet_NaN());
    for_each_square(x.rows(), [&](Eigen::Index r, Eigen::Index c, Eigen::Index m, Eigen::Index n) {
      l.block(r, c, m, n) = lower.block(r, c, m, n);
    });
    for (Eigen::Index r = 0; r < l.rows(); ++r) l.row(r).tail(l.cols() - r - 1).setZero();
  });
}

/// Every system is solved as one with the triangle on the left: x a = b is a^T x^T = b^T. The transpose of a matrix by rows is
/// that matrix by columns, so none is copied.
TOKAMAX_BODY void run_triangular_solve(const kernel_arguments& call) {
  const auto o = call.attrs<triangular_solve_options>();
  for_each_matrix(call, [o]<class T>(const kernel_arguments& a, std::int64_t i, T) {
    const auto t = matrix_of<T>(a.in[0], i);
    auto x = matrix_to<T>(a.out[0], i);
    x = matrix_of<T>(a.in[1], i);
    const auto solve = [&](auto all) {
      if (o.left_side == o.transpose_a)
        solve_triangle(Eigen::Map<const matrix<T>>(t.data(), t.rows(), t.cols()), !o.lower, o.unit_diagonal, all);
      else
        solve_triangle(t, o.lower, o.unit_diagonal, all);
    };
    if (o.left_side)
      solve(part_of_rows<T>(x));
    else
      solve(Eigen::Ref<matrix<T>>(Eigen::Map<matrix<T>>(x.data(), x.cols(), x.rows())));
  });
}

/// Elimination column by column: each step exchanges the row with the largest element, and leaves columns of zeros alone. NaN
/// is taken for the largest.
template <class T>
void eliminate(matrix<T>& x, std::int32_t* pivots) {
  const Eigen::Index m = x.rows(), n = x.cols(), k = std::min(m, n);
  for (Eigen::Index j = 0; j < k; ++j) {
    Eigen::Index best = j;
    for (Eigen::Index r = j + 1; r < m; ++r)
      if (std::abs(x(r, j)) > std::abs(x(best, j)) || (x(r, j) != x(r, j) && x(best, j) == x(best, j))) best = r;
    pivots[j] = static_cast<std::int32_t>(best);
    if (best != j) x.row(j).swap(x.row(best));
    if (x(j, j) == T(0)) continue;
    x.col(j).tail(m - j - 1) /= x(j, j);
    x.bottomRightCorner(m - j - 1, n - j - 1).noalias() -= x.col(j).tail(m - j - 1) * x.row(j).tail(n - j - 1);
  }
}

/// The same in blocks of columns. Each one is eliminated by itself, and then its rows are exchanged in the others and its
/// products are taken from the columns behind it.
template <class T>
void eliminate_in_blocks(Eigen::Map<row_major<T>>& x, std::int32_t* pivots) {
  constexpr Eigen::Index width = 48;
  const Eigen::Index m = x.rows(), n = x.cols(), k = std::min(m, n);
  for (Eigen::Index j = 0; j < k; j += width) {
    const Eigen::Index w = std::min(width, k - j), behind = n - j - w;
    matrix<T> block = x.block(j, j, m - j, w);
    eliminate(block, pivots + j);
    x.block(j, j, m - j, w) = block;
    for (Eigen::Index s = 0; s < w; ++s) {
      const Eigen::Index row = j + s, other = j + pivots[row];
      pivots[row] = static_cast<std::int32_t>(other);
      if (row == other) continue;
      x.row(row).head(j).swap(x.row(other).head(j));
      x.row(row).tail(behind).swap(x.row(other).tail(behind));
    }
    if (behind == 0) continue;
    part_of_rows<T> upper = x.block(j, j + w, w, behind);
    solve_triangle(block.topRows(w), true, true, upper);
    for_each_part(j + w, m, [&](Eigen::Index at, Eigen::Index count) {
      x.block(at, j + w, count, behind).noalias() -= block.middleRows(at - j, count) * upper;
    });
  }
}

/// Out 0 has l and u in one matrix, out 1 the row that step j exchanged with row j, out 2 the rows in their new order.
TOKAMAX_BODY void run_lu(const kernel_arguments& call) {
  for_each_matrix(call, []<class T>(const kernel_arguments& a, std::int64_t i, T) {
    const std::int64_t m = a.out[2].extent(a.out[2].rank() - 1), k = a.out[1].extent(a.out[1].rank() - 1);
    std::int32_t *pivots = a.out[1].as<std::int32_t>() + i * k, *permutation = a.out[2].as<std::int32_t>() + i * m;
    auto x = matrix_to<T>(a.out[0], i);
    x = matrix_of<T>(a.in[0], i);
    eliminate_in_blocks(x, pivots);
    for (std::int64_t r = 0; r < m; ++r) permutation[r] = static_cast<std::int32_t>(r);
    for (std::int64_t j = 0; j < k; ++j) std::swap(permutation[j], permutation[pivots[j]]);
  });
}

/// Householder reflections. q has min(m, n) or m columns, and r as many rows; the rows below the triangle are zeros. The
/// reflections of a matrix that is not finite would leave some columns finite, so all of q and of the triangle is NaN.
TOKAMAX_BODY void run_qr(const kernel_arguments& call) {
  for_each_matrix(call, []<class T>(const kernel_arguments& a, std::int64_t i, T) {
    auto q = matrix_to<T>(a.out[0], i);
    auto r = matrix_to<T>(a.out[1], i);
    const matrix<T> x = matrix_of<T>(a.in[0], i);
    const Eigen::Index m = x.rows(), k = q.cols();
    r.setZero();
    if (x.size() == 0) {
      q.setIdentity();
      return;
    }
    if (!x.allFinite()) {
      fill_with_nan<T>(a.out[0], i, 2);
      r.template triangularView<Eigen::Upper>().fill(std::numeric_limits<T>::quiet_NaN());
      return;
    }
    const Eigen::HouseholderQR<matrix<T>> factor(x);
    const Eigen::Index least = std::min(x.rows(), x.cols());
    r.topRows(least).template triangularView<Eigen::Upper>() = factor.matrixQR().topRows(least);
    matrix<T> basis = matrix<T>::Identity(m, k);
    basis.applyOnTheLeft(factor.householderQ());
    q = basis;
  });
}

}  // namespace tokamax::linalg::detail
