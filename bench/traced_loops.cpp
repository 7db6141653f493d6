// bench/traced_loops.cpp: fused loops of programs traced at run time, next to the same loops known while compiling.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <cmath>
#include <cstdlib>

#include "support/loops.hpp"
#include "support/measure.hpp"
#include "support/turns.hpp"

namespace bench {

constexpr std::int64_t rows = 1024, columns = 1024;
using operands = loop_operands<rows, columns>;

double sum_of_logarithms = 0, worst = 0;
int loops = 0;

template <const auto& List>
void measure(const operands& o) {
  for_loops<List, rows, columns>([&](std::string_view name, auto f) {
    const auto known = tk::jit(f, tk::cpu, tk::while_compiling);
    const auto traced = tk::jit(f, tk::cpu, tk::at_run_time);
    const std::vector<double> seconds = median_seconds_of({[&] { known(o); }, [&] { traced(o); }}, 31);
    const double ratio = seconds[1] / seconds[0];
    report("traced_loops", name, "static", seconds[0] * 1e6, "us");
    report("traced_loops", name, "traced", seconds[1] * 1e6, "us");
    report("traced_loops", name, "traced / static", ratio, "");
    sum_of_logarithms += std::log(ratio);
    worst = std::max(worst, ratio);
    ++loops;
  });
}

// One update by AdamW of as many parameters as GPT-2 has. The two programs take turns with one state.
constexpr std::int64_t count = 124'000'000;
using parameters = tk::tensor<tk::f32, count>;
constexpr auto optimizer = tk::optim::adamw({.learning_rate = 3e-4, .weight_decay = 0.1});
struct state {
  parameters p;
  decltype(optimizer.init(parameters{})) opt_state = optimizer.init(parameters{});
};
constexpr auto update = [](state s, const parameters& gradient) {
  auto [updates, opt_state] = optimizer.update(gradient, s.opt_state, s.p);
  return state{tk::optim::apply_updates(s.p, updates), opt_state};
};

void measure_all(bool with_large_update) {
  const tk::shape whole{rows, columns};
  const auto positive = [](const tk::array& a) { return tk::abs(a) + 0.01f; };
  const operands o{uniform_array(whole, 0),
                   uniform_array(whole, 1),
                   uniform_array(whole, 2),
                   positive(uniform_array(whole, 3)),
                   filled<std::uint32_t>(whole, tk::u32, [](std::uint32_t i) { return hash(i, 4); }),
                   uniform_array({1, columns}, 5),
                   uniform_array({rows, 1}, 6)};
  measure<optimiser_loops>(o);
  measure<activation_loops>(o);
  measure<gradient_loops>(o);
  measure<other_loops>(o);
  report("traced_loops", fmt::format("geometric mean of {} loops", loops), "traced / static",
         std::exp(sum_of_logarithms / loops), "");
  report("traced_loops", fmt::format("worst of {} loops", loops), "traced / static", worst, "");
  if (!with_large_update) return;

  const auto known = tk::jit(update, tk::cpu, tk::while_compiling);
  const auto traced = tk::jit(update, tk::cpu, tk::at_run_time);
  const parameters gradient(uniform_array({count}, 0) * 1e-3f);
  state s{uniform_array({count}, 1)};
  s.opt_state = optimizer.init(s.p);
  const std::vector<double> seconds =
      median_seconds_of({[&] { s = known(std::move(s), gradient); }, [&] { s = traced(std::move(s), gradient); }}, 15);
  report("traced_loops", "AdamW of 124000000 parameters", "static", seconds[0] * 1e3, "ms");
  report("traced_loops", "AdamW of 124000000 parameters", "traced", seconds[1] * 1e3, "ms");
  report("traced_loops", "AdamW of 124000000 parameters", "traced / static", seconds[1] / seconds[0], "");
}

}  // namespace bench

// An argument leaves the large update out.
int main(int argc, char**) { bench::measure_all(argc == 1); }
