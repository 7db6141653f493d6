// tests/linalg/matrix.cpp: every transform of every transform of decompositions, compared with plain loops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/cholesky.hpp>
#include <tokamax/linalg/determinant.hpp>
#include <tokamax/linalg/solve.hpp>

#include "support/transform_matrix.hpp"

using namespace tokamax;
using namespace tokamax::test;
using namespace tokamax::test::matrix;

namespace {
array matrix_of(const array& x) { return reshape(x, {2, 2}); }

/// Functions that run on the host. Each is its own loop, in f64.
const function_row functions[] = {
    {"solve",
     [](const array& x) {
       return linalg::solve(matrix_of(x) + array(2.0f) * eye(2, x.dtype()), slice_in_dim(x, 1, 3, 0));
     },
     {4}},
    {"cholesky",
     [](const array& x) {
       const array a = matrix_of(x);
       return linalg::cholesky(matmul(a, transpose(a)) + eye(2, x.dtype()));
     },
     {4}},
    {"det", [](const array& x) { return linalg::det(matrix_of(x) + eye(2, x.dtype())) * x; }, {4}},
};

}  // namespace

TEST_CASE("each transform of each transform of decompositions is the loop that it means") {
  for (const function_row& row : functions)
    check_pairs(row, [&](const value& x) { return to_value(row.f(to_array(x))); }, f64, 1e-8);
}
