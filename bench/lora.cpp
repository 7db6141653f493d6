// bench/lora.cpp: a training step of adapters of rank 8 beside one of all parameters, of GPT-2 with programs traced at run time.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/lora.hpp>
#include <tokamax/tokamax.hpp>

#include <string_view>

#include "support/measure.hpp"

namespace tk = tokamax;
using model = tk::models::gpt;

namespace {
const auto loss = [](const model& m, const tk::array& ids, const tk::array& targets) {
  return tk::mean(tk::softmax_cross_entropy(m(ids), targets));
};
const auto adapted_loss = [](const tk::lora::adapters<model>& a, const model& m, const tk::array& ids,
                             const tk::array& targets) { return loss(tk::lora::apply(m, a), ids, targets); };

void measure(std::string_view name, const tk::models::gpt_config& size, std::int64_t batch) {
  const auto optimizer = tk::optim::adamw({.learning_rate = 3e-4, .weight_decay = 0.1});
  const auto step = tk::jit(tk::train::step(loss, optimizer), tk::cpu);
  const auto adapted_step = tk::jit(tk::train::step(adapted_loss, optimizer), tk::cpu);
  const model first = tk::init(tk::models::make_gpt(size), tk::random::key(0));
  auto all = tk::train::start(first, optimizer);
  auto few =
      tk::train::start(tk::lora::init(first, tk::of_layer<tk::nn::linear>, {.rank = 8}, tk::random::key(1)), optimizer);
  const tk::array ids = tk::random::randint(tk::random::key(2), {batch, size.context}, 0, size.vocabulary),
                  targets = ids;
  const auto seconds =
      bench::median_seconds_of({[&] { all = step(std::move(all), ids, targets).first; },
                                [&] { few = adapted_step(std::move(few), first, ids, targets).first; }});
  bench::report("lora", name, "all parameters", seconds[0] * 1e3, "ms");
  bench::report("lora", name, "rank 8", seconds[1] * 1e3, "ms");
  bench::report("lora", name, "rank 8 / all parameters", seconds[1] / seconds[0], "of the time");
}
}  // namespace

int main() {
  measure("GPT 6L384 B8 T128", {.vocabulary = 256, .context = 128, .width = 384, .heads = 6, .layers = 6}, 8);
  measure("GPT-2 124M B4 T64", {.vocabulary = 50304, .context = 64, .width = 768, .heads = 12, .layers = 12}, 4);
}
