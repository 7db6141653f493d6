// tests/ops/cross_entropy.cpp: the loss of integer labels and of distributions, and its gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/numpy/statistics.hpp>
#include <tokamax/ops/cross_entropy.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

#include <cmath>
#include <limits>

namespace tk = tokamax;
using tk::array;

namespace {

constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
constexpr tk::array_type integers(const tk::shape& s) { return {tk::i32, false, s}; }
constexpr auto loss_of = [](const array& logits, const array& labels) {
  return mean(tk::softmax_cross_entropy(logits, labels));
};
constexpr auto squared_gradient = [](const array& logits, const array& labels) {
  const array g = tk::grad(loss_of)(logits, labels);
  return sum(g * g);
};

static_assert(tk::softmax_cross_entropy(array(floats({2, 3, 10})), array(integers({2, 3}))).type() == floats({2, 3}));
static_assert(tk::softmax_cross_entropy(array(floats({2, 10})), array(floats({2, 10}))).type() == floats({2}));
static_assert(tk::grad(loss_of)(array(floats({2, 10})), array(integers({2}))).type() == floats({2, 10}));
static_assert(tk::grad(squared_gradient)(array(floats({2, 10})), array(integers({2}))).type() == floats({2, 10}));
static_assert(tk::vmap(tk::grad(loss_of))(array(floats({4, 2, 10})), array(integers({4, 2}))).type() ==
              floats({4, 2, 10}));

array row(const std::string& name) { return tk::test::golden("ops.txt", "softmax_cross_entropy." + name); }

}  // namespace

TEST_CASE("softmax_cross_entropy and its gradient are those of Optax") {
  const array logits = row("in0"), labels = row("in1");  // [4, 6], [4]
  const auto losses = [](const std::pair<array, array>& p) { return tk::softmax_cross_entropy(p.first, p.second); };
  CHECK(tk::test::distance(losses({logits, labels}), row("out")) < 1e-6);
  const auto [y, pullback] = tk::vjp(losses, std::pair{logits, labels});
  const auto g = pullback(row("ct"));
  CHECK(tk::test::distance(y, row("out")) < 1e-6);
  CHECK(tk::test::distance(g.first, row("grad0")) < 2e-6);
}

TEST_CASE("integer labels are distributions with one class") {
  const array logits = row("in0"), labels = row("in1"), hot = tk::one_hot(labels, 6);
  CHECK(tk::test::distance(tk::softmax_cross_entropy(logits, hot), row("out")) < 1e-6);
  CHECK(tk::test::distance(tk::grad(loss_of)(logits, hot), tk::grad(loss_of)(logits, labels)) < 1e-6);
}

TEST_CASE("distributions over the classes give Optax's values") {
  const array logits = array::from<float>({10, 1, -2, 1, 4, 0.2f}, {2, 3});
  const array labels = array::from<float>({0, 1, 0, 1, 0, 0}, {2, 3});
  CHECK(tk::test::distance(tk::softmax_cross_entropy(logits, labels), array::from<float>({9.00013f, 3.0696733f})) <
        1e-6);
}

TEST_CASE("a negative label counts from the end, one outside the classes gives NaN") {
  const array logits = array::from<float>({1, 2, 3, 1, 2, 3, 1, 2, 3}, {3, 3});
  const array found = tk::softmax_cross_entropy(logits, array::from<std::int32_t>({2, -1, 3}));
  CHECK(found.values<float>()[0] == found.values<float>()[1]);
  CHECK(std::isnan(found.values<float>()[2]));
}

TEST_CASE("gradients of examples in a batch are their gradients alone") {
  const array logits = reshape(row("in0"), {2, 2, 6}), labels = reshape(row("in1"), {2, 2});
  const array together = tk::vmap(tk::grad(loss_of))(logits, labels);
  for (int i = 0; i < 2; ++i) {
    const array alone =
        tk::grad(loss_of)(squeeze(slice_in_dim(logits, i, i + 1, 0), 0), squeeze(slice_in_dim(labels, i, i + 1, 0), 0));
    CHECK(tk::test::distance(squeeze(slice_in_dim(together, i, i + 1, 0), 0), alone) == 0);
  }
}

TEST_CASE("softmax_cross_entropy rejects labels of another shape") {
  CHECK_THROWS_WITH(tk::softmax_cross_entropy(array(floats({2, 3, 10})), array(integers({2}))),
                    contains("softmax_cross_entropy: labels") && contains("i32[2]") && contains("i32[2,3]"));
}

TEST_CASE("cross_entropy keeps the contract of ops") {
  using tk::test::noise;
  const array labels = array::from<std::int32_t>({0, 4, 2});
  for (const tk::dtype t : {tk::f32, tk::bf16}) {
    tk::test::check_op(tk::cross_entropy_p, {{{noise({3, 5}, 1, t), labels}}});
    tk::test::check_op(tk::cross_entropy_vjp_p,
                       {{{noise({3, 5}, 1, t), labels, noise({3}, 2) + 2.0, noise({3}, 3), noise({3}, 4)}}});
  }
}

TEST_CASE("float labels that do not fit the logits are labels of softmax_cross_entropy") {
  const array logits = tk::zeros({4, 3});
  CHECK_THROWS_WITH(tk::softmax_cross_entropy(logits, tk::ones({4})),
                    contains("softmax_cross_entropy: labels: found f32[4], expected") && contains("f32[4,3]"));
  CHECK_THROWS_WITH(tk::softmax_cross_entropy(tk::zeros({}), tk::ones({})), contains("softmax_cross_entropy: labels"));
  CHECK(tk::softmax_cross_entropy(logits, tk::ones({3})).shape() == tk::shape{4});
}

TEST_CASE("a class without a share may be impossible: 0 log 0 is 0") {
  const float inf = std::numeric_limits<float>::infinity();
  const array logits = array::from<float>({1, -inf, 1}, {1, 3}), labels = array::from<float>({0.5f, 0, 0.5f}, {1, 3});
  CHECK(tk::softmax_cross_entropy(logits, labels)[0].item() == Approx(std::log(2.0f)));
  const auto total = [](const array& x, const array& p) { return tk::sum(tk::softmax_cross_entropy(x, p)); };
  CHECK(tk::test::distance(tk::grad(total)(logits, labels), tk::zeros({1, 3})) < 1e-6);
  const array by_label = tk::grad<1>(total)(logits, labels);
  CHECK(tk::test::distance(by_label, array::from<float>({std::log(2.0f), 0, std::log(2.0f)}, {1, 3})) < 1e-6);
  const array impossible = array::from<float>({0.5f, 0.25f, 0.25f}, {1, 3});
  CHECK(tk::softmax_cross_entropy(logits, impossible)[0].item() == inf);
}
