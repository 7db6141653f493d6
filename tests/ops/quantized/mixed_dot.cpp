// tests/ops/quantized/mixed_dot.cpp: floats times numbers of 8 bits, for all dtypes, layouts and numbers of rows.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/ops/quantized/mixed_dot.hpp>

#include <tokamax/ops/quantized/dot_general.hpp>
#include <tokamax/ops/quantized/quantize.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {

constexpr tk::dtype narrow[] = {tk::i8, tk::u8, tk::i4, tk::u4, tk::f8e4m3fn, tk::f8e5m2};

array product(const array& lhs, const array& rhs) {
  return bind(tk::mixed_dot_p, {lhs, rhs}, tk::words{}, tk::location{});
}
array numbers(const tk::shape& s, unsigned seed, tk::dtype t) {
  return astype(noise(s, seed) * (tk::bits_of(t) == 4 ? 3.0f : 40.0f), t);
}
double apart(const array& found, const array& expected) {
  return tk::test::distance(astype(found, tk::f32), astype(expected, tk::f32));
}

}  // namespace

TEST_CASE("mixed_dot keeps the contract of ops") {
  for (const tk::dtype t : {tk::i8, tk::u4})
    tk::test::check_op(tk::mixed_dot_p, {{{noise({2, 3, 8}, 1), numbers({2, 8, 5}, 2, t)}}});
}

TEST_CASE("mixed_dot multiplies any number of rows with numbers of each dtype, as they lie") {
  for (const tk::dtype t : narrow)
    for (const std::int64_t m : {0, 1, 2, 3, 4, 5, 6, 7, 13, 16, 17, 40})
      for (const auto& [k, n] : {std::pair<std::int64_t, std::int64_t>{77, 131}, {64, 64}, {1, 1}, {9, 0}, {0, 9}}) {
        const array x = noise({2, m, k}, 1), w = numbers({2, k, n}, 2, t);
        CAPTURE(static_cast<int>(t), m, k, n);
        const array y = product(x, w);
        REQUIRE(y.shape() == tk::shape{2, m, n});
        if (y.size() == 0) continue;
        const array exact = dot_general(astype(x, tk::f64), astype(w, tk::f64), {{2}, {1}, {0}, {0}});
        CHECK(apart(y, exact) < 2e-6);
      }
}

TEST_CASE("mixed_dot carries special values, on odd and empty extents, from any layout") {
  const struct {
    std::int64_t m, k, n;
  } sizes[] = {{4, 257, 61}, {1, 38, 200}, {11, 64, 29}, {3, 1, 7}, {0, 8, 3}, {3, 0, 8}, {3, 8, 0}};
  for (const tk::dtype t : narrow)
    for (const auto& s : sizes) {
      const array weights = tk::is_floating(t) ? tk::test::sprinkled({2, s.k, s.n}, 2, t, 100)
                                               : tk::test::adversarial({2, s.k, s.n}, 2, t);
      tk::test::check_adversarial([](const tk::arrays& x) -> tk::arrays { return {product(x[0], x[1])}; },
                                  {tk::test::sprinkled({2, s.m, s.k}, 1, tk::f32, 1e4), weights},
                                  {.tolerance = 5e-6, .floor = 1e6});  // sums of 257 products to 2.6e6 may cancel
    }
}

TEST_CASE("quantised columns meet few rows, many, and rows of a vmap with one meaning") {
  const auto q = tk::quantize(noise({64, 70}, 2), {.tiles = {0, 1}});
  const array plain = dequantize(q);
  for (const std::int64_t m : {1, 4, 16, 17, 100}) {
    const array x = noise({m, 64}, 1);
    CHECK(apart(matmul(x, q), matmul(x, plain)) < 2e-6);
    CHECK(apart(dot_general(x, transpose(q, {1, 0}), {{1}, {1}}), matmul(x, plain)) < 2e-6);
    const auto each = tk::vmap([&](const array& row) { return matmul(row, q); });
    CHECK(apart(each(x), matmul(x, plain)) < 2e-6);
    const auto loss = [&](const array& v) { return tk::sum(tk::square(matmul(v, q))); };
    const auto in_floats = [&](const array& v) { return tk::sum(tk::square(matmul(v, plain))); };
    CHECK(apart(array(tk::grad(loss)(x)), array(tk::grad(in_floats)(x))) < 5e-6);
  }
}

TEST_CASE("mixed_dot says what is wrong") {
  const array x = noise({1, 3, 8}, 1);
  CHECK_THROWS_WITH(product(x, noise({1, 8, 5}, 2)), contains("mixed_dot: operands"));
  CHECK_THROWS_WITH(product(x, numbers({1, 7, 5}, 2, tk::i8)), contains("mixed_dot: operands"));
  CHECK_THROWS_WITH(product(astype(x, tk::f64), numbers({1, 8, 5}, 2, tk::i8)), contains("mixed_dot: operands"));
}
