// bench/compile/gpt_24_layers_nvcc.cpp: the trace of the loss of 24 layers and its gradient, which nvcc evaluates too.
// limits: 0 s, 0 MB
// nvcc: yes
// SPDX-License-Identifier: Apache-2.0
//
// nvcc 13 evaluates no default member initialiser that reads a member after one that reads a member and calls a function
// ("attempt to access expired storage"), so this model names every field of its layers. Nor does it destroy the locals of a
// function within which its own stack enters a new block, so what is traced here leaves out the optimizer: calls go less deep.
#include "../support/gpt_step.hpp"

namespace {

namespace nn = tokamax::nn;
constexpr tokamax::train::gpt_config size{.vocabulary = 256, .context = 128, .width = 384, .heads = 6, .layers = 24};

constexpr nn::layer_norm norm() {
  return {size.width, 1e-6, tokamax::ones({size.width}), tokamax::zeros({size.width})};
}
constexpr nn::linear linear(int in, int out) {
  constexpr nn::initializer normal = nn::initializers::normal<0.02>;
  return {in, out, true, normal, nn::initializers::zeros, nn::parameter({in, out}), nn::parameter({out})};
}
constexpr nn::embed embed(int count) {
  return {count, size.width, nn::initializers::normal<0.02>, nn::parameter({count, size.width})};
}
constexpr tokamax::train::gpt_block block() {
  constexpr int width = size.width, heads = size.heads;
  constexpr nn::initializer normal = nn::initializers::normal<0.02>;
  return {width,  // positions, for designators would leave fields to their initialisers unseen
          heads,
          norm(),
          norm(),
          {width, heads, heads, width / heads, true, true, normal, linear(width, 3 * width), linear(width, width)},
          {width, 4 * width, true, nn::gelu_tanh, normal, linear(width, 4 * width), linear(4 * width, width)}};
}
template <int... I>
constexpr std::array<tokamax::train::gpt_block, sizeof...(I)> blocks(std::integer_sequence<int, I...>) {
  return {(static_cast<void>(I), block())...};
}

struct gpt {
  nn::embed token = embed(size.vocabulary), position = embed(size.context);
  std::array<tokamax::train::gpt_block, size.layers> layers = blocks(std::make_integer_sequence<int, size.layers>{});
  nn::layer_norm last = norm();

  constexpr tokamax::array operator()(const tokamax::array& ids) const {
    tokamax::array x = token(ids) + position(tokamax::arange(ids.extent(1)));
    for (const tokamax::train::gpt_block& layer : layers) x = layer(x);
    return token.logits(last(x));
  }
};

using work = bench::gpt_step<size, 8, tokamax::precision_policy{}, gpt>;
struct gradient {  // nvcc takes no closure types where device code may be instantiated
  constexpr auto operator()(const gpt& m, const work::ids& x, const work::ids& y) const {
    return tokamax::value_and_grad(work::loss)(m, x, y);
  }
};
static_assert(tokamax::program_trace<gradient, gpt, work::ids, work::ids>::valid);

}  // namespace

int main() {}
