// bench/support/gpt_step.hpp: the training step that the benchmarks compile, run and measure.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/tokamax.hpp>

#include <algorithm>
#include <cstdint>

namespace bench {

namespace tk = tokamax;

/// A GPT of size C trained on B windows of its context: AdamW with rate 3e-4 and decay 0.1 on everything.
template <tk::models::gpt_config C, std::int64_t B, tk::precision_policy P = tk::precision_policy{},
          class Model = tk::models::fixed_gpt<C>>
struct gpt_step {
  using model = Model;
  using ids = tk::tensor<tk::i32, B, C.context>;
  static constexpr auto exact_loss = [](const model& m, const ids& x, const ids& y) {
    return tk::mean(tk::softmax_cross_entropy(m(x), y));
  };
  static constexpr auto loss = [] {
    if constexpr (P.dots == tk::dot_algorithm::unspecified && P.compute == tk::dtype::none)
      return exact_loss;
    else
      return tk::with_precision<P>(exact_loss);
  }();
  static constexpr auto optimizer = tk::optim::adamw({.learning_rate = 3e-4, .weight_decay = 0.1});
  using state = tk::train::state<model, optimizer>;
  static constexpr auto step = tk::train::step<loss, optimizer>();

  /// A state to start from, and ids that repeat. All threads fill the values, because the memory is new and the first
  /// thread that touches a page waits for it. No program is compiled for that.
  static state start() {
    state s;
    std::int64_t before = 0;  // elements of earlier leaves
    tk::for_each_leaf(
        [&](tk::array& a) {
          if (a.is_literal()) return;  // scales and offsets
          tk::array filled = tk::array::uninitialized(a.type());
          constexpr std::int64_t chunk = 1 << 14;
          const std::int64_t size = a.size();
          tk::cpu_backend::parallel_for(
              (size + chunk - 1) / chunk, [=, p = filled.mutable_data<float>()](std::int64_t c) {
                const std::int64_t end = std::min(size, (c + 1) * chunk);
                for (std::int64_t i = c * chunk; i < end; ++i) {
                  std::uint32_t bits = static_cast<std::uint32_t>(before + i) * 2654435769u;
                  bits = (bits ^ bits >> 15) * 2246822519u;
                  p[i] = (static_cast<float>(static_cast<std::int32_t>(bits >> 8)) / 16777216.0f - 0.5f) * 0.07f;
                }
              });
          before += size;
          a = filled;
        },
        s.model);
    s.opt_state = optimizer.init(s.model);
    return s;
  }
  static ids repeating(int shift) {
    tk::array a = tk::array::uninitialized(ids::static_type);
    for (std::int64_t i = 0; i < a.size(); ++i)
      a.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>((i * 7 + shift) % C.vocabulary);
    return ids(a);
  }
};

}  // namespace bench
