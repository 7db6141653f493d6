// examples/29_freezing.cpp: train parts of a model in different ways. New here: groups of parameters, schedules, freezing, an average of
// parameters, metrics.
#include <tokamax/nn/metrics.hpp>
#include <tokamax/optim.hpp>
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;
namespace nn = tokamax::nn;
namespace optim = tokamax::optim;

constexpr int count = 256;
using points = tk::tensor<tk::f32, count, 2>;
using labels = tk::tensor<tk::i32, count>;

struct network {
  nn::linear features{2, 32};
  std::array<nn::linear, 2> layers = nn::copies<2>(nn::linear{32, 32});
  nn::linear head{32, 2};
  constexpr tk::array operator()(const tk::array& x) const {
    tk::array h = tk::tanh(features(x));
    for (const nn::linear& l : layers) h = tk::tanh(l(h));
    return head(h);
  }
};

constexpr auto loss = [](const network& m, const points& x, const labels& y) {
  return tk::mean(tk::softmax_cross_entropy(m(x), y));
};

// A learning rate that rises for 20 steps and falls to almost nothing, as a function of the step.
constexpr auto rate = optim::warmup_cosine({.peak = 1e-2, .warmup = 20, .total = 200, .end = 1e-4});

// Each parameter belongs to the group that a function of its path names. Groups have optimisers and states of their own. The
// features stay as they are: `set_to_zero` has no state, and what is not trained costs nothing in the backward pass either.
constexpr auto group = [](std::string_view path) -> std::string_view {
  if (tk::path_matches(path, "features")) return "frozen";
  return tk::path_matches(path, "*.bias") ? "biases" : "matrices";
};
constexpr auto optimizer = optim::multi_transform(
    group, optim::labelled{"matrices", optim::adamw({.learning_rate = rate, .weight_decay = 1e-2})},
    optim::labelled{"biases", optim::sgd(1e-2)}, optim::labelled{"frozen", optim::set_to_zero{}});
using state = tk::train::state<network, optimizer>;

// Points of a spiral with two arms.
std::pair<points, labels> spiral(const tk::random::key& key) {
  const auto keys = tk::random::split<3>(key);
  const tk::array arm = tk::astype(tk::random::bernoulli(keys[0], 0.5, {count}), tk::i32);
  const tk::array along = tk::random::uniform(keys[1], {count}) * 6.0f + 0.5f;
  const tk::array angle = along + 3.14159f * tk::astype(arm, tk::f32);
  const tk::array xy = tk::stack({along * tk::cos(angle), along * tk::sin(angle)}, -1) / 4.0f;
  return {points(xy + 0.02f * tk::random::normal(keys[2], {count, 2})), labels(arm)};
}

// Metrics are values: a program takes what was counted so far, and returns it with a batch more.
struct metrics {
  nn::average loss;
  nn::accuracy right;
};
constexpr auto count_batch = [](metrics m, const network& f, const points& x, const labels& y) {
  const tk::array logits = f(x);
  m.loss.update(tk::softmax_cross_entropy(logits, y));
  m.right.update(logits, y);
  return m;
};

int main() {
  const auto step = tk::jit(tk::train::step<loss, optimizer>(), tk::cpu);
  const auto counted = tk::jit(count_batch, tk::cpu);
  state now{tk::init<network>(tk::random::key(0))};
  now.opt_state = optimizer.init(now.model);
  const network first = now.model;
  auto average = optim::average_of(now.model);  // it follows the parameters, and is smoother than they are
  for (int i = 1; i <= 200; ++i) {
    const auto [x, y] = spiral(tk::random::key(i));
    auto [next, value] = step(std::move(now), x, y);
    now = std::move(next);
    average.update(now.model, 0.95);
    if (i % 50 == 0) fmt::print("step {:3}  rate {:.4f}  loss {:.3f}\n", i, rate(i).item(), value.item());
  }
  const auto moved = [&](const tk::array& before, const tk::array& after) {
    return tk::any(before != after).item() != 0 ? "changed" : "as before";
  };
  fmt::print("features {}, head {}\n", moved(first.features.kernel, now.model.features.kernel),
             moved(first.head.kernel, now.model.head.kernel));
  metrics of_last, of_average;
  for (int i = 1001; i <= 1005; ++i) {
    const auto [x, y] = spiral(tk::random::key(i));
    of_last = counted(std::move(of_last), now.model, x, y);
    of_average = counted(std::move(of_average), average.apply_to(now.model), x, y);
  }
  fmt::print("new points: {:.1f} % right, with the average {:.1f} %\n", 100 * of_last.right.compute().item(),
             100 * of_average.right.compute().item());
}
