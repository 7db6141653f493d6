// tests/nn/norms/batch_norm.cpp: the layer against loops in double, while it is trained and later.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/norms/batch_norm.hpp>

#include <tokamax/tokamax.hpp>
#include <tokamax/transforms/checks/check_grads.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace {

struct network {
  nn::linear up{3, 4};
  nn::batch_norm norm{4};
  nn::linear out{4, 1};
  constexpr array operator()(const array& x) { return out(tk::relu(norm(up(x)))); }
};
using points = tk::tensor<tk::f32, 16, 3>;
constexpr auto loss = [](network m, const points& x) {
  const array y = m(x);
  return std::pair{tk::mean(tk::square(y - tk::sum(x, {.axis = {1}, .keepdims = true}))), m};
};
constexpr auto optimizer = tk::optim::adamw({.learning_rate = 1e-2, .weight_decay = 0.5});
using state = tk::train::state<network, optimizer>;

state first_state() {
  state s{tk::init<network>(tk::random::key(0))};
  s.opt_state = optimizer.init(s.model);
  return s;
}
points some_points() { return tk::test::noise({16, 3}, 5) + 2.0f; }

// Mean and variance of channel c of x [n, width], in double.
std::pair<double, double> moments(const array& x, std::int64_t c) {
  const std::int64_t width = x.extent(x.rank() - 1), n = x.size() / width;
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = x.data<float>()[i * width + c];
    sum += v;
    squares += v * v;
  }
  return {sum / static_cast<double>(n), squares / static_cast<double>(n) - std::pow(sum / static_cast<double>(n), 2)};
}

}  // namespace

TEST_CASE("a batch is normalised by its own moments, and the running averages follow") {
  for (const tk::shape& s : {tk::shape{5, 3}, tk::shape{2, 4, 4, 3}, tk::shape{1, 3}}) {
    CAPTURE(tk::to_string(tk::zeros({s.rank()})));
    const array x = tk::test::noise(s, 3) * 2.0f + 1.0f;
    nn::batch_norm layer{.width = 3, .momentum = 0.75, .epsilon = 1e-3};
    layer.scale = tk::constant({1.0f, 2.0f, -1.0f});
    layer.offset = tk::constant({0.0f, 0.5f, 1.0f});
    layer.average = tk::full({3}, 4.0f);
    const array y = layer(x), later = nn::set_mode(layer, nn::mode::evaluation)(x);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const auto [m, v] = moments(x, i % 3);
      const double scale = layer.scale.data<float>()[i % 3], offset = layer.offset.data<float>()[i % 3];
      const double running = 0.75 * 4 + 0.25 * m, spread = 0.75 + 0.25 * v;
      REQUIRE(y.data<float>()[i] ==
              Approx((x.data<float>()[i] - m) / std::sqrt(v + 1e-3) * scale + offset).margin(2e-4));
      REQUIRE(layer.average.data<float>()[i % 3] == Approx(running).margin(1e-5));
      REQUIRE(layer.variance.data<float>()[i % 3] == Approx(spread).margin(1e-5));
      REQUIRE(later.data<float>()[i] ==
              Approx((x.data<float>()[i] - running) / std::sqrt(spread + 1e-3) * scale + offset).margin(1e-4));
    }
  }
}

TEST_CASE("numbers far from zero keep their variance") {
  const array x = tk::test::noise({400, 2}, 9) + 1e4f;
  nn::batch_norm layer{.width = 2, .momentum = 0};
  layer(x);
  const double middle = 1e4;
  double sum = 0, squares = 0;
  for (int i = 0; i < 400; ++i) {
    const double v = x.data<float>()[2 * i] - middle;
    sum += v;
    squares += v * v;
  }
  CHECK(layer.variance.data<float>()[0] == Approx(squares / 400 - sum / 400 * sum / 400).epsilon(1e-4));
}

TEST_CASE("the derivative with respect to x and the parameters is that of finite differences") {
  const array x = tk::test::noise({6, 3}, 4), ct = tk::test::noise({6, 3}, 5);
  tk::check_grads(
      [&](const array& a, const array& scale) {
        nn::batch_norm layer{3};
        layer.scale = scale;
        return tk::sum(layer(a) * ct);
      },
      std::tuple{x, array(tk::ones({3}) * 1.5f)});
}

TEST_CASE("sixteen bits are summed in f32, and the result has them") {
  const array x = tk::astype(tk::test::noise({300, 2}, 6) + 8.0f, tk::bf16);
  nn::batch_norm layer{2};
  const array y = layer(x);
  CHECK(y.dtype() == tk::bf16);
  CHECK(layer.average.dtype() == tk::f32);
  CHECK(layer.average.data<float>()[0] == Approx(0.01 * moments(tk::astype(x, tk::f32), 0).first).epsilon(1e-5));
}

TEST_CASE("entries of a named axis are one batch, and evaluation needs none") {
  const array x = tk::test::noise({4, 5, 3}, 7);
  const nn::batch_norm start{.width = 3, .axis = "batch"};
  const auto step = [&](const array& one) {
    nn::batch_norm layer = start;
    const array y = layer(one);
    return std::tuple{y, array(layer.average), array(layer.variance)};
  };
  const auto [y, averages, variances] = tk::vmap(step, {.axis_name = "batch"})(x);
  nn::batch_norm whole{3};
  const array expected = whole(x);
  CHECK(tk::test::distance(y, expected) < 1e-5);
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(tk::test::distance(averages[i], whole.average) < 1e-6);
    CHECK(tk::test::distance(variances[i], whole.variance) < 1e-6);
  }
  const auto nested = tk::vmap(tk::vmap(step, {.axis_name = "batch"}));
  CHECK(std::get<0>(nested(tk::stack({x, x + 1.0f}))).shape() == tk::shape{2, 4, 5, 3});
  CHECK_THROWS_WITH(step(x[0]), contains("pmean: axis name"));
  CHECK(nn::set_mode(start, nn::mode::evaluation)(x[0]).shape() == tk::shape{5, 3});
}

TEST_CASE("scan carries a layer that changes") {
  const array batches = tk::test::noise({3, 8, 2}, 8);
  const auto all = tk::scan(
      [](nn::batch_norm layer, const array& x) {
        const array y = layer(x);
        return std::pair{layer, y};
      },
      nn::batch_norm{2}, batches);
  nn::batch_norm layer{2};
  for (std::int64_t i = 0; i < 3; ++i) layer(batches[i]);
  CHECK(tk::test::distance(all.first.average, layer.average) < 1e-6);
  CHECK(tk::test::distance(all.first.variance, layer.variance) < 1e-6);
  CHECK(tk::eval_shape([](nn::batch_norm l, const array& x) { return l(x); }, layer, batches[0]).shape() ==
        tk::shape{8, 2});
}

TEST_CASE("a step trains parameters and moves statistics, static, traced and eager with the same bits") {
  const auto known = tk::train::step<loss, optimizer>();
  const auto bits_of = [](const auto& step) {
    state s = first_state();
    std::string bits;
    for (int i = 0; i < 3; ++i) {
      auto [next, value] = step(std::move(s), some_points());
      s = std::move(next);
      bits += tk::to_string(value);
    }
    tk::for_each_leaf([&](const array& a) { bits += tk::to_string(a); }, s);
    CHECK(s.model.norm.variance.data<float>()[0] > 0.97f);  // decay would have brought it to 0.985 and below in a step
    CHECK(s.model.norm.average.data<float>()[0] != 0.0f);
    return bits;
  };
  const std::string eager = bits_of(known);
  CHECK(bits_of(tk::jit(known, tk::cpu, tk::while_compiling)) == eager);
  CHECK(bits_of(tk::jit(known, tk::cpu, tk::at_run_time)) == eager);
}

TEST_CASE("a const layer is not trained by mistake, and the width is checked") {
  const nn::batch_norm layer{3};
  CHECK_THROWS_WITH(layer(tk::ones({2, 3})), contains("batch_norm: mode") && contains("set_mode"));
  nn::batch_norm other{3};
  CHECK_THROWS_WITH(other(tk::ones({2, 4})), contains("batch_norm: width: found f32[2,4], expected a last axis of 3"));
}
