// bench/classifier.cpp: examples per second of training steps of a two-layer perceptron and a small convolutional network.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include "support/measure.hpp"

namespace tk = tokamax;

namespace {

constexpr int batch = 64, classes = 10;

struct perceptron {  // on 1024 numbers
  using images = tk::tensor<tk::f32, batch, 1024>;
  tk::nn::linear first{1024, 1024}, last{1024, classes};
  constexpr tk::array operator()(const images& x) const { return last(tk::relu(first(x))); }
};

struct network {  // on images of 28 x 28
  using images = tk::tensor<tk::f32, batch, 28, 28, 1>;
  tk::array first = tk::nn::parameter({3, 3, 1, 32}), first_bias = tk::nn::parameter({32});
  tk::array second = tk::nn::parameter({3, 3, 32, 64}), second_bias = tk::nn::parameter({64});
  tk::nn::linear last{7 * 7 * 64, classes};
  constexpr tk::array operator()(const images& x) const {
    const tk::array half = tk::max_pool(tk::relu(tk::conv2d(x, first) + first_bias), {2, 2});
    const tk::array quarter = tk::max_pool(tk::relu(tk::conv2d(half, second) + second_bias), {2, 2});
    return last(tk::reshape(quarter, {batch, 7 * 7 * 64}));
  }
};

constexpr auto optimizer = tk::optim::adam({.learning_rate = 1e-3});

template <class Model>
using state = tk::train::state<Model, optimizer>;

constexpr auto loss = [](const auto& model, const auto& images, const auto& labels) {
  return tk::mean(tk::softmax_cross_entropy(model(images), labels));
};

tk::array waves(const tk::shape& extents, float scale) {
  tk::array a = tk::array::uninitialized({tk::f32, false, extents});
  std::uint32_t bits = 1;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    bits = bits * 1664525 + 1013904223;
    a.mutable_data<float>()[i] = (static_cast<float>(bits >> 8) / 16777216.0f - 0.5f) * scale;
  }
  return a;
}

template <class Model>
void measure(const char* name) {
  const auto run = tk::jit(tk::train::step<loss, optimizer>(), tk::cpu, tk::while_compiling);
  state<Model> s;
  tk::for_each_leaf([](tk::array& a) { a = waves(a.shape(), 0.07f); }, s.model);
  s.opt_state = optimizer.init(s.model);
  const typename Model::images images(waves(Model::images::static_type.shape, 1));
  const tk::tensor<tk::i32, batch> labels(tk::rem(tk::arange(batch), tk::array(classes)));
  const double seconds = bench::median_seconds(
      [&] {
        auto [next, value] = run(std::move(s), images, labels);
        s = std::move(next);
      },
      21);
  bench::report("classifier", name, "tokamax", batch / seconds, "examples/s");
}

}  // namespace

int main() {
  measure<perceptron>("MLP 1024-1024-10 B64");
  measure<network>("CNN 28x28 B64");
}
