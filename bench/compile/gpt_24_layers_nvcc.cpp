// bench/compile/gpt_24_layers_nvcc.cpp: the trace of a training step of 24 layers, which nvcc evaluates too.
// limits: 0 s, 0 MB
// nvcc: yes
// SPDX-License-Identifier: Apache-2.0
#include "../support/gpt_step.hpp"

using work = bench::gpt_step<{.vocabulary = 256, .context = 128, .width = 384, .heads = 6, .layers = 24}, 8>;
struct named_step {  // nvcc takes no closure types where device code may be instantiated
  constexpr auto operator()(work::state s, const work::ids& x, const work::ids& y) const { return work::step(s, x, y); }
};
static_assert(tokamax::program<tokamax::cpu_tag, named_step, work::state, work::ids, work::ids>::valid);

int main() {}
