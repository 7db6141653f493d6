// tests/nn/recurrent/rnn.cpp: cells by the formulas of one step, and layers by a loop over time.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn.hpp>

#include <tokamax/profile/timeline.hpp>
#include <tokamax/tokamax.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace {
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
/// Element o of x kernel + bias, in double.
double product(const nn::linear& f, const array& x, std::int64_t o) {
  double sum = f.use_bias ? f.bias.data<float>()[o] : 0;
  for (std::int64_t i = 0; i < f.in; ++i) sum += double{x.data<float>()[i]} * f.kernel.data<float>()[i * f.out + o];
  return sum;
}
template <class Layer>
Layer filled(Layer layer, int seed) {  // biases are not zero either
  int n = seed;
  tk::for_each_leaf([&](array& a) { a = tk::test::noise(a.shape(), n++) * 0.5f; }, layer);
  return layer;
}

struct network {
  nn::rnn<nn::lstm_cell> layer{.cell = {.in = 3, .width = 4}};
};
using series = tk::tensor<tk::f32, 2, 5, 3>;
static_assert(nn::recurrent_cell<nn::lstm_cell> && nn::recurrent_cell<nn::conv_lstm_cell> &&
              !nn::recurrent_cell<nn::linear>);
constexpr auto loss = [](const network& f, const series& x) { return tk::sum(tk::square(f.layer(x))); };
}  // namespace

TEST_CASE("one step of each cell") {
  const array x = tk::test::noise({3}, 1), h = tk::test::noise({4}, 2), c = tk::test::noise({4}, 3);
  const auto lstm = filled(nn::lstm_cell{3, 4}, 10);
  const auto [state, out] = lstm({c, h}, x);
  const auto gru = filled(nn::gru_cell{3, 4}, 20);
  const array next = gru(h, x).first;
  const auto simple = filled(nn::simple_cell{3, 4}, 30);
  for (std::int64_t k = 0; k < 4; ++k) {
    const auto gate = [&](int g) { return product(lstm.input, x, 4 * g + k) + product(lstm.hidden, h, 4 * g + k); };
    const double cell = sigmoid(gate(1)) * c.data<float>()[k] + sigmoid(gate(0)) * std::tanh(gate(2));
    CHECK(state.cell.data<float>()[k] == Approx(cell).margin(1e-6));
    CHECK(out.data<float>()[k] == Approx(sigmoid(gate(3)) * std::tanh(cell)).margin(1e-6));
    CHECK(state.hidden.data<float>()[k] == out.data<float>()[k]);
    const double r = sigmoid(product(gru.input, x, k) + product(gru.hidden, h, k));
    const double z = sigmoid(product(gru.input, x, 4 + k) + product(gru.hidden, h, 4 + k));
    const double n = std::tanh(product(gru.input, x, 8 + k) + r * product(gru.hidden, h, 8 + k));
    CHECK(next.data<float>()[k] == Approx((1 - z) * n + z * h.data<float>()[k]).margin(1e-6));
    CHECK(simple(h, x).second.data<float>()[k] ==
          Approx(std::tanh(product(simple.input, x, k) + product(simple.hidden, h, k))).margin(1e-6));
  }
}

TEST_CASE("a layer over time is its cell step by step, forwards and backwards") {
  const array x = tk::test::noise({2, 5, 3}, 4);
  const auto at = [&](std::int64_t t) { return tk::squeeze(tk::slice_in_dim(x, t, t + 1, 1), {1}); };
  const auto check = [&](const auto& cell) {
    for (const bool reverse : {false, true}) {
      const nn::rnn layer{cell, reverse};
      const auto [last, ys] = layer.run(x);
      CHECK(ys.shape() == tk::shape{2, 5, 4});
      auto state = cell.start({2});
      for (std::int64_t step = 0; step < 5; ++step) {
        const std::int64_t t = reverse ? 4 - step : step;
        const auto [next, y] = cell(state, at(t));
        state = next;
        CHECK(tk::test::distance(tk::squeeze(tk::slice_in_dim(ys, t, t + 1, 1), {1}), y) < 1e-6);
      }
      CHECK(tk::tree_all([](const array& a, const array& b) { return tk::test::distance(a, b) < 1e-6; }, last, state));
    }
  };
  check(filled(nn::lstm_cell{3, 4}, 10));
  check(filled(nn::gru_cell{3, 4}, 20));
  check(filled(nn::simple_cell{3, 4}, 30));
  const nn::bidirectional<nn::gru_cell> both{{filled(nn::gru_cell{3, 4}, 20)}, {filled(nn::gru_cell{3, 2}, 40)}};
  CHECK(both(x).shape() == tk::shape{2, 5, 6});
  CHECK(tk::test::distance(tk::slice_in_dim(both(x), 0, 4, 2), both.forward(x)) == 0);
}

TEST_CASE("initial values, gradients, static and traced programs, and no steps at all") {
  const network f = tk::init<network>(tk::random::key(0));
  const array k = f.layer.cell.hidden.kernel;
  CHECK(tk::test::distance(tk::matmul(k, tk::transpose(k)), tk::eye(4)) < 1e-5);
  const series x = tk::test::noise({2, 5, 3}, 5);
  const auto known = tk::jit(tk::value_and_grad(loss), tk::cpu, tk::while_compiling)(f, x);
  const auto traced = tk::jit(tk::value_and_grad(loss), tk::cpu, tk::at_run_time)(f, x);
  CHECK(tk::to_string(known.first) == tk::to_string(traced.first));
  CHECK(tk::to_string(known.second.layer.cell.input.kernel) == tk::to_string(traced.second.layer.cell.input.kernel));
  const float step = 1e-2f;  // the derivative in one direction
  network up = f, down = f;
  const array direction = tk::test::noise(f.layer.cell.input.kernel.shape(), 6);
  up.layer.cell.input.kernel = f.layer.cell.input.kernel + step * direction;
  down.layer.cell.input.kernel = f.layer.cell.input.kernel - step * direction;
  const float slope = (loss(up, x).item() - loss(down, x).item()) / (2 * step);
  CHECK(tk::sum(known.second.layer.cell.input.kernel * direction).item() == Approx(slope).epsilon(2e-3));
  CHECK(f.layer(tk::astype(x, tk::bf16)).dtype() == tk::f32);  // as x times the parameters
  const network half = tk::tree_map([](const array& a) { return tk::astype(a, tk::bf16); }, f);
  CHECK(half.layer(tk::astype(x, tk::bf16)).dtype() == tk::bf16);
  CHECK(f.layer(tk::zeros({2, 0, 3})).shape() == tk::shape{2, 0, 4});
  CHECK_THROWS_WITH(f.layer(tk::ones({3})), contains("rnn: rank"));
}

TEST_CASE("the backward loop computes no product of the forward loop again") {
  const auto layer = filled(nn::rnn<nn::lstm_cell>{.cell = {.in = 3, .width = 4}}, 1);
  // The gradient of a sum does not need the results.
  const auto sum_of = [](const nn::rnn<nn::lstm_cell>& f, const array& x) { return tk::sum(f(x)); };
  const auto run = tk::jit(tk::grad(sum_of), tk::cpu, tk::at_run_time);
  tk::profile::timeline line;
  {
    const tk::profile::observed_scope observed(&line);
    run(layer, tk::test::noise({2, 16, 3}, 1));
  }
  int products = 0;
  for (const tk::profile::event& e : line.events()) products += e.name.find("dot_general") != std::string::npos;
  CHECK(products >= 3 * 16);      // of the state, and its two gradients
  CHECK(products <= 3 * 16 + 4);  // of all of x and its gradient, and of the first state
}
