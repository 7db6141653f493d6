// bench/compile/gpt_scan_32_layers.cpp: a training step of 32 layers whose block is traced once and scanned over.
// limits: 8 s, 600 MB
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include <cstdio>

namespace tk = tokamax;

constexpr int layers = 32, width = 384, heads = 6, context = 128, vocabulary = 256, batch = 8;

/// A block whose parameters have a leading axis of all layers.
constexpr tk::models::gpt_block stacked_block() {
  const tk::models::gpt_block block{width, heads};  // named: g++ 12 loses the width of a temporary
  return tk::tree_map(
      [](const tk::array& a) {
        tk::shape s{layers};
        for (std::int64_t e : a.shape()) s.push_back(e);
        return tk::array(tk::array_type{tk::f32, false, s});
      },
      block);
}
struct gpt {
  tk::nn::embed token{vocabulary, width}, position{context, width};
  tk::models::gpt_block blocks = stacked_block();
  tk::nn::layer_norm norm{width};
  constexpr tk::array operator()(const tk::array& ids) const {
    const tk::array x = token(ids) + position(tk::arange(context));
    const auto layer = [](const tk::array& h, const tk::models::gpt_block& b) {
      return std::pair{b(h), tk::nothing{}};
    };
    return token.logits(norm(tk::scan(layer, x, blocks).first));
  }
};
using ids = tk::tensor<tk::i32, batch, context>;
constexpr auto loss = [](const gpt& m, const ids& x, const ids& y) {
  return tk::mean(tk::softmax_cross_entropy(m(x), y));
};
constexpr auto optimizer = tk::optim::adamw({.learning_rate = 3e-4, .weight_decay = 0.1});
using state = tk::train::state<gpt, optimizer>;

int main() {
  const auto run = tk::jit(tk::train::step<loss, optimizer>(), tk::cpu, tk::while_compiling);
  state s;
  tk::for_each_leaf([](tk::array& a) { a = tk::full(a.shape(), 0.01); }, s.model);
  const ids x(tk::zeros({batch, context}, tk::i32));
  std::printf("%g\n", double{run(std::move(s), x, x).second.item()});
}
