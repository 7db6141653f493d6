// bench/networks.cpp: training steps of a ResNet-18 of small images, and of a language model of an LSTM.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn.hpp>
#include <tokamax/tokamax.hpp>

#include <optional>

#include "support/measure.hpp"

namespace tk = tokamax;
namespace nn = tk::nn;
using tk::array;

namespace {

nn::conv windows(int in, int out, std::int64_t window, std::int64_t stride) {
  return {.in = in, .out = out, .window = {window, window}, .strides = {stride, stride}, .use_bias = false};
}
struct normed {
  nn::conv windows;
  nn::batch_norm norm;
  array operator()(const array& x) { return norm(windows(x)); }
};
struct block {
  normed first, second;
  std::optional<normed> shortcut;  // where extents and channels change
  array operator()(const array& x) {
    const array y = second(tk::relu(first(x)));
    return tk::relu(y + (shortcut ? (*shortcut)(x) : x));
  }
};
struct resnet {
  normed stem;
  std::vector<block> blocks;
  nn::linear head;
  array operator()(const array& images) {
    array x = tk::relu(stem(images));
    for (block& b : blocks) x = b(x);
    return head(tk::mean(x, {1, 2}));
  }
};
resnet resnet18(int width, int classes) {
  const auto of = [](int in, int out, std::int64_t window, std::int64_t stride) {
    return normed{windows(in, out, window, stride), {out}};
  };
  resnet model{of(3, width, 3, 1), {}, {8 * width, classes}};
  for (int k = 0; k < 8; ++k) {
    const int out = width << k / 2, in = k % 2 || k == 0 ? out : out / 2, stride = out / in;
    block b{of(in, out, 3, stride), of(out, out, 3, 1), {}};
    if (in != out) b.shortcut = of(in, out, 1, stride);
    model.blocks.push_back(b);
  }
  return model;
}
constexpr auto image_loss = [](resnet model, const array& images, const array& labels) {
  const array value = tk::mean(tk::softmax_cross_entropy(model(images), labels));
  return std::pair{value, model};
};

struct language {
  nn::embed token;
  nn::rnn<nn::lstm_cell> layer;
  nn::linear head;
};
constexpr auto language_loss = [](const language& model, const array& ids, const array& labels) {
  return tk::mean(tk::softmax_cross_entropy(model.head(model.layer(model.token(ids))), labels));
};

template <class Loss, class Model, class Optimizer>
void measure(const char* name, const Loss& loss, const Model& model, const Optimizer& optimizer, const array& x,
             const array& labels, double examples, const char* unit) {
  const auto run = tk::jit(tk::train::step(loss, optimizer), tk::cpu);
  auto s = tk::train::start(tk::init(model, tk::random::key(0)), optimizer);
  const double seconds = bench::median_seconds(
      [&] {
        auto [next, value] = run(std::move(s), x, labels);
        s = std::move(next);
        value.item();
      },
      9);
  bench::report("networks", name, "tokamax", examples / seconds, unit);
}

}  // namespace

int main() {
  const array labels = tk::rem(tk::arange(32), array(10));
  measure("ResNet-18 32x32 B32", image_loss, resnet18(64, 10),
          tk::optim::sgd({.learning_rate = 0.002, .momentum = 0.9}),
          tk::random::normal(tk::random::key(1), {32, 32, 32, 3}), labels, 32, "images/s");
  const array words = tk::random::randint(tk::random::key(2), {32, 65}, 0, 2000);
  measure("LSTM 512 B32 T64", language_loss, language{{2000, 256}, {.cell = {.in = 256, .width = 512}}, {512, 2000}},
          tk::optim::adam({.learning_rate = 1e-3}), tk::slice_in_dim(words, 0, 64, 1),
          tk::slice_in_dim(words, 1, 65, 1), 32 * 64, "tokens/s");
}
