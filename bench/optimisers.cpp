// bench/optimisers.cpp: updates of a model's parameters by AdamW, Lion and Muon, and a minimisation by L-BFGS.
// SPDX-License-Identifier: Apache-2.0
#if defined(__GNUC__) && !defined(__clang__)  // g++ 12 sees a growing list of characters overflow
  #pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif
#include <tokamax/optim/descent/lion.hpp>
#include <tokamax/optim/matrices/muon.hpp>
#include <tokamax/optim/second_order/lbfgs.hpp>
#include <tokamax/optim/second_order/minimize.hpp>
#include <tokamax/tokamax.hpp>

#include "support/measure.hpp"

namespace tk = tokamax;

using parameters = std::vector<tk::array>;

// The matrices of GPT-2's layers, and unless they are asked for alone, its vectors and tables.
parameters gpt(int layers, std::int64_t width, bool matrices_alone) {
  parameters result;
  const auto add = [&](const tk::shape& s) {
    result.push_back(tk::random::normal(tk::random::key(static_cast<std::uint32_t>(result.size())), s) * 0.02f);
    result.back().materialize();
  };
  for (int i = 0; i < layers; ++i) {
    add({width, 3 * width});
    add({width, width});
    add({width, 4 * width});
    add({4 * width, width});
    if (matrices_alone) continue;
    for (const std::int64_t n : {3, 1, 4, 1, 1, 1, 1, 1}) add({n * width});
  }
  if (matrices_alone) return result;
  add({50257, width});
  add({1024, width});
  add({width});
  add({width});
  return result;
}

std::int64_t count_of(const parameters& p) {
  std::int64_t n = 0;
  for (const tk::array& a : p) n += a.size();
  return n;
}

template <class Optimizer>
struct updated {
  parameters p;
  decltype(std::declval<Optimizer>().init(parameters{})) state;
};

// The seconds of an update, whose arguments are given away.
template <class Optimizer>
double seconds_of_update(const Optimizer& optimizer, const parameters& start) {
  using now = updated<Optimizer>;
  const auto run = tk::jit(
      [optimizer](now s, const parameters& gradient) {
        auto [updates, state] = optimizer.update(gradient, s.state, s.p);
        return now{tk::optim::apply_updates(s.p, updates), state};
      },
      tk::cpu);
  now s{start, optimizer.init(start)};
  return bench::median_seconds([&] { s = run(std::move(s), start); }, 9);
}

// Bytes that must move: each is read or written once.
template <class Optimizer>
void measure_bandwidth(std::string_view name, const Optimizer& optimizer, const parameters& p, double bytes) {
  const double seconds = seconds_of_update(optimizer, p);
  bench::report("optimisers", name, "tokamax", bytes * 1e-9 * static_cast<double>(count_of(p)) / seconds, "GB/s");
}

int main() {
  {
    const parameters p = gpt(12, 768, false);
    const auto copy = tk::jit(
        [](const parameters& x) { return tk::tree_map([](const tk::array& a) { return a * 1.5f; }, x); }, tk::cpu);
    parameters target;
    const double seconds = bench::median_seconds([&] { target = copy(p); }, 9);
    bench::report("optimisers", "a scaled copy", "tokamax", 8e-9 * static_cast<double>(count_of(p)) / seconds, "GB/s");
    measure_bandwidth("AdamW, GPT-2", tk::optim::adamw({.learning_rate = 3e-4, .weight_decay = 0.1}), p, 28);
    measure_bandwidth("Lion, GPT-2", tk::optim::lion({.learning_rate = 3e-4, .weight_decay = 0.1}), p, 20);
  }
  const double muon = seconds_of_update(tk::optim::muon({.learning_rate = 3e-4}), gpt(6, 384, true));
  bench::report("optimisers", "Muon, matrices of 6 layers of width 384", "tokamax", muon * 1e3, "ms");

  const auto rosenbrock = [](const tk::array& x) {
    const tk::array a = tk::slice_in_dim(x, 0, 15, 0), b = tk::slice_in_dim(x, 1, 16, 0);
    return tk::sum(100.0f * tk::square(b - a * a) + tk::square(1.0f - a));
  };
  const auto fit = tk::jit(
      [rosenbrock](const tk::array& x) {
        return tk::optim::minimize(rosenbrock, x, tk::optim::lbfgs(), {.max_steps = 200, .tol = 0});
      },
      tk::cpu);
  const tk::array x = tk::array::filled({tk::f32, false, {16}}, -1.2);
  const double lbfgs = bench::median_seconds([&] { fit(x).value.item(); }, 31);
  bench::report("optimisers", "L-BFGS, 200 steps of Rosenbrock in 16 dimensions", "tokamax", lbfgs * 1e3, "ms");
}
