// bench/train.cpp: tokens per second of GPT training steps compiled statically, and the time of the first step.
// SPDX-License-Identifier: Apache-2.0
//
// With the argument --profile it prints what one step of each case spends its time on instead.
#include <tokamax/backend/cpu/roofline.hpp>
#include <tokamax/profile.hpp>

#include "support/gpt_step.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

using clock_type = std::chrono::steady_clock;

template <tokamax::train::gpt_config C, std::int64_t B, tokamax::precision_policy P = tokamax::precision_policy{}>
void measure(const char* name, const tokamax::profile::roofline* limits) {
  using work = bench::gpt_step<C, B, P>;
  const auto run = tokamax::jit(work::step, tokamax::cpu, tokamax::while_compiling);
  typename work::state s = work::start();
  const auto x = work::repeating(0), y = work::repeating(7);
  std::vector<double> seconds;
  for (int i = 0; i < (limits ? 4 : 9); ++i) {
    std::optional<tokamax::profile::timeline> recording;
    if (limits && i == 3) recording.emplace();
    const auto begin = clock_type::now();
    auto [next, loss] = run(std::move(s), x, y);
    s = std::move(next);
    seconds.push_back(std::chrono::duration<double>(clock_type::now() - begin).count());
    if (recording) fmt::print("{}: {:.1f} ms\n{}\n", name, seconds.back() * 1e3, to_text(recording->events(), *limits));
  }
  if (limits) return;
  std::sort(seconds.begin() + 2, seconds.end());  // after two warm-up steps
  fmt::print(
      "{{\"suite\": \"train\", \"case\": \"{}\", \"impl\": \"tokamax\", \"value\": {:.1f}, \"unit\": \"tokens/s\"}}\n",
      name, static_cast<double>(B * C.context) / seconds[5]);
  using program =
      typename std::remove_cvref_t<decltype(run)>::template for_types<typename work::state, typename work::ids,
                                                                      typename work::ids>;
  static_assert(program::total_bytes >= 2 * program::peak_bytes, "the arena is less than half of all intermediates");
}

constexpr tokamax::train::gpt_config char_gpt{.vocabulary = 256, .context = 128, .width = 384, .heads = 6, .layers = 6};
constexpr tokamax::train::gpt_config gpt2{.vocabulary = 50304, .context = 64, .width = 768, .heads = 12, .layers = 12};

int main(int argc, char** argv) {
  std::optional<tokamax::profile::roofline> measured;
  if (argc > 1 && std::string_view(argv[1]) == "--profile") measured = tokamax::measure_roofline();
  const tokamax::profile::roofline* limits = measured ? &*measured : nullptr;
  measure<char_gpt, 8>("char GPT 6L384 B8 T128", limits);
  measure<gpt2, 4>("GPT-2 124M B4 T64", limits);
  measure<char_gpt, 8, tokamax::bf16_products>("char GPT 6L384 B8 T128 bf16", limits);
  measure<gpt2, 4, tokamax::bf16_products>("GPT-2 124M B4 T64 bf16", limits);
}
