// tests/linalg/qr.cpp: QR decompositions and their derivative.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/qr.hpp>

#include "linalg/matrices.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("qr keeps the contract") {
  check_op(linalg::qr_p,
           {{{regular({3, 3}, 1)}, pack(linalg::qr_attributes{false})},
            {{noise({4, 2}, 2)}, pack(linalg::qr_attributes{false})},
            {{noise({2, 2, 4}, 3)}, pack(linalg::qr_attributes{true})},
            {{noise({1, 1}, 4)}, pack(linalg::qr_attributes{false})}},
           {.tolerance = 2e-5, .order = 1});
  check_op(linalg::qr_p, {{{noise({4, 2}, 2)}, pack(linalg::qr_attributes{true})}},
           {.tolerance = 2e-5, .differentiate = false});
}

TEST_CASE("q r gives the matrix back, and the columns of q are orthonormal") {
  for (const dtype t : {f32, f64})
    for (const auto mode : {linalg::qr_mode::reduced, linalg::qr_mode::complete})
      for (const shape& s : {shape{5, 5}, {2, 6, 3}, {2, 3, 6}, {1, 1}, {60, 40}, {0, 3}, {3, 0}, {0, 2, 2}}) {
        const array a = noise(s, 5, t);
        const auto [q, r] = linalg::qr(a, mode);
        INFO(std::string(message(a.type()).view()));
        const double bound = t == f64 ? 1e-13 : 2e-5;
        CHECK(apart(matmul(q, r), a) < bound);
        CHECK(skew(q) < bound);
        CHECK(apart(r, linalg::detail::upper_triangle(r)) == 0);
      }
}

TEST_CASE("the derivative of columns that complete a basis is refused") {
  const auto f = [](const array& x) { return sum(linalg::qr(x, linalg::qr_mode::complete).r); };
  CHECK_THROWS_WITH(grad(f)(noise({4, 2}, 1)), contains("qr: derivative"));
  CHECK_THROWS_WITH(linalg::qr(zeros({3})), contains("qr: matrix"));
}

TEST_CASE("a column of zeros leaves q orthonormal, and NaN spreads") {
  const auto [q, r] = linalg::qr(array::from<float>({0, 1, 0, 2, 0, 3}, {3, 2}));
  CHECK(skew(q) < 1e-6);
  const auto bad = linalg::qr(full({2, 2}, std::numeric_limits<float>::quiet_NaN()));
  CHECK(std::isnan(bad.r.data<float>()[0]));
}

TEST_CASE("qr of matrices with special values: NaN of those that are not finite, and of no others") {
  for (const bool complete : {false, true}) {
    const function f = [complete](const arrays& x) -> arrays {
      const auto [q, r] = linalg::qr(x[0], complete ? linalg::qr_mode::complete : linalg::qr_mode::reduced);
      return {matmul(q, r), matmul(linalg::detail::transposed(q), q), abs(linalg::detail::diagonal_of(r)),
              r - linalg::detail::upper_triangle(r)};
    };
    for (const dtype t : {f32, f64}) {
      for (const shape& s :
           {shape{42, 4, 4}, {42, 1, 1}, {21, 3, 5}, {21, 5, 3}, {2, 3, 2, 2}, {2, 0, 3}, {2, 3, 0}, {0, 2, 2}})
        check_adversarial(f, {hostile_rectangles(s, 3, t)}, near_in(t));
      check_adversarial(f, {of_every_rank(t)}, near_in(t));
    }
  }
}
