// bench/traced_loops.cpp: fused loops of programs traced at run time, next to the same loops known while compiling.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <cmath>

#include "support/loops.hpp"
#include "support/measure.hpp"
#include "support/turns.hpp"

#if defined(__GLIBC__)
  #include <malloc.h>
#endif

namespace bench {

// Matrices of any number of rows, so that a program known while compiling runs at both sizes.
constexpr std::int64_t columns = 1024;
using operands = loop_operands<tk::dyn(), columns>;

operands operands_of(std::int64_t rows) {
  const tk::shape whole{rows, columns};
  const auto positive = [](const tk::array& a) { return tk::abs(a) + 0.01f; };
  return {uniform_array(whole, 0),
          uniform_array(whole, 1),
          uniform_array(whole, 2),
          positive(uniform_array(whole, 3)),
          filled<std::uint32_t>(whole, tk::u32, [](std::uint32_t i) { return hash(i, 4); }),
          uniform_array({1, columns}, 5),
          uniform_array({rows, 1}, 6)};
}

struct ratios {
  double sum_of_logarithms = 0, worst = 0;
  int count = 0;
  void add(double ratio) {
    sum_of_logarithms += std::log(ratio);
    worst = std::max(worst, ratio);
    ++count;
  }
  void report_as(std::string_view where) const {
    report("traced_loops", fmt::format("geometric mean of {} loops, {}", count, where), "traced / static",
           std::exp(sum_of_logarithms / count), "");
    report("traced_loops", fmt::format("worst of {} loops, {}", count, where), "traced / static", worst, "");
  }
};

// Arrays of 4 MiB stay in the last cache, and those of 64 MiB come from memory.
struct size_class {
  std::string_view where;
  operands o;
  int rounds;
  ratios found = {};
};

template <const auto& List>
void measure(std::vector<size_class>& sizes) {
  for_loops<List, tk::dyn(), columns>([&](std::string_view name, auto f) {
    const auto known = tk::jit(f, tk::cpu, tk::while_compiling);
    const auto traced = tk::jit(f, tk::cpu, tk::at_run_time);
    for (size_class& s : sizes) {
      const std::vector<double> seconds = median_seconds_of({[&] { known(s.o); }, [&] { traced(s.o); }}, s.rounds);
      const std::string label = fmt::format("{}, {}", name, s.where);
      report("traced_loops", label, "static", seconds[0] * 1e6, "us");
      report("traced_loops", label, "traced", seconds[1] * 1e6, "us");
      report("traced_loops", label, "traced / static", seconds[1] / seconds[0], "");
      s.found.add(seconds[1] / seconds[0]);
    }
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
#if defined(__GLIBC__)  // else pages that each call gets anew take longer than simple loops
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
#endif
  {
    std::vector<size_class> sizes{{"in caches", operands_of(1024), 31}, {"from memory", operands_of(16384), 11}};
    measure<optimiser_loops>(sizes);
    measure<activation_loops>(sizes);
    measure<gradient_loops>(sizes);
    measure<other_loops>(sizes);
    for (const size_class& s : sizes) s.found.report_as(s.where);
  }
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
