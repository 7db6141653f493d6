// examples/06_classifier.cpp: tell two spirals apart. New here: layers, init, an optimiser, accuracy.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;

constexpr int examples = 256;
struct classifier {
  tk::nn::linear first{2, 64}, second{64, 64}, last{64, 2};
  constexpr tk::array operator()(const tk::array& x) const { return last(tk::relu(second(tk::relu(first(x))))); }
};
struct batch {
  tk::tensor<tk::f32, examples, 2> points;
  tk::tensor<tk::i32, examples> labels;
};
constexpr auto loss = [](const classifier& m, const batch& b) {
  return tk::mean(tk::softmax_cross_entropy(m(b.points), b.labels));
};
constexpr auto optimizer = tk::optim::adam({.learning_rate = 1e-2});
struct state {
  classifier model;
  decltype(optimizer.init(classifier{})) opt_state = optimizer.init(classifier{});
};
constexpr auto step = [](const state& s, const batch& b) {
  auto [value, grads] = tk::value_and_grad(loss)(s.model, b);
  auto [updates, opt_state] = optimizer.update(grads, s.opt_state, s.model);
  return std::pair{state{tk::optim::apply_updates(s.model, updates), opt_state}, value};
};

batch spirals() {
  const tk::array i = tk::astype(tk::arange(examples), tk::f32);
  const tk::array label = tk::astype(tk::arange(examples), tk::i32) - 2 * tk::astype(tk::floor(i / 2), tk::i32);
  const tk::array radius = i / examples, angle = 8 * radius + 3.1415927f * label;
  const tk::array x = radius * tk::cos(angle), y = radius * tk::sin(angle);
  return {tk::stack({x, y}, 1), label};
}

int main() {
  const batch data = spirals();
  const classifier model = tk::init<classifier>(tk::random::key(0));
  state s{model, optimizer.init(model)};
  const auto run = tk::jit(step, tk::cpu);
  for (int i = 1; i <= 300; ++i) {
    auto [next, value] = run(std::move(s), data);
    s = std::move(next);
    if (i % 100 == 0) fmt::print("step {}  loss {:.3f}\n", i, value.item());
  }
  const tk::array right = tk::argmax(s.model(data.points)) == data.labels;
  fmt::print("accuracy {:.2f}\n", tk::mean(right).item());
}
