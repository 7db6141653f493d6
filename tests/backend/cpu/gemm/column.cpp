// tests/backend/cpu/gemm/column.cpp: products of matrices by vectors, however the matrix lies in memory.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/gemm/column.hpp>
#include <tokamax/numpy/einsum.hpp>
#include <tokamax/numpy/matmul.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("a matrix by a vector agrees with the reference in every order of its axes") {
  for (const dtype t : {f32, bf16})
    for (const shape& s : {shape{1, 32}, {5, 31}, {17, 33}, {300, 64}, {3, 70000}, {2100, 100}, {40, 1025}, {0, 64}}) {
      const double tolerance = t == f32 ? 3e-6 : 8e-3;
      check_adversarial([](const arrays& x) -> arrays { return matmul(x[0], x[1]); },
                        {noise(s, 1, t), noise({s[1]}, 2, t)}, {.tolerance = tolerance, .floor = 1});
      check_threads([](const arrays& x) -> arrays { return matmul(transpose(x[0]), x[1]); },
                    {noise({s[1], s[0]}, 1, t), noise({s[1]}, 2, t)}, tolerance);
    }
}

TEST_CASE("rows have the same bits in a transposed matrix and in one with fewer rows") {
  const array a = noise({90, 700}, 1), x = noise({700}, 2), whole = matmul(a, x);
  CHECK(bit_difference({matmul(transpose(transpose(a)), x)}, {whole}) == "");
  const array turned = transpose(a) + 0.0f;  // in memory
  CHECK(bit_difference({jit([](const array& v, const array& w) { return matmul(transpose(v), w); }, cpu)(turned, x)},
                       {whole}) == "");
  for (const std::int64_t rows : {1, 7, 64})
    CHECK(bit_difference({matmul(slice_in_dim(a, 0, rows, 0), x)}, {slice_in_dim(whole, 0, rows, 0)}) == "");
}

TEST_CASE("batches of matrices and vectors, which a batch may share") {
  const array a = noise({3, 50, 65}, 1), b = noise({3, 65}, 2);
  check_threads([](const arrays& x) -> arrays { return einsum("bij,bj->bi", x[0], x[1]); }, {a, b});
  check_threads([](const arrays& x) -> arrays { return einsum("bji,bj->bi", x[0], x[1]); }, {noise({3, 65, 50}, 1), b});
  check_threads([](const arrays& x) -> arrays { return einsum("bij,j->bi", x[0], x[1]); }, {a, noise({65}, 2)});
}

TEST_CASE("a column by a row has every length of tail") {
  for (const shape& s : {shape{1, 8}, {3, 7}, {33, 32}, {70, 45}, {1000, 1031}})
    check_adversarial([](const arrays& x) -> arrays { return einsum("i,j->ij", x[0], x[1]); },
                      {sprinkled({s[0]}, 1), sprinkled({s[1]}, 2)});
}
