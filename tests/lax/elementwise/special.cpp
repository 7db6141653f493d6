// tests/lax/elementwise/special.cpp: fused multiply-add and the inverse error function.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/special.hpp>
#include <tokamax/transforms/vjp.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("fma rounds once") {
  check_op(fma_p, {{{noise({3, 2}, 1), noise({3, 2}, 2), noise({3, 2}, 3)}},
                   {{noise({4}, 1, bf16), noise({4}, 2, bf16), noise({4}, 3, bf16)}}});
  const array x = array::from<float>({1.0000001f}), y = array::from<float>({-1.0000002f});
  CHECK(fma(x, x, y).item() == std::fma(1.0000001f, 1.0000001f, -1.0000002f));
}

TEST_CASE("erf_inv undoes erf and agrees with JAX") {
  // The polynomials' own derivative differs from the rule by more than differences may: it is checked below.
  check_op(erf_inv_p, {{{noise({4, 5}, 1)}}, {{noise({6}, 1, bf16)}}}, {.differentiate = false});
  check_golden("erf_inv", [](const arrays& x) -> arrays { return erf_inv(x[0]); });
  const array x = noise({64}, 2);
  const auto [y, pullback] = vjp([](array a) { return erf_inv(a); }, x);
  const auto slope = pullback(ones({64}));
  const array back = erf(y), inverse = slope * exp(-(y * y)) * 1.1283791670955126;
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(back.values<float>()[i] == Approx(x.values<float>()[i]).epsilon(1e-5));
    CHECK(inverse.values<float>()[i] == Approx(1.0f).epsilon(1e-5));
  }
}

TEST_CASE("normal_cdf keeps the contract, and does not cancel in the tail") {
  check_op(normal_cdf_p, {{{noise({4, 5}, 3)}}, {{noise({6}, 2, bf16)}}});
  CHECK(normal_cdf(array::from<float>({-10})).values<float>()[0] == Approx(7.619853e-24));
  CHECK(normal_cdf(zeros({1}, i32)).values<float>()[0] == 0.5f);
}
