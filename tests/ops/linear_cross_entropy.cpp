// tests/ops/linear_cross_entropy.cpp: the loss of a last layer in pieces is that of the whole, and so are its gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/numpy/statistics.hpp>
#include <tokamax/ops/linear_cross_entropy.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/precision.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {

constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
constexpr tk::array_type integers(const tk::shape& s) { return {tk::i32, false, s}; }

constexpr auto in_pieces = [](const array& x, const array& w, const array& labels) {
  return mean(tk::linear_cross_entropy(x, w, labels));
};
constexpr auto whole = [](const array& x, const array& w, const array& labels) {
  return mean(tk::softmax_cross_entropy(matmul(x, w), labels));
};
constexpr auto of_table = [](const array& x, const array& table, const array& labels) {
  return mean(tk::linear_cross_entropy(x, table, labels, {.transposed = true}));
};

static_assert(tk::linear_cross_entropy(array(floats({2, 3, 8})), array(floats({8, 10})), array(integers({2, 3})))
                  .type() == floats({2, 3}));
static_assert(tk::grad(in_pieces)(array(floats({2, 8})), array(floats({8, 10})), array(integers({2}))).type() ==
              floats({2, 8}));

// Neither logits nor their gradient are among the intermediate values.
constexpr auto step = [](const tk::tensor<tk::f32, 256, 8>& x, const tk::tensor<tk::f32, 8, 4096>& w,
                         const tk::tensor<tk::i32, 256>& labels) { return tk::grad(in_pieces)(x, w, labels); };
using program = decltype(tk::jit(
    step, tk::cpu, tk::while_compiling))::for_types<tk::tensor<tk::f32, 256, 8>, tk::tensor<tk::f32, 8, 4096>,
                                                    tk::tensor<tk::i32, 256>>;
static_assert(program::peak_bytes < std::int64_t{8} * 4096 * 4 + 8 * 1024);  // the gradient of w, and some of each row

array some_labels(std::int64_t rows, std::int64_t classes) {
  array labels = array::uninitialized(integers({rows}));
  for (std::int64_t r = 0; r < rows; ++r)
    labels.mutable_data<std::int32_t>()[r] = static_cast<std::int32_t>(r * 37 % classes);
  return labels;
}

}  // namespace

TEST_CASE("linear_cross_entropy in pieces has the values and gradients of the whole") {
  for (const auto& [rows, classes] : {std::pair<std::int64_t, std::int64_t>{1030, 70}, {40, 4100}, {1100, 2050}}) {
    const array x = noise({rows, 24}, 1), w = noise({24, classes}, 2), labels = some_labels(rows, classes);
    CAPTURE(rows, classes);
    const auto arguments = [](const auto& f) {
      return [=](const std::pair<array, array>& p, const array& l) { return f(p.first, p.second, l); };
    };
    const auto [loss, expected] = tk::value_and_grad(arguments(whole))(std::pair{x, w}, labels);
    const auto [found, grads] = tk::value_and_grad(arguments(in_pieces))(std::pair{x, w}, labels);
    CHECK(tk::test::distance(found, loss) < 1e-6);
    CHECK(tk::test::distance(grads.first, expected.first) < 2e-6);
    CHECK(tk::test::distance(grads.second, expected.second) < 2e-6);
    const auto [same, turned] = tk::value_and_grad(arguments(of_table))(std::pair{x, array(transpose(w))}, labels);
    CHECK(tk::test::distance(same, loss) < 1e-6);
    CHECK(tk::test::distance(turned.first, expected.first) < 2e-6);
    CHECK(tk::test::distance(transpose(turned.second), expected.second) < 2e-6);
  }
}

TEST_CASE("linear_cross_entropy of no rows or no classes is empty, and its gradients are zero") {
  const auto gradient = [](std::int64_t rows) {
    return tk::grad([](const array& w, const array& x, const array& l) {
      return sum(tk::linear_cross_entropy(x, w, l));
    })(noise({4, 5}, 1), noise({rows, 4}, 2), tk::zeros({rows}, tk::i32));
  };
  CHECK(tk::test::distance(gradient(0), tk::zeros({4, 5})) == 0);
  CHECK(tk::test::distance(gradient(3), tk::zeros({4, 5})) > 0);
}

TEST_CASE("linear_cross_entropy counts negative labels from the end, and gives NaN outside the classes") {
  const array x = noise({3, 4}, 1), w = noise({4, 6}, 2);
  const auto loss = [&](std::int32_t label) {
    return tk::linear_cross_entropy(x, w, array::from<std::int32_t>({label, 0, 0})).values<float>()[0];
  };
  CHECK(loss(-2) == loss(4));
  CHECK(std::isnan(loss(6)));
  CHECK(std::isnan(loss(-7)));
}

TEST_CASE("linear_cross_entropy multiplies in bfloat16 where the policy says so") {
  const array x = noise({20, 64}, 1), w = noise({64, 50}, 2), labels = some_labels(20, 50);
  const auto rounded = [](const array& v) { return convert_element_type(convert_element_type(v, tk::bf16), tk::f32); };
  const array found = tk::with_precision<tk::bf16_products>(in_pieces)(x, w, labels);
  CHECK(tk::test::distance(found, whole(rounded(x), rounded(w), labels)) < 1e-6);
  CHECK(tk::test::distance(found, whole(x, w, labels)) > 1e-6);
}

TEST_CASE("gradients of linear_cross_entropy keep their digits where logits are large") {
  constexpr std::int64_t classes = 5000;  // several pieces; the logits, size + j / 8 for some j, are exact
  std::vector<float> v;
  for (int j = 0; j < classes; ++j) v.push_back(static_cast<float>(j * 37 % 41) / 8);
  v.insert(v.end(), classes, 1.0f);
  const array w = array::from<float>(v, {2, classes}), labels = array::from<std::int32_t>({7});
  for (const float size : {0.0f, 1e3f, 1e5f, 1e6f}) {
    const array x = array::from<float>({1, size}, {1, 2});
    const array g = tk::grad([&](const array& m) { return sum(tk::linear_cross_entropy(x, m, labels)); })(w);
    double sum = 0, wrong = 0;
    for (std::size_t j = 0; j < classes; ++j) sum += std::exp(static_cast<double>(v[j]));
    for (std::size_t j = 0; j < classes; ++j)
      if (j != 7)
        wrong = std::fmax(
            wrong,
            std::fabs(static_cast<double>(g.values<float>()[j]) * sum / std::exp(static_cast<double>(v[j])) - 1));
    CAPTURE(size);
    CHECK(wrong < 1e-6);
  }
}

TEST_CASE("linear_cross_entropy says what is wrong with its operands") {
  const array x(floats({2, 8})), w(floats({8, 10})), labels(integers({2}));
  CHECK_THROWS_WITH(tk::linear_cross_entropy(x, w, labels, {.transposed = true}),
                    contains("linear_cross_entropy: weights") && contains("f32[8,10]") && contains("[V,D]"));
  CHECK_THROWS_WITH(tk::linear_cross_entropy(x, w, array(integers({3}))),
                    contains("linear_cross_entropy: labels") && contains("i32[3]") && contains("i32[2]"));
  CHECK_THROWS_WITH(tk::linear_cross_entropy(labels, w, labels), contains("linear_cross_entropy: x"));
}

TEST_CASE("linear_cross_entropy keeps the contract of ops") {
  const array labels = array::from<std::int32_t>({0, 4, 2});
  for (const tk::dtype t : {tk::f32, tk::bf16})
    for (const bool transposed : {false, true}) {
      const tk::words options = tk::pack(tk::linear_cross_entropy_options{.transposed = transposed});
      const array x = noise({3, 4}, 1, t), w = noise(transposed ? tk::shape{5, 4} : tk::shape{4, 5}, 2, t);
      const tk::words all = tk::pack(
          tk::linear_cross_entropy_options{.transposed = transposed, .logits_soft_cap = 2, .label_smoothing = 0.25});
      const array bias = noise({5}, 6, t);
      tk::test::check_op(tk::linear_cross_entropy_p, {{{x, w, labels, bias}, all}}, {.order = 1});
      tk::test::check_op(tk::linear_cross_entropy_vjp_p,
                         {{{x, w, labels, noise({3}, 3) + 2.0, noise({3}, 4), noise({3}, 5), bias}, all}},
                         {.order = 1});
      tk::test::check_op(tk::linear_cross_entropy_p, {{{x, w, labels}, options}});
      tk::test::check_op(tk::linear_cross_entropy_vjp_p,
                         {{{x, w, labels, noise({3}, 3) + 2.0, noise({3}, 4), noise({3}, 5)}, options}});
    }
}
