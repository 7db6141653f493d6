// bench/train.cpp: tokens per second of GPT training steps compiled statically, and the seconds before the first one ends.
// SPDX-License-Identifier: Apache-2.0
//
// With the argument --profile it prints what one step of each case spends its time on instead.
#include <tokamax/backend/cpu/roofline.hpp>
#include <tokamax/profile.hpp>

#include <optional>
#include <string>
#include <string_view>

#include "support/gpt_step.hpp"
#include "support/measure.hpp"

using clock_type = std::chrono::steady_clock;
const clock_type::time_point process_start = clock_type::now();

double seconds_since(clock_type::time_point t) { return std::chrono::duration<double>(clock_type::now() - t).count(); }

template <tokamax::models::gpt_config C, std::int64_t B, tokamax::precision_policy P = tokamax::precision_policy{}>
void measure(const std::string& name, const tokamax::profile::roofline* limits, bool first = false) {
  using work = bench::gpt_step<C, B, P>;
  const auto run = tokamax::jit(work::step, tokamax::cpu, tokamax::while_compiling);
  typename work::state s = work::start();
  const auto x = work::repeating(0), y = work::repeating(7);
  const auto step = [&] {
    auto [next, loss] = run(std::move(s), x, y);
    s = std::move(next);
  };
  step();
  if (first)
    bench::report("train", name + ", program start to end of first step", "tokamax", seconds_since(process_start), "s");
  if (limits) {
    for (int i = 0; i < 2; ++i) step();
    tokamax::profile::timeline recording;
    const auto begin = clock_type::now();
    step();
    fmt::print("{}: {:.1f} ms\n{}\n", name, seconds_since(begin) * 1e3, to_text(recording.events(), *limits));
    return;
  }
  bench::report("train", name, "tokamax", static_cast<double>(B * C.context) / bench::median_seconds(step), "tokens/s");
  using program =
      typename std::remove_cvref_t<decltype(run)>::template for_types<typename work::state, typename work::ids,
                                                                      typename work::ids>;
  static_assert(program::total_bytes >= 2 * program::peak_bytes, "the arena is less than half of all intermediates");
}

constexpr tokamax::models::gpt_config char_gpt{
    .vocabulary = 256, .context = 128, .width = 384, .heads = 6, .layers = 6};
constexpr tokamax::models::gpt_config gpt2{.vocabulary = 50304, .context = 64, .width = 768, .heads = 12, .layers = 12};

int main(int argc, char** argv) {
  std::optional<tokamax::profile::roofline> measured;
  if (argc > 1 && std::string_view(argv[1]) == "--profile") measured = tokamax::measure_roofline();
  const tokamax::profile::roofline* limits = measured ? &*measured : nullptr;
  measure<char_gpt, 8>("char GPT 6L384 B8 T128", limits, !limits);
  measure<gpt2, 4>("GPT-2 124M B4 T64", limits);
  measure<char_gpt, 8, tokamax::bf16_products>("char GPT 6L384 B8 T128 bf16", limits);
  measure<gpt2, 4, tokamax::bf16_products>("GPT-2 124M B4 T64 bf16", limits);
  measure<char_gpt, 8, tokamax::bf16_compute>("char GPT 6L384 B8 T128 bf16 throughout", limits);
  measure<gpt2, 4, tokamax::bf16_compute>("GPT-2 124M B4 T64 bf16 throughout", limits);
  if (tokamax::cpu_backend::best_bfloat16_unit() != tokamax::cpu_backend::bfloat16_unit::amx)
    return 0;  // the rest is f32 elsewhere
  measure<char_gpt, 8, tokamax::bf16_x6_products>("char GPT 6L384 B8 T128 bf16_x6", limits);
  measure<gpt2, 4, tokamax::bf16_x6_products>("GPT-2 124M B4 T64 bf16_x6", limits);
  measure<char_gpt, 8, tokamax::bf16_x3_products>("char GPT 6L384 B8 T128 bf16_x3", limits);
  measure<gpt2, 4, tokamax::bf16_x3_products>("GPT-2 124M B4 T64 bf16_x3", limits);
}
