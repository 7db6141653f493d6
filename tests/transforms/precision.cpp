// tests/transforms/precision.cpp: which products a policy changes, and that nothing else changes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/random.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/precision.hpp>
#include <tokamax/transforms/scan.hpp>

#include "support/catch.hpp"

namespace {

using namespace tokamax;
using matrix = tensor<f32, 8, 8>;
using matrices = tensor<f32, 3, 8, 8>;

array rounded(const array& a) { return convert_element_type(convert_element_type(a, bf16), f32); }
array noise(std::uint32_t seed, const shape& s) { return random::normal(random::key(seed), s); }
double distance(const array& a, const array& b) { return static_cast<double>(max(abs(a - b)).item()); }

constexpr auto product = [](const matrix& a, const matrix& b) { return tanh(matmul(a, b)); };
constexpr auto exact_product = [](const matrix& a, const matrix& b) {
  return matmul(a, b, {.algorithm = dot_algorithm::f32_f32_f32});
};
constexpr auto loss = [](const matrix& x, const matrix& w) {
  const array y = matmul(x, w);
  return sum(y * y);
};
constexpr auto stacked = [](const matrix& x, const matrices& w) {
  return scan([](const array& h, const array& layer) { return std::pair{tanh(matmul(h, layer)), nothing{}}; }, x, w)
      .first;
};

}  // namespace

TEST_CASE("with_precision rounds the operands of products, and of those only") {
  const matrix a(noise(1, {8, 8})), b(noise(2, {8, 8}));
  const array y = with_precision<bf16_products>(product)(a, b);
  CHECK(distance(y, tanh(matmul(rounded(a), rounded(b)))) < 1e-5);
  CHECK(distance(y, product(a, b)) > 1e-4);
  CHECK(distance(with_precision<bf16_products>(exact_product)(a, b), exact_product(a, b)) == 0);
}

TEST_CASE("with_precision: products by parts are close to those of f32, and leave bf16 arrays what they are") {
  const matrix a(noise(8, {8, 8})), b(noise(9, {8, 8}));
  const auto of = [&](const matrix& w) { return loss(a, w); };
  CHECK(distance(with_precision<bf16_x3_products>(product)(a, b), product(a, b)) < 2e-4);
  CHECK(distance(with_precision<bf16_x6_products>(product)(a, b), product(a, b)) < 2e-6);
  CHECK(distance(grad(with_precision<bf16_x6_products>(of))(b), grad(of)(b)) < 1e-4);
  const auto halves = [](const array& x, const array& y) { return matmul(astype(x, bf16), astype(y, bf16)); };
  CHECK(distance(astype(with_precision<bf16_x6_products>(halves)(a, b), f32), astype(halves(a, b), f32)) == 0);
  constexpr precision_policy exact{.dots = dot_algorithm::f32_f32_f32};
  CHECK(distance(with_precision<exact>(halves)(a, b), astype(matmul(rounded(a), rounded(b)), bf16)) == 0);
}

TEST_CASE("with_precision keeps weak types: a number does not widen what it meets") {
  const array a = convert_element_type(noise(7, {8, 8}), bf16), weak = array(2.0f);
  const auto scaled = [](const array& x, const array& by) { return x * by; };
  CHECK(scaled(a, weak).dtype() == bf16);
  CHECK(with_precision<bf16_products>(scaled)(a, weak).dtype() == bf16);
}

TEST_CASE("with_precision: the products of a gradient follow the policy") {
  const matrix a(noise(3, {8, 8})), b(noise(4, {8, 8}));
  const array y = matmul(rounded(a), rounded(b));
  const array expected = matmul(transpose(rounded(a)), rounded(2.0f * y));
  const auto of_b = [&](const matrix& w) { return loss(a, w); };
  CHECK(distance(grad(with_precision<bf16_products>(of_b))(b), expected) < 1e-3);
  CHECK(distance(with_precision<bf16_products>(grad(of_b))(b), expected) < 1e-3);
  CHECK(distance(grad(of_b)(b), expected) > 1e-3);
}

TEST_CASE("with_precision reaches into scans, and compiled code has the bits of eager code") {
  const matrix x(noise(5, {8, 8}));
  const matrices w(noise(6, {3, 8, 8}));
  constexpr auto narrow = with_precision<bf16_products>(stacked);
  array h = x;
  for (int i = 0; i < 3; ++i) h = tanh(matmul(rounded(h), rounded(squeeze(slice_in_dim(w, i, i + 1, 0), 0))));
  const array y = narrow(x, w);
  CHECK(distance(y, h) < 1e-4);
  CHECK(distance(jit(narrow, cpu)(x, w), y) == 0);
  CHECK(distance(jit(narrow, cpu, at_run_time)(x, w), y) == 0);
}
