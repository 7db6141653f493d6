// examples/00_readme.cpp: the program of README.md. New here: the whole of it, in thirty lines.
#include <tokamax/tokamax.hpp>

#include <fmt/core.h>

namespace tk = tokamax;

struct network {  // any struct of layers and arrays is a model
  tk::nn::linear hidden{1, 32}, out{32, 1};
  constexpr tk::array operator()(const tk::array& x) const { return out(tk::tanh(hidden(x))); }
};
struct points {
  tk::tensor<tk::f32, 64, 1> x, y;
};
constexpr auto loss = [](const network& f, const points& p) { return tk::mean(tk::square(f(p.x) - p.y)); };
constexpr auto optimizer = tk::optim::adam({.learning_rate = 2e-2});
struct state {
  network f;
  decltype(optimizer.init(network{})) memory = optimizer.init(network{});
};
constexpr auto step = [](const state& s, const points& p) {
  auto [value, grads] = tk::value_and_grad(loss)(s.f, p);
  auto [updates, memory] = optimizer.update(grads, s.memory, s.f);
  return std::pair{state{tk::optim::apply_updates(s.f, updates), memory}, value};
};

float fit(const char* how, const auto& run) {
  const tk::array x = tk::reshape(tk::arange(64) / 32.0f - 1, {64, 1}), y = tk::sin(3 * x);
  state s{tk::init<network>(tk::random::key(0))};
  for (int i = 0;; ++i) {
    auto [next, value] = run(std::move(s), points{x, y});
    s = std::move(next);
    if (i % 100 == 0) fmt::print("{:<12} step {:3}  loss {:.6f}\n", how, i, value.item());
    if (i == 200) return value.item();
  }
}

int main() {
  const float eager = fit("eager", step);
  const float compiled = fit("compiled", tk::jit(step, tk::cpu, tk::while_compiling));  // by the C++ compiler
  const float late = fit("at run time", tk::jit(step, tk::cpu, tk::at_run_time));       // the same, when first called
  fmt::print("the same bits: {}\n", eager == compiled && compiled == late ? "yes" : "no");
}
