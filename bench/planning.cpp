// bench/planning.cpp: microseconds a node that tracing, differentiating and planning take at run time, as programs grow.
// SPDX-License-Identifier: Apache-2.0
//
// Chains of elementwise ops and of products, and training steps of deep GPTs. The last column is the time a node beside
// that of the smallest program of its kind: 1 where everything is linear.
#include <tokamax/tokamax.hpp>

#include <ctime>

#include "support/measure.hpp"

namespace tk = tokamax;

constexpr auto optimizer = tk::optim::adamw({.learning_rate = 3e-4, .weight_decay = 0.1});
struct state {
  tk::models::gpt parameters;
  decltype(optimizer.init(tk::models::gpt{})) opt_state;
};
constexpr auto gpt_loss = [](const tk::models::gpt& m, const tk::array& x) {
  return tk::mean(tk::softmax_cross_entropy(m(x), x));
};
constexpr auto gpt_step = [](const state& s, const tk::array& x) {
  auto [value, grads] = tk::value_and_grad(gpt_loss)(s.parameters, x);
  auto [updates, opt_state] = optimizer.update(grads, s.opt_state, s.parameters);
  return std::pair{state{tk::optim::apply_updates(s.parameters, updates), opt_state}, value};
};

struct figures {
  int nodes = 0;
  double trace = 0, plan = 0;  // seconds
};

/// Processor time, which other programs do not take part in.
template <class F>
double seconds_of(const F& f) {
  const std::clock_t begin = std::clock();
  f();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// The fastest of some attempts.
template <class F, class... Args>
figures measure(const F& f, const Args&... args) {
  figures best;
  for (int attempt = 0; attempt < 3; ++attempt) {
    tk::graph g;
    std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>> result;
    figures now;
    now.trace = seconds_of([&] { tk::trace_into(g, f, result, args...); });
    now.nodes = g.count();
    now.plan = seconds_of([&] { (void)tk::detail::owned_program::make(g, tk::kernel_table_of<tk::cpu_tag>()); });
    if (attempt == 0 || now.trace < best.trace) best.trace = now.trace;
    if (attempt == 0 || now.plan < best.plan) best.plan = now.plan;
    best.nodes = now.nodes;
  }
  return best;
}

/// Rows of one kind of program. Returns whether a node takes no longer in a large one, but for 30 %.
template <class Measure>
bool grow(std::string_view name, const std::vector<int>& sizes, const Measure& of) {
  figures first;
  bool linear = true;
  for (const int size : sizes) {
    const figures f = of(size);
    if (first.nodes == 0) first = f;
    const auto us = [](double seconds, int nodes) { return seconds * 1e6 / nodes; };
    const double trace = us(f.trace, f.nodes), plan = us(f.plan, f.nodes);
    const double more = (trace + plan) / (us(first.trace, first.nodes) + us(first.plan, first.nodes));
    linear = linear && more <= 1.3;
    bench::report("planning", fmt::format("{}, {} nodes, trace", name, f.nodes), "tokamax", trace, "us/node");
    bench::report("planning", fmt::format("{}, {} nodes, plan", name, f.nodes), "tokamax", plan, "us/node");
    bench::report("planning", fmt::format("{}, {} nodes, beside {}", name, f.nodes, first.nodes), "tokamax", more, "x");
  }
  return linear;
}

figures elementwise_chain(int length) {
  const auto sum = [=](tk::array x) {
    for (int i = 0; i < length; ++i) x = tk::sin(x) * (1.0f + 1e-4f * static_cast<float>(i)) + x;
    return tk::sum(x);
  };
  return measure(tk::grad(sum), tk::zeros({64, 64}));
}
figures product_chain(int length) {
  const auto sum = [=](const std::vector<tk::array>& w) {
    tk::array x = tk::ones({16, 16});
    for (const tk::array& a : w) x = tk::tanh(tk::matmul(x, a)) + x;
    return tk::sum(x);
  };
  const std::vector<tk::array> weights(static_cast<std::size_t>(length),
                                       tk::array::filled({tk::f32, false, {16, 16}}, 0.1));
  return measure(tk::grad(sum), weights);
}
figures gpt(int layers) {
  state s{tk::init(tk::models::make_gpt({.vocabulary = 64, .context = 16, .width = 32, .heads = 2, .layers = layers}),
                   tk::random::key(0)),
          {}};
  s.opt_state = optimizer.init(s.parameters);
  return measure(gpt_step, s, tk::zeros({2, 16}, tk::i32));
}

int main() {
  bool linear = grow("elementwise chain", {360, 1440, 5720}, elementwise_chain);
  linear &= grow("chain of products", {280, 1120, 4440}, product_chain);
  linear &= grow("GPT", {6, 24, 96}, gpt);
  fmt::print("the time a node takes grows {}\n", linear ? "by less than 30 %" : "with the program");
}
