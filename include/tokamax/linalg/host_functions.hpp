// tokamax/linalg/host_functions.hpp: the functions of the host that compute decompositions, and the attributes of their ops.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/linalg/cholesky.cpp
#pragma once

#include <tokamax/core/kernel_arguments.hpp>  // kernel_arguments

namespace tokamax::linalg {

/// Attributes of triangular_solve.
struct triangular_solve_options {
  bool left_side = true;       ///< solves a x = b; otherwise x a = b
  bool lower = false;          ///< reads the lower triangle of a; otherwise the upper one
  bool transpose_a = false;    ///< solves with the transpose of a
  bool unit_diagonal = false;  ///< takes the diagonal of a to be ones
};

/// Attributes of qr.
struct qr_attributes {
  bool full_matrices = false;  ///< q is [m, m] and r [m, n]; otherwise the smaller extent takes the place of m
};

/// Attributes of svd.
struct svd_attributes {
  bool full_matrices = false;  ///< u is [m, m] and vh [n, n]
  bool compute_uv = true;      ///< otherwise the singular values are the only result
};

/// Attributes of eigh.
struct eigh_attributes {
  bool compute_vectors = true;  ///< otherwise the eigenvalues are the only result
};

namespace detail {

// Each one computes the op of its name, for all matrices of a batch. They run on the host whatever the device of the program:
// backend/eigen/linalg.hpp has their bodies, which a program compiles once, in the library that tokamax::linalg links.
void run_cholesky(const kernel_arguments& a);
void run_triangular_solve(const kernel_arguments& a);
void run_lu(const kernel_arguments& a);
void run_qr(const kernel_arguments& a);
void run_svd(const kernel_arguments& a);
void run_eigh(const kernel_arguments& a);
void run_eig(const kernel_arguments& a);
void run_schur(const kernel_arguments& a);

}  // namespace detail

}  // namespace tokamax::linalg
