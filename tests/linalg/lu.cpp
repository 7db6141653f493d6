// tests/linalg/lu.cpp: LU decompositions of square, tall, wide, singular and empty matrices.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/lu.hpp>
#include <tokamax/linalg/solve.hpp>

#include "linalg/matrices.hpp"
#include "support/threads.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("lu keeps the contract") {
  check_op(linalg::lu_p, {{{regular({3, 3}, 1)}}, {{noise({4, 3}, 2)}}, {{noise({2, 3, 4}, 3)}}, {{noise({1, 1}, 4)}}},
           {.tolerance = 2e-5, .order = 1});
}

TEST_CASE("p l u gives the matrix back") {
  for (const dtype t : {f32, f64})
    for (const shape& s : {shape{5, 5},
                           {40, 40},
                           {2, 6, 3},
                           {2, 3, 6},
                           {1, 1},
                           {0, 3},
                           {3, 0},
                           {0, 2, 2},
                           {2, 100, 100},
                           {150, 70},
                           {70, 150}}) {
      const array a = noise(s, 5, t);
      const auto [p, l, u] = linalg::lu(a);
      INFO(std::string(message(a.type()).view()));
      CHECK(apart(matmul(p, matmul(l, u)), a) < (t == f64 ? 1e-13 : 2e-5));
      CHECK(apart(u, linalg::detail::upper_triangle(u)) == 0);
      const linalg::packed_lu f = linalg::lu_factor(a);
      const auto order = f.permutation.values<std::int32_t>(), swaps = f.pivots.values<std::int32_t>();
      if (s.rank() != 2) continue;
      std::vector<std::int32_t> made(order.size());  // the exchanges, one after the other, make the permutation
      for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::int32_t>(i);
      for (std::size_t i = 0; i < swaps.size(); ++i) std::swap(made[i], made[static_cast<std::size_t>(swaps[i])]);
      CHECK(std::equal(made.begin(), made.end(), order.begin()));
    }
}

TEST_CASE("blocks of large matrices are the same for any number of threads") {
  const array a = regular({200, 200}, 3);
  check_same_bits([](const arrays& x) -> arrays { return {linalg::lu_factor(x[0]).lu}; }, {a});
  check_same_bits([](const arrays& x) -> arrays { return {linalg::solve(x[0], x[1])}; }, {a, noise({200, 150}, 4)});
}

TEST_CASE("singular matrices and those with NaN are decomposed, too") {
  const auto [p, l, u] = linalg::lu(array::from<float>({1, 2, 3, 2, 4, 6, 1, 1, 1}, {3, 3}));
  CHECK(u.data<float>()[8] == 0);
  CHECK(apart(linalg::lu(zeros({3, 3})).u, zeros({3, 3})) == 0);
  array bad = regular({2, 3, 3}, 1);
  bad.mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const array f = linalg::lu_factor(bad).lu;
  CHECK(std::isnan(f.data<float>()[8]));
  CHECK(!std::isnan(f.data<float>()[17]));
}

TEST_CASE("operands that are no matrices of floats are rejected") {
  CHECK_THROWS_WITH(linalg::lu(zeros({3})), contains("lu: matrix: found f32[3], expected [..., m, n]"));
  CHECK_THROWS_WITH(linalg::lu(zeros({3, 3}, bf16)), contains("lu: dtype"));
}

TEST_CASE("lu of matrices with special values, without an element, of any rank") {
  const function f = [](const arrays& x) -> arrays {
    const auto [packed, pivots, permutation] = linalg::lu_factor(x[0]);
    return {packed, pivots, permutation};
  };
  for (const dtype t : {f32, f64}) {
    for (const shape& s : {shape{42, 4, 4},
                           {42, 1, 1},
                           {21, 3, 5},
                           {21, 5, 3},
                           {2, 3, 2, 2},
                           {2, 0, 3},
                           {2, 3, 0},
                           {0, 2, 2},
                           {7, 33, 33}})
      check_adversarial(f, {hostile_rectangles(s, 3, t)}, near_in(t));
    check_adversarial(f, {of_every_rank(t)}, near_in(t));
  }
}
