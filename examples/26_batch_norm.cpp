// examples/26_batch_norm.cpp: tell rings from crosses in noisy images. New here: convolutions, layers that change while they are
// trained, evaluation.
#include <tokamax/nn.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
namespace nn = tokamax::nn;

constexpr int count = 128, side = 12;
using images = tk::tensor<tk::f32, count, side, side, 1>;
using labels = tk::tensor<tk::i32, count>;

// A batch_norm counts the mean and variance of its channels while it is trained. So its call changes it, and the calls of the
// model, which is not const either.
struct network {
  nn::conv first{.in = 1, .out = 8, .strides = {2, 2}, .use_bias = false},
      second{.in = 8, .out = 16, .strides = {2, 2}, .use_bias = false};
  nn::batch_norm after_first{8}, after_second{16};
  nn::linear last{16, 2};
  constexpr tk::array operator()(const tk::array& x) {
    const tk::array h = tk::relu(after_first(first(x)));
    return last(tk::mean(tk::relu(after_second(second(h))), {.axis = {1, 2}}));
  }
};

// The loss takes the model by value and returns it as it is afterwards. What the layers have counted are no parameters: their type
// nn::statistic says so, and gradients and optimisers leave them alone.
constexpr auto loss = [](network model, const images& x, const labels& y) {
  const tk::array value = tk::mean(tk::softmax_cross_entropy(model(x), y));
  return std::pair{value, model};
};
constexpr auto optimizer = tk::optim::adamw({.learning_rate = 1e-2, .weight_decay = 1e-2});
using state = tk::train::state<network, optimizer>;

// Later the layers normalise by what they have counted, so an image's answer does not depend on the others.
constexpr auto classify = [](const network& model, const images& x) {
  return tk::argmax(nn::set_mode(model, nn::mode::evaluation)(x));
};

// Rings (label 0) and crosses (label 1) of random brightness around a random place.
std::pair<images, labels> shapes(const tk::random::key& key) {
  const auto keys = tk::random::split<4>(key);
  const tk::array label = tk::astype(tk::random::bernoulli(keys[0], 0.5, {count, 1, 1}), tk::i32);
  const tk::array place = tk::random::uniform(keys[1], {2, count, 1, 1}) * 4.0f + 4.0f;
  const tk::array light = tk::random::uniform(keys[2], {count, 1, 1}) * 4.0f + 1.0f;
  const tk::array row = tk::astype(tk::iota(tk::i32, {1, side, side}, 1), tk::f32) - place[0];
  const tk::array column = tk::astype(tk::iota(tk::i32, {1, side, side}, 2), tk::f32) - place[1];
  const tk::array ring = tk::abs(tk::sqrt(row * row + column * column) - 3.0f) < 0.7f;
  const tk::array cross = tk::minimum(tk::abs(row), tk::abs(column)) < 0.6f;
  const tk::array drawn = tk::astype(tk::where(label == 0, ring, cross), tk::f32);
  const tk::array noise = tk::random::normal(keys[3], {count, side, side});
  return {images(tk::expand_dims(drawn * light + noise * 0.3f, -1)), labels(tk::reshape(label, {count}))};
}

int main() {
  const auto step = tk::jit(tk::train::step<loss, optimizer>(), tk::cpu);
  const auto predict = tk::jit(classify, tk::cpu);
  state now{tk::init<network>(tk::random::key(0))};
  now.opt_state = optimizer.init(now.model);
  for (int i = 1; i <= 60; ++i) {
    const auto [x, y] = shapes(tk::random::key(i));
    auto [next, value] = step(std::move(now), x, y);
    now = std::move(next);
    if (i % 20 == 0) fmt::print("step {}  loss {:.3f}\n", i, value.item());
  }
  const auto [x, y] = shapes(tk::random::key(1000));
  fmt::print("accuracy on new images {:.2f}\n", tk::mean(predict(now.model, x) == y).item());
  network later = nn::set_mode(now.model, nn::mode::evaluation);
  const tk::array among = later(x), alone = later(tk::slice_in_dim(x, 0, 1, 0));
  fmt::print("an image alone gets the scores that it gets among others: {}\n",
             tk::all(tk::abs(among[0] - alone[0]) < 1e-4f).item() != 0);
}
