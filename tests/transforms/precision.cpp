// tests/transforms/precision.cpp: which products a policy changes, and that nothing else changes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/indexing/gather.hpp>
#include <tokamax/lax/indexing/index.hpp>
#include <tokamax/numpy/arange.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/statistics.hpp>
#include <tokamax/random/samplers.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/precision.hpp>

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

namespace {
array narrow(const array& a) { return astype(a, bf16); }
array wide(const array& a) { return astype(a, f32); }
}  // namespace

TEST_CASE("a compute dtype: arguments are rounded, operations are in it, results are f32") {
  const matrix a(noise(1, {8, 8})), b(noise(2, {8, 8}));
  const array y = with_precision<bf16_compute>(product)(a, b);
  CHECK(y.dtype() == f32);
  CHECK(distance(y, tanh(wide(matmul(narrow(a), narrow(b))))) == 0);
  // numbers and what is computed from none but them take the dtype of what they meet
  const auto scaled = [](const array& x, const array& m) { return matmul(m, x * 0.3f + wide(arange(8)) * 0.1f); };
  const array sum = narrow(wide(narrow(a)) * 0.3f + wide(arange(8)) * 0.1f);
  CHECK(distance(with_precision<bf16_compute>(scaled)(a, b), wide(matmul(narrow(b), sum))) == 0);
  // a product that names its numbers keeps them
  CHECK(distance(with_precision<bf16_compute>(exact_product)(a, b), exact_product(a, b)) == 0);
  // integers and other floats are what they were
  const auto others = [](const array& x, const array& i) { return std::pair{x + x, i + 1}; };
  const auto [half, ids] = with_precision<bf16_compute>(others)(narrow(a), arange(3));
  CHECK(half.dtype() == bf16);
  CHECK(ids.dtype() == i32);
}

TEST_CASE("a compute dtype: elementwise ops round once, where another op uses their values") {
  const matrix a(noise(1, {8, 8})), b(noise(2, {8, 8}));
  const auto f = [](const array& x, const array& w) {
    const array y = tanh(x * x + 0.1f);  // rounded for the product, and so for whom else uses it
    return matmul(y, w) + exp(y) * y;
  };
  const array x = wide(narrow(a)), y = narrow(tanh(x * x + 0.1f));
  const array expected = wide(matmul(y, narrow(b))) + exp(wide(y)) * wide(y);
  CHECK(distance(with_precision<bf16_compute>(f)(a, b), expected) == 0);
  const auto both = [](const array& p) { return std::pair{square(p), p - mean(p, {{-1}, true})}; };
  const auto [squared, centred] = with_precision<bf16_compute>(both)(a);
  CHECK(distance(squared, x * x) == 0);
  CHECK(distance(centred, array(a) - mean(array(a), {{-1}, true})) == 0);  // a sum stays exact beside it
}

TEST_CASE("a compute dtype: sums are f32, and so is what depends on them until the next product") {
  const matrix x(noise(3, {8, 8})), w(noise(4, {8, 8}));
  const auto error_of = [](const array& p, const array& q) { return mean(square(p - q)); };
  const array d = wide(narrow(x)) - wide(narrow(w));
  CHECK(distance(with_precision<bf16_compute>(error_of)(x, w), mean(d * d)) == 0);
  const auto centred = [](const array& p, const array& q) { return matmul(p - mean(p, {{-1}, true}), q); };
  const array c = array(x) - mean(array(x), {{-1}, true});
  CHECK(distance(with_precision<bf16_compute>(centred)(x, w), wide(matmul(narrow(c), narrow(w)))) == 0);
}

TEST_CASE("a compute dtype: gradients are f32, and those of tables are added up in f32") {
  const matrix x(noise(5, {8, 8})), w(noise(6, {8, 8}));
  const array g = grad(with_precision<bf16_compute>([&](const array& p) { return loss(x, matrix(p)); }))(array(w));
  CHECK(g.dtype() == f32);
  CHECK(distance(g, grad([&](const array& p) { return loss(x, matrix(p)); })(array(w))) < 0.5);
  const array rows = full({1000}, 3, i32);  // ones in bf16 would not add up to more than 256
  const array table = noise(7, {8, 4});
  const array h = grad(with_precision<bf16_compute>([&](const array& t) { return sum(gather(t, rows)); }))(table);
  CHECK(h[3][0].item() == 1000);
  CHECK(distance(with_precision<bf16_compute>([&](const array& t) { return gather(t, rows); })(table)[0],
                 wide(narrow(table[3]))) == 0);
  const array outside =
      with_precision<bf16_compute>(grad([&](const array& p) { return loss(x, matrix(p)); }))(array(w));
  CHECK(outside.dtype() == f32);
  CHECK(distance(outside, g) < 0.5);
}

TEST_CASE("a compute dtype reaches into scans, and compiled code has the bits of eager code") {
  const matrix x(noise(5, {8, 8}));
  const matrices w(noise(6, {3, 8, 8}));
  constexpr auto policy = with_precision<bf16_compute>(stacked);
  array h = x;
  for (int i = 0; i < 3; ++i) h = tanh(wide(matmul(narrow(h), narrow(squeeze(slice_in_dim(w, i, i + 1, 0), 0)))));
  CHECK(distance(policy(x, w), h) == 0);
  constexpr auto step = [](const matrix& a, const matrices& b) {
    return value_and_grad<0, 1>(with_precision<bf16_compute>([](const array& p, const array& q) {
      return sum(
          scan([](const array& s, const array& l) { return std::pair{tanh(matmul(s, l)), nothing{}}; }, p, q).first);
    }))(array(a), array(b));
  };
  const auto known = leaves(jit(step, cpu, while_compiling)(x, w)), late = leaves(jit(step, cpu, at_run_time)(x, w)),
             eager = leaves(step(x, w));
  for (int k = 0; k < 3; ++k) {
    CHECK(known[k].dtype() == f32);
    CHECK(distance(known[k], late[k]) == 0);
    CHECK(distance(known[k], eager[k]) == 0);
  }
}
