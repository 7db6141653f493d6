// tokamax/backend/eigen/linalg.hpp: the host functions of linalg, by Eigen.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (the library of tokamax::linalg includes it, and a program that links no libraries)
// tested by tests/linalg/cholesky.cpp
#pragma once

#include <tokamax/backend/eigen/linalg/factors.hpp>  // kernels of cholesky, of triangular_solve, of lu, of qr
#include <tokamax/backend/eigen/linalg/spectra.hpp>  // kernels of svd, of eigh, of eig, of schur
