// bench/compile/gpt_12_layers.cpp: a training step of 12 layers, each traced by itself.
// limits: 15 s, 1000 MB
// SPDX-License-Identifier: Apache-2.0
#include "../support/gpt_step.hpp"

#include <cstdio>

using work = bench::gpt_step<{.vocabulary = 256, .context = 128, .width = 384, .heads = 6, .layers = 12}, 8>;

int main() {
  const auto run = tokamax::jit(work::step, tokamax::cpu, tokamax::while_compiling);
  auto [next, loss] = run(work::start(), work::repeating(0), work::repeating(7));
  std::printf("%g\n", double{loss.item()});
}
