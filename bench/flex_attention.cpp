// bench/flex_attention.cpp: time and memory of flex_attention on 4096 tokens: all pairs, the causal half, and windows.
// SPDX-License-Identifier: Apache-2.0
//
// The memory is that of the program's intermediate values. The scores of all pairs alone would take 537 MB.
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/attention/flex_attention.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/grad.hpp>

#include <cstdlib>
#include <string>

#include "support/measure.hpp"

namespace tk = tokamax;
using tk::array;

constexpr auto alibi = [](const array& s, const array&, const array& h, const array& i, const array& j) {
  return s - astype(abs(i - j), tk::f32) * (0.25f * (astype(h, tk::f32) + 1.0f));
};

template <class F>
void measure(const std::string& name, const array& x, const F& f) {
  const tk::graph g = tk::make_graph(f, x, x);
  const auto program = tk::detail::owned_program::make(g, tk::kernel_table_of<tk::cpu_tag>());
  bench::report("flex_attention", name, "tokamax", 1e-6 * static_cast<double>(program->tables.regions[0].arena_bytes),
                "MB");
  const auto run = tk::jit(f, tk::cpu, tk::at_run_time);
  bench::report("flex_attention", name, "tokamax", 1e3 * bench::best_seconds_of({[&] { run(x, x); }}, 3)[0], "ms");
}

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 4096;
  const array x = tk::full({1, n, 8, 64}, 0.01f);
  const auto near = [=](const array&, const array&, const array& i, const array& j) {
    return logical_and(i >= j, i - j < static_cast<int>(n / 8));
  };
  const auto all_kinds = [&](const std::string& what, const auto& wrap) {
    const auto with = [&](const tk::attention_options& o) {
      return wrap([o](const array& q, const array& k) { return sum(tk::flex_attention(q, k, k, alibi, o)); });
    };
    measure("all pairs" + what, x, with({}));
    measure("causal" + what, x, with({.is_causal = true}));
    measure("causal window of 1/8" + what, x, with({.is_causal = true, .local_window_size = {n / 8, 0}}));
    measure("function of 1/8" + what, x,
            wrap([near](const array& q, const array& k) { return sum(tk::flex_attention(q, k, k, alibi, near)); }));
  };
  all_kinds("", [](const auto& f) { return f; });
  all_kinds(", with gradient", [](const auto& f) { return tk::value_and_grad(f); });
}
