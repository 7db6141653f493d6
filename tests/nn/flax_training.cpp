// tests/nn/flax_training.cpp: a ResNet-18 and a language model of an LSTM learn as those of Flax do.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn.hpp>
#include <tokamax/tokamax.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace tokamax;

namespace {

nn::conv windows(int in, int out, std::int64_t window, std::int64_t stride) {
  return {.in = in, .out = out, .window = {window, window}, .strides = {stride, stride}, .use_bias = false};
}
struct block {
  nn::conv first, second, shortcut;  // the shortcut is not used by blocks that keep extents and channels
  nn::batch_norm norm_1, norm_2, norm_3;
  bool changes = false;

  array operator()(const array& x) {
    const array y = norm_2(second(relu(norm_1(first(x)))));
    if (!changes) return relu(y + x);
    return relu(y + norm_3(shortcut(x)));
  }
};
struct resnet {
  nn::conv stem;
  nn::batch_norm norm;
  std::vector<block> blocks;
  nn::linear head;

  array operator()(const array& images) {
    array x = relu(norm(stem(images)));
    for (block& b : blocks) x = b(x);
    return head(mean(x, {1, 2}));
  }
};
array normal(int n, const shape& s, double scale) { return random::normal(random::key(n), s) * scale; }

/// The parameters that tests/golden/make_flax_training.py has.
resnet resnet18(int width, int classes) {
  resnet model{windows(3, width, 3, 1), {width}, {}, {8 * width, classes}};
  for (int stage = 0; stage < 4; ++stage)
    for (int k = 0; k < 2; ++k) {
      const int out = width << stage, in = k == 0 && stage > 0 ? out / 2 : out, stride = in == out ? 1 : 2;
      block b{windows(in, out, 3, stride), windows(out, out, 3, 1), windows(in, out, 1, stride), {out}, {out}, {out}};
      b.changes = in != out;
      if (!b.changes) b.shortcut.kernel = zeros(b.shortcut.kernel.shape());
      model.blocks.push_back(b);
    }
  int n = 0;
  const auto fill = [&](nn::conv& c) {
    const double inputs = static_cast<double>(c.kernel.size() / c.kernel.extent(-1));
    c.kernel = normal(n++, c.kernel.shape(), std::sqrt(2 / inputs));
    c.bias = zeros({0});
  };
  fill(model.stem);
  for (block& b : model.blocks) {
    fill(b.first);
    fill(b.second);
    b.shortcut.bias = zeros({0});
    if (b.changes) fill(b.shortcut);
  }
  model.head.kernel = normal(n, model.head.kernel.shape(), 0.1);
  model.head.bias = zeros({classes});
  return model;
}
constexpr auto image_loss = [](resnet model, const array& x, const array& labels) {
  const array value = mean(softmax_cross_entropy(model(x), labels));
  return std::pair{value, model};
};

struct language {
  nn::embed token;
  nn::rnn<nn::lstm_cell> layer;
  nn::linear head;
};
constexpr auto language_loss = [](const language& model, const array& ids, const array& labels) {
  return mean(softmax_cross_entropy(model.head(model.layer(model.token(ids))), labels));
};

constexpr auto sgd = optim::sgd({.learning_rate = 0.002, .momentum = 0.9});
constexpr auto adam = optim::adam({.learning_rate = 0.01});

/// Compares the losses before each step with a row, relative to it.
template <class Step, class State>
void check_losses(const char* name, const Step& step, State now, const array& x, const array& labels,
                  double tolerance) {
  const array expected = test::golden("flax/training.txt", name);
  const auto run = jit(step, cpu, at_run_time);
  for (std::int64_t i = 0; i < expected.extent(0); ++i) {
    auto [next, value] = run(std::move(now), x, labels);
    now = std::move(next);
    CAPTURE(name, i);
    const double wanted = static_cast<double>(expected.data<float>()[i]);
    CHECK(std::fabs(static_cast<double>(value.item()) - wanted) < tolerance * wanted);
  }
}

}  // namespace

TEST_CASE("a ResNet-18 of small images follows Flax") {
  std::vector<std::int32_t> digits;
  for (std::int32_t i = 0; i < 32; ++i) digits.push_back(i % 10);
  const array labels = array::from(digits, {32});
  train::state<resnet, sgd> start{resnet18(8, 10)};
  start.opt_state = sgd.init(start.model);
  check_losses("resnet18", train::step<image_loss, sgd>(), start, random::normal(random::key(100), {32, 32, 32, 3}),
               labels, 1e-3);
}

TEST_CASE("a language model of an LSTM follows Flax") {
  language model{{16, 12}, {.cell = {.in = 12, .width = 24}}, {24, 16}};
  model.token.table = normal(0, {16, 12}, 0.5);
  nn::lstm_cell& cell = model.layer.cell;
  cell.input.kernel = normal(1, {12, 96}, 0.3);
  cell.input.bias = zeros({0});
  cell.hidden.kernel = normal(2, {24, 96}, 0.3);
  cell.hidden.bias = zeros({96});
  model.head.kernel = normal(3, {24, 16}, 0.3);
  model.head.bias = zeros({16});
  train::state<language, adam> start{model};
  start.opt_state = adam.init(start.model);
  std::vector<std::int32_t> words;
  for (std::int32_t i = 0; i < 8 * 13; ++i) words.push_back(i * i / 3 % 16);
  const array ids = array::from(words, {8, 13});
  check_losses("lstm", train::step<language_loss, adam>(), start, slice_in_dim(ids, 0, 12, 1),
               slice_in_dim(ids, 1, 13, 1), 1e-4);
}
