// tokamax/backend/eigen/linalg/spectra.hpp: singular values and eigenvalues: svd, eigh, eig, schur.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (backend/eigen/linalg.hpp includes it)
// tested by tests/linalg/svd.cpp
#pragma once

#include <tokamax/backend/eigen/linalg/matrices.hpp>  // for_each_matrix

namespace tokamax::linalg::detail {

template <class T>
void singular_values(const kernel_arguments& a, std::int64_t i, const svd_attributes& o) {
  const matrix<T> x = matrix_of<T>(a.in[0], i);
  const int s = o.compute_uv ? 1 : 0;
  if (x.size() == 0) {
    if (o.compute_uv) {
      matrix_to<T>(a.out[0], i).setIdentity();
      matrix_to<T>(a.out[2], i).setIdentity();
    }
    return;
  }
  const unsigned vectors =
      o.full_matrices ? Eigen::ComputeFullU | Eigen::ComputeFullV : Eigen::ComputeThinU | Eigen::ComputeThinV;
  const bool finite = x.allFinite();
  const Eigen::BDCSVD<matrix<T>> factor(finite ? x : matrix<T>::Zero(x.rows(), x.cols()).eval(),
                                        o.compute_uv ? vectors : 0u);
  if (!finite || !succeeded(factor)) {
    fill_with_nan<T>(a.out[s], i, 1);
    if (o.compute_uv) {
      fill_with_nan<T>(a.out[0], i, 2);
      fill_with_nan<T>(a.out[2], i, 2);
    }
    return;
  }
  vector_to<T>(a.out[s], i) = factor.singularValues();
  if (o.compute_uv) {
    matrix_to<T>(a.out[0], i) = factor.matrixU();
    matrix_to<T>(a.out[2], i) = factor.matrixV().transpose();
  }
}

TOKAMAX_BODY void run_svd(const kernel_arguments& call) {
  const auto o = call.attrs<svd_attributes>();
  for_each_matrix(call, [o]<class T>(const kernel_arguments& a, std::int64_t i, T) { singular_values<T>(a, i, o); });
}

TOKAMAX_BODY void run_eigh(const kernel_arguments& call) {
  const bool vectors = call.attrs<eigh_attributes>().compute_vectors;
  for_each_matrix(call, [vectors]<class T>(const kernel_arguments& a, std::int64_t i, T) {
    const auto x = matrix_of<T>(a.in[0], i);
    if (x.size() == 0) return;
    const matrix<T> symmetric = (x + x.transpose()) * T(0.5);
    const bool finite = symmetric.allFinite();
    Eigen::SelfAdjointEigenSolver<matrix<T>> solver;
    if (finite) solver.compute(symmetric, vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
    if (!finite || !succeeded(solver)) {
      fill_with_nan<T>(a.out[0], i, 1);
      if (vectors) fill_with_nan<T>(a.out[1], i, 2);
      return;
    }
    vector_to<T>(a.out[0], i) = solver.eigenvalues();
    if (vectors) matrix_to<T>(a.out[1], i) = solver.eigenvectors();
  });
}

TOKAMAX_BODY void run_eig(const kernel_arguments& call) {
  for_each_matrix(call, []<class T>(const kernel_arguments& a, std::int64_t i, T) {
    const matrix<T> x = matrix_of<T>(a.in[0], i);
    if (x.size() == 0) return;
    const bool finite = x.allFinite();
    Eigen::EigenSolver<matrix<T>> solver;
    if (finite) solver.compute(x, true);
    if (!finite || !succeeded(solver)) {
      for (int k = 0; k < 4; ++k) fill_with_nan<T>(a.out[k], i, k < 2 ? 1 : 2);
      return;
    }
    vector_to<T>(a.out[0], i) = solver.eigenvalues().real();
    vector_to<T>(a.out[1], i) = solver.eigenvalues().imag();
    matrix_to<T>(a.out[2], i) = solver.eigenvectors().real();
    matrix_to<T>(a.out[3], i) = solver.eigenvectors().imag();
  });
}

TOKAMAX_BODY void run_schur(const kernel_arguments& call) {
  for_each_matrix(call, []<class T>(const kernel_arguments& a, std::int64_t i, T) {
    const matrix<T> x = matrix_of<T>(a.in[0], i);
    if (x.size() == 0) return;
    const bool finite = x.allFinite();
    Eigen::RealSchur<matrix<T>> solver(x.rows());
    if (finite) solver.compute(x, true);
    if (!finite || !succeeded(solver)) {
      for (int k = 0; k < 2; ++k) fill_with_nan<T>(a.out[k], i, 2);
      return;
    }
    matrix_to<T>(a.out[0], i) = solver.matrixT();
    matrix_to<T>(a.out[1], i) = solver.matrixU();
  });
}

}  // namespace tokamax::linalg::detail
