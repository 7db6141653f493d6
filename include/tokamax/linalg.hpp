// tokamax/linalg.hpp: all of linalg.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (a program that decomposes matrices includes it and links tokamax::linalg)
//
//   linalg/cholesky.hpp          a positive definite matrix as the product of a triangle and its transpose.
//   linalg/complex_solve.hpp     linear systems, inverses and eigenvalues of complex matrices, as real ones of twice the size.
//   linalg/determinant.hpp       determinants, their logarithms, and cofactors: det and slogdet.
//   linalg/eig.hpp               eigenvalues and eigenvectors of square matrices that need not be symmetric.
//   linalg/eigh.hpp              eigenvalues and eigenvectors of symmetric matrices.
//   linalg/expm.hpp              the exponential of a matrix.
//   linalg/host_functions.hpp    the functions of the host that compute decompositions, and the attributes of their ops.
//   linalg/least_squares.hpp     systems without exact or unique solution: pinv, lstsq, matrix_rank.
//   linalg/lu.hpp                a matrix as a lower triangle times an upper one, with rows exchanged.
//   linalg/matrices.hpp          arrays as batches of matrices, which are their last two axes: checks, transposes, triangles.
//   linalg/matrix_power.hpp      powers of matrices with an integer exponent.
//   linalg/norm.hpp              norms of vectors and matrices, and the condition number: norm, vector_norm, matrix_norm, cond.
//   linalg/polyfit.hpp           polynomials through points, by least squares: polyfit.
//   linalg/products.hpp          products of vectors and of many matrices: multi_dot, outer, cross, vecdot, trace, diagonal.
//   linalg/qr.hpp                a matrix as orthonormal columns times an upper triangle.
//   linalg/random.hpp            samples that need a decomposition of a matrix: multivariate_normal, orthogonal.
//   linalg/schur.hpp             a square matrix as an orthogonal basis times a matrix that is triangular but for blocks of two rows.
//   linalg/solve.hpp             systems of linear equations, and the inverse of a matrix.
//   linalg/svd.hpp               the singular value decomposition.
//   linalg/tensor_solve.hpp      linear equations between tensors: tensorsolve and tensorinv.
//   linalg/triangular_solve.hpp  systems of equations whose matrix is a triangle.
#pragma once

#include <tokamax/linalg/cholesky.hpp>
#include <tokamax/linalg/complex_solve.hpp>
#include <tokamax/linalg/determinant.hpp>
#include <tokamax/linalg/eig.hpp>
#include <tokamax/linalg/eigh.hpp>
#include <tokamax/linalg/expm.hpp>
#include <tokamax/linalg/host_functions.hpp>
#include <tokamax/linalg/least_squares.hpp>
#include <tokamax/linalg/lu.hpp>
#include <tokamax/linalg/matrices.hpp>
#include <tokamax/linalg/matrix_power.hpp>
#include <tokamax/linalg/norm.hpp>
#include <tokamax/linalg/polyfit.hpp>
#include <tokamax/linalg/products.hpp>
#include <tokamax/linalg/qr.hpp>
#include <tokamax/linalg/random.hpp>
#include <tokamax/linalg/schur.hpp>
#include <tokamax/linalg/solve.hpp>
#include <tokamax/linalg/svd.hpp>
#include <tokamax/linalg/tensor_solve.hpp>
#include <tokamax/linalg/triangular_solve.hpp>
