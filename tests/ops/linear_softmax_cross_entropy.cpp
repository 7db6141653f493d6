// tests/ops/linear_softmax_cross_entropy.cpp: every option of the loss, against the same from all logits, and against JAX.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/ops/linear_softmax_cross_entropy.hpp>
#include <tokamax/ops/softmax.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::loss_reduction;
using tk::test::noise;
using options = tk::linear_softmax_cross_entropy_options;

namespace {

constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }

array some_labels(std::int64_t rows, std::int64_t classes) {
  array labels = array::uninitialized({tk::i32, false, {rows}});
  for (std::int64_t r = 0; r < rows; ++r)
    labels.mutable_data<std::int32_t>()[r] = static_cast<std::int32_t>(r % 5 == 3 ? -100 : r * 37 % classes);
  return labels;
}

/// The loss from all logits.
array whole(const array& x, const array& labels, const array& weights, const options& o) {
  array z = matmul(x, o.transposed ? array(transpose(weights)) : weights);
  if (o.bias.exists()) z = z + o.bias;
  if (o.logits_soft_cap > 0) z = tanh(z / o.logits_soft_cap) * o.logits_soft_cap;
  const array lse = tk::logsumexp(z, {{-1}});
  const array counts = o.ignore_index ? array(labels != static_cast<int>(*o.ignore_index)) : array(labels == labels);
  const array safe = select(counts, labels, zeros_like(labels));
  const array hit = sum(z * tk::one_hot(safe, z.extent(-1)), {{-1}});
  array loss = lse - hit * (1 - o.label_smoothing) - mean(z, {{-1}}) * o.label_smoothing + lse * lse * o.z_loss;
  array weight = astype(counts, tk::f32);
  if (o.row_weights.exists()) weight = weight * o.row_weights;
  loss = select(counts, loss, zeros_like(loss)) * weight;
  if (o.reduction == loss_reduction::none) return loss;
  return o.reduction == loss_reduction::sum ? sum(loss) : sum(loss) / sum(weight);
}

}  // namespace

TEST_CASE("linear_softmax_cross_entropy_loss with every option is that of all logits, and so are its gradients") {
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{7, 5}, {1, 1}, {1030, 70}, {40, 2050}};
  for (const auto& [rows, classes] : sizes)
    for (unsigned choice = 0; choice < 64; ++choice) {
      if (rows > 100 && choice % 7 != 0 && choice != 63) continue;
      const auto on = [&](unsigned bit) { return (choice >> bit & 1) != 0; };
      const array x = noise({rows, 12}, 1), table = noise({classes, 12}, 2), labels = some_labels(rows, classes);
      options o{.reduction = on(0) ? loss_reduction::mean : loss_reduction::sum, .ignore_index = -100};
      if (choice % 3 == 0) o.implementation = "kernel";  // in pieces, and not from logits that stay in memory
      if (on(1)) o.row_weights = noise({rows}, 4) + 3.0;
      if (on(2)) o.logits_soft_cap = 2.5;
      if (on(3)) o.z_loss = 0.125;
      if (on(4)) o.label_smoothing = 0.25;
      o.transposed = on(5);
      const array w = o.transposed ? table : array(transpose(table)), bias = noise({classes}, 3);
      const auto with = [&](auto loss) {
        return tk::value_and_grad([=](const std::array<array, 3>& p) {
          options here = o;
          here.bias = p[2];
          return loss(p[0], labels, p[1], here);
        })(std::array<array, 3>{x, w, bias});
      };
      const auto [found, gradients] =
          with([](const auto&... a) { return tk::linear_softmax_cross_entropy_loss(a...); });
      const auto [expected, reference] = with([](const auto&... a) { return whole(a...); });
      CAPTURE(rows, classes, choice);
      CHECK(tk::test::distance(found, expected) < 3e-6);
      for (std::size_t k = 0; k < 3; ++k)
        if (classes > 1) CHECK(tk::test::distance(gradients[k], reference[k]) < 2e-5);
    }
}

TEST_CASE("few logits of f32 stay in memory for the gradient, and many do not, nor do those of bf16") {
  const auto recomputes = [](tk::dtype type, std::int64_t rows, std::int64_t classes, const options& o) {
    const array labels = tk::zeros({rows}, tk::i32);
    const tk::graph g =
        tk::make_graph(tk::grad([&](const std::array<array, 2>& p) {
                         return tk::linear_softmax_cross_entropy_loss(p[0], labels, p[1], o);
                       }),
                       std::array<array, 2>{array({type, false, {rows, 4}}), array({type, false, {4, classes}})});
    for (const tk::node& n : g.nodes)
      if (n.op && n.op->name == tk::linear_cross_entropy_vjp_p.name) return true;
    return false;
  };
  CHECK_FALSE(recomputes(tk::f32, 512, 32768, {}));
  CHECK(recomputes(tk::f32, 512, 32769, {}));
  CHECK(recomputes(tk::bf16, 512, 512, {}));
  CHECK(recomputes(tk::f32, 2, 5, {.implementation = "kernel"}));
}

TEST_CASE("linear_softmax_cross_entropy_loss is that of JAX") {
  tk::test::check_golden(
      "linear_softmax_cross_entropy",
      [](const tk::arrays& v) -> tk::arrays {
        return tk::linear_softmax_cross_entropy_loss(v[0], v[3], v[1],
                                                     {.reduction = loss_reduction::mean,
                                                      .bias = v[2],
                                                      .row_weights = v[4],
                                                      .ignore_index = -100,
                                                      .logits_soft_cap = 3,
                                                      .z_loss = 0.01,
                                                      .label_smoothing = 0.1});
      },
      5, 3e-6, "model_ops.txt");
}

TEST_CASE("linear_softmax_cross_entropy_loss of rows that do not count") {
  const array x = noise({4, 3}, 1), w = noise({3, 5}, 2), labels = array::from<std::int32_t>({-1, 2, -1, 0});
  const array each =
      tk::linear_softmax_cross_entropy_loss(x, labels, w, {.reduction = loss_reduction::none, .ignore_index = -1});
  CHECK(each.values<float>()[0] == 0);
  CHECK(each.values<float>()[1] > 0);
  const array none = array::from<std::int32_t>({-1, -1, -1, -1});
  const auto loss = [&](loss_reduction r) {
    return tk::linear_softmax_cross_entropy_loss(x, none, w, {.reduction = r, .ignore_index = -1}).values<float>()[0];
  };
  CHECK(loss(loss_reduction::sum) == 0);
  CHECK(std::isnan(loss(loss_reduction::mean)));
  const array empty = tk::linear_softmax_cross_entropy_loss(noise({0, 3}, 1), tk::zeros({0}, tk::i32), w);
  CHECK(empty.values<float>()[0] == 0);
}

TEST_CASE("linear_softmax_cross_entropy_loss says what is wrong with its options") {
  const array x(floats({2, 8})), w(floats({8, 10})), labels({tk::i32, false, {2}});
  const auto loss = [&](const options& o) { return tk::linear_softmax_cross_entropy_loss(x, labels, w, o); };
  CHECK_THROWS_WITH(loss({.bias = array(floats({9}))}), contains("linear_cross_entropy: bias") && contains("f32[9]"));
  CHECK_THROWS_WITH(loss({.row_weights = array(floats({3}))}), contains("row_weights") && contains("floats[2]"));
  CHECK_THROWS_WITH(loss({.logits_soft_cap = -1}), contains("linear_softmax_cross_entropy_loss: options"));
  CHECK_THROWS_WITH(loss({.label_smoothing = 1.5}), contains("label_smoothing at most 1"));
}
