// bench/backend/cuda/gpt2.cpp: a training step of GPT-2 on a GPU: tokens per second, or the time of each kind of step.
// SPDX-License-Identifier: Apache-2.0
//
//   gpt2               measures steps of 32 windows of 1024 tokens
//   gpt2 --profile     what one step spends its time on, by the clock of the GPU, beside the GPU's limits
//   gpt2 --plan        prints the plan, and needs no GPU
#include <tokamax/backend/cuda.hpp>
#include <tokamax/backend/cuda/roofline.hpp>
#include <tokamax/compiler/text/print.hpp>
#include <tokamax/profile.hpp>
#include <tokamax/train.hpp>

#include <string_view>

#include "support/gpt_step.hpp"
#include "support/measure.hpp"

namespace {

namespace tk = tokamax;
constexpr tk::models::gpt_config gpt2{.vocabulary = 50304, .context = 1024, .width = 768, .heads = 12, .layers = 12};
constexpr std::int64_t windows = 32;
using work = bench::gpt_step<gpt2, windows, tk::bf16_compute>;

void print_plan() {
  work::state s;
  s.opt_state = work::optimizer.init(s.model);
  const tk::graph g = tk::make_graph(work::step, s, work::ids(), work::ids());
  fmt::print("{}\n", tk::to_text(tk::detail::owned_program::make(g, tk::kernel_table_of<tk::cuda_tag>())->code.plan()));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "--plan") return print_plan(), 0;
  const auto run = tk::jit(work::step, tk::cuda, tk::at_run_time);
  const auto begin = std::chrono::steady_clock::now();
  work::state s = tk::device_put(work::start(), tk::cuda);
  const work::ids x = tk::device_put(work::repeating(0), tk::cuda), y = tk::device_put(work::repeating(7), tk::cuda);
  tk::array loss;
  const auto launch = [&] {
    auto [next, value] = run(std::move(s), x, y);
    s = std::move(next);
    loss = value;
  };
  const auto step = [&] {
    launch();
    tk::cuda.synchronize();
  };
  step();
  fmt::print("first step after {:.2f} s, loss {}\n",
             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), loss.item());
  if (mode == "--profile") {
    step();
    tk::profile::timeline recording;
    step();
    fmt::print("{}", tk::profile::to_text(recording.events(), tk::measure_roofline(tk::cuda), 60));
    return 0;
  }
  for (int i = 0; i < 5; ++i) step(), fmt::print("loss {}\n", loss.item());
  const double one = bench::median_seconds(step);
  const auto start = std::chrono::steady_clock::now();
  launch();
  const double launching = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  tk::cuda.synchronize();
  const double ten = bench::median_seconds(
                         [&] {
                           for (int i = 0; i < 10; ++i) launch();
                           tk::cuda.synchronize();
                         },
                         3) /
                     10;
  constexpr double tokens = static_cast<double>(windows * gpt2.context);
  bench::report("cuda_train", "GPT-2 124M B32 T1024 bf16, a step at a time", "tokamax", tokens / one, "tokens/s");
  bench::report("cuda_train", "GPT-2 124M B32 T1024 bf16, ten steps", "tokamax", tokens / ten, "tokens/s");
  bench::report("cuda_train", "GPT-2 124M B32 T1024 bf16, launching a step", "tokamax", launching * 1e3, "ms");
}
