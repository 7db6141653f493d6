// bench/support/classifiers.hpp: a perceptron and a small convolutional network, trained by Adam on batches of 64 in ten classes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/tokamax.hpp>

namespace bench {

namespace tk = tokamax;

constexpr int classifier_batch = 64, classes = 10;

struct perceptron {  // on 1024 numbers
  using images = tk::tensor<tk::f32, classifier_batch, 1024>;
  tk::nn::linear first{1024, 1024}, last{1024, classes};
  constexpr tk::array operator()(const images& x) const { return last(tk::relu(first(x))); }
};

struct network {  // on images of 28 x 28
  using images = tk::tensor<tk::f32, classifier_batch, 28, 28, 1>;
  tk::array first = tk::nn::parameter({3, 3, 1, 32}), first_bias = tk::nn::parameter({32});
  tk::array second = tk::nn::parameter({3, 3, 32, 64}), second_bias = tk::nn::parameter({64});
  tk::nn::linear last{7 * 7 * 64, classes};
  constexpr tk::array operator()(const images& x) const {
    const tk::array half = tk::max_pool(tk::relu(tk::conv2d(x, first) + first_bias), {2, 2});
    const tk::array quarter = tk::max_pool(tk::relu(tk::conv2d(half, second) + second_bias), {2, 2});
    return last(tk::reshape(quarter, {classifier_batch, 7 * 7 * 64}));
  }
};

constexpr auto classifier_optimizer = tk::optim::adam({.learning_rate = 1e-3});
constexpr auto classifier_loss = [](const auto& model, const auto& images, const auto& labels) {
  return tk::mean(tk::softmax_cross_entropy(model(images), labels));
};
template <class Model>
using classifier_state = tk::train::state<Model, classifier_optimizer>;
constexpr auto classifier_step = tk::train::step<classifier_loss, classifier_optimizer>();

inline tk::array waves(const tk::shape& extents, float scale) {
  tk::array a = tk::array::uninitialized({tk::f32, false, extents});
  std::uint32_t bits = 1;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    bits = bits * 1664525 + 1013904223;
    a.mutable_data<float>()[i] = (static_cast<float>(bits >> 8) / 16777216.0f - 0.5f) * scale;
  }
  return a;
}
template <class Model>
classifier_state<Model> first_classifier() {
  classifier_state<Model> s;
  tk::for_each_leaf([](tk::array& a) { a = waves(a.shape(), 0.07f); }, s.model);
  s.opt_state = classifier_optimizer.init(s.model);
  return s;
}
template <class Model>
typename Model::images classifier_images() {
  return typename Model::images(waves(Model::images::static_type.shape, 1));
}
inline tk::tensor<tk::i32, classifier_batch> classifier_labels() {
  return tk::tensor<tk::i32, classifier_batch>(tk::rem(tk::arange(classifier_batch), tk::array(classes)));
}

}  // namespace bench
