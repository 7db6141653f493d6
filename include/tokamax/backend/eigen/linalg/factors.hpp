// tokamax/backend/eigen/linalg/factors.hpp: triangular and orthogonal factors: cholesky, triangular_solve, lu, qr.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (backend/eigen/linalg.hpp includes it)
// tested by tests/linalg/lu.cpp
#pragma once

#include <tokamax/backend/eigen/linalg/matrices.hpp>  // for_each_matrix

namespace tokamax::linalg::detail {

/// x = l l^T for the symmetric part of x. A matrix that is not positive definite or not finite has NaN in the lower triangle.
TOKAMAX_BODY void run_cholesky(const kernel_arguments& call) {
  for_each_matrix(call, []<class T>(const kernel_arguments& a, std::int64_t i, T) {
    const auto x = matrix_of<T>(a.in[0], i);
    auto l = matrix_to<T>(a.out[0], i);
    const matrix<T> symmetric = (x + x.transpose()) * T(0.5);
    const Eigen::LLT<matrix<T>> factor(symmetric);
    l.setZero();
    if (x.rows() > 0 && (factor.info() != Eigen::Success || !symmetric.allFinite()))
      l.template triangularView<Eigen::Lower>().fill(std::numeric_limits<T>::quiet_NaN());
    else
      l.template triangularView<Eigen::Lower>() = factor.matrixL();
  });
}

/// Every system is solved as one with a lower triangle on the left. x a = b is a^T x^T = b^T, and an upper triangle is a lower
/// one when its rows and columns are read from the end.
TOKAMAX_BODY void run_triangular_solve(const kernel_arguments& call) {
  const auto o = call.attrs<triangular_solve_options>();
  for_each_matrix(call, [o]<class T>(const kernel_arguments& a, std::int64_t i, T) {
    const bool turned = o.left_side == o.transpose_a, from_end = o.lower == turned;
    matrix<T> t = matrix_of<T>(a.in[0], i), x = matrix_of<T>(a.in[1], i);
    if (turned) t = t.transpose().eval();
    if (!o.left_side) x = x.transpose().eval();
    if (from_end) {
      t = t.reverse().eval();
      x = x.colwise().reverse().eval();
    }
    if (o.unit_diagonal) t.diagonal().setOnes();
    if (x.size() > 0) t.template triangularView<Eigen::Lower>().solveInPlace(x);
    if (from_end) x = x.colwise().reverse().eval();
    if (!o.left_side) x = x.transpose().eval();
    matrix_to<T>(a.out[0], i) = x;
  });
}

/// Elimination column by column: each step exchanges the row with the largest element, and leaves columns of zeros alone. NaN
/// is taken for the largest.
template <class T>
void eliminate(matrix<T>& x, std::int32_t* pivots, std::int32_t* permutation) {
  const Eigen::Index m = x.rows(), n = x.cols(), k = std::min(m, n);
  for (Eigen::Index r = 0; r < m; ++r) permutation[r] = static_cast<std::int32_t>(r);
  for (Eigen::Index j = 0; j < k; ++j) {
    Eigen::Index best = j;
    for (Eigen::Index r = j + 1; r < m; ++r)
      if (std::abs(x(r, j)) > std::abs(x(best, j)) || (x(r, j) != x(r, j) && x(best, j) == x(best, j))) best = r;
    pivots[j] = static_cast<std::int32_t>(best);
    if (best != j) {
      x.row(j).swap(x.row(best));
      std::swap(permutation[j], permutation[best]);
    }
    if (x(j, j) == T(0)) continue;
    x.col(j).tail(m - j - 1) /= x(j, j);
    x.bottomRightCorner(m - j - 1, n - j - 1).noalias() -= x.col(j).tail(m - j - 1) * x.row(j).tail(n - j - 1);
  }
}

/// Out 0 has l and u in one matrix, out 1 the row that step j exchanged with row j, out 2 the rows in their new order.
TOKAMAX_BODY void run_lu(const kernel_arguments& call) {
  for_each_matrix(call, []<class T>(const kernel_arguments& a, std::int64_t i, T) {
    const std::int64_t m = a.out[2].extent(a.out[2].rank() - 1), k = a.out[1].extent(a.out[1].rank() - 1);
    std::int32_t *pivots = a.out[1].as<std::int32_t>() + i * k, *permutation = a.out[2].as<std::int32_t>() + i * m;
    matrix<T> x = matrix_of<T>(a.in[0], i);
    // Blocks are worth their cost from this size on. Their search for pivots is not made for NaN.
    if (x.rows() == x.cols() && x.rows() >= 32 && x.allFinite()) {
      Eigen::PartialPivLU<Eigen::Ref<matrix<T>>> factor(x);
      const auto& p = factor.permutationP().indices();  // row r moves to p[r]
      std::vector<std::int32_t> to(static_cast<std::size_t>(m));
      for (std::int64_t r = 0; r < m; ++r) permutation[p[r]] = static_cast<std::int32_t>(r);
      // The exchanges that lead to the permutation: each step brings the wanted row to its place.
      for (std::int64_t r = 0; r < m; ++r) to[static_cast<std::size_t>(r)] = static_cast<std::int32_t>(r);
      for (std::int64_t j = 0; j < m; ++j) {
        std::int64_t at = j;
        while (to[static_cast<std::size_t>(at)] != permutation[j]) ++at;
        pivots[j] = static_cast<std::int32_t>(at);
        std::swap(to[static_cast<std::size_t>(j)], to[static_cast<std::size_t>(at)]);
      }
    } else {
      eliminate(x, pivots, permutation);
    }
    matrix_to<T>(a.out[0], i) = x;
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
