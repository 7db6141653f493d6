// tests/nn/arguments.fail.cpp: layers, and the ops below them, that cannot be.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn.hpp>
#include <tokamax/numpy/arange.hpp>
#include <tokamax/ops.hpp>

#include "support/wrong_program.hpp"

using namespace wrong;
using tk::array;
using tokens = tk::tensor<tk::f32, 1, 2, 6>;

template <int Width, int Heads, int KeyHeads>
struct attends {
  tk::nn::attention layer{.width = Width, .heads = Heads, .kv_heads = KeyHeads};
};

template <int Heads>
struct attends_to_others {
  tk::nn::multi_head_attention layer{.heads = Heads, .in = 6};
};
template <int In>
struct general {
  tk::nn::linear_general layer{.in = {In}, .out = {2, 2}};
};

int main() {
  // expects: "nn::attention: width".*"6".*"a multiple of 4 heads"
  trace<attends<6, pick(4, 3), pick(4, 3)>, tokens>([](const auto& m, array x) { return m.layer(x); });
  // expects: "nn::attention: heads".*"0 for 1 of keys"
  trace<attends<6, pick(0, 3), 1>, tokens>([](const auto& m, array x) { return m.layer(x); });
  // expects: "nn::attention: heads".*"3 for 2 of keys"
  trace<attends<6, 3, pick(2, 1)>, tokens>([](const auto& m, array x) { return m.layer(x); });
  // expects: "group_norm: groups".*"4".*"a divisor of 6"
  trace<tokens>([](array x) { return tk::nn::group_norm{.width = 6, .groups = pick(4, 3)}(x); });
  // expects: "multi_head_attention: features".*"6".*"a multiple of 4 heads"
  trace<attends_to_others<pick(4, 3)>, tokens>([](const auto& m, array x) { return m.layer(x); });
  // expects: "linear_general: axes".*"f32\[1,2,6\]".*"extents \[\]\[5\]
  trace<general<pick(5, 6)>, tokens>([](const auto& m, array x) { return m.layer(x); });
  // expects: "dropout: rate".*"above 1".*"a number from 0 to 1"
  trace<vector>([](array x) { return tk::nn::dropout{pick(1.5, 0.5)}(x, tk::random::key(0)); });
  // expects: "swapaxes: axis".*"5".*"an axis of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::softmax(x, pick(5, 0)); });
  // expects: "softmax_vjp: ct".*"f32\[3\]".*"extents of f32\[2,3\]"
  trace<matrix, vector>([](array x, array v) { return tk::softmax_vjp(x, pick(0, 1) ? x : v); });
  // expects: "layer_norm: scale".*"f32\[2\]".*"f32\[3\]"
  trace<matrix, vector>([](array x, array v) { return tk::layer_norm(x, tk::slice(v, {0}, {pick(2, 3)}), v); });
  // expects: "layer_norm: axis".*"2".*"an axis of f32\[2,3\]"
  trace<matrix>([](array x) { return tk::layer_norm(x, {}, {}, {.axis = pick(2, 1)}); });
  // expects: "ragged_dot: rhs".*"f32\[1,2,3\]".*"\[G,K,N\] with the K of f32\[2,3\]"
  trace<matrix, square, ids>([](array x, array w, array i) {
    return tk::ragged_dot(x, tk::expand_dims(pick(1, 0) ? x : w, 0), tk::slice_in_dim(i, 0, 1, 0));
  });
  // expects: "gated_linear_unit: weights".*"f32\[2,3\]".*"\[K,N\] of the dtype and the K of f3
  trace<matrix, square>(
      [](array x, array w) { return tk::gated_linear_unit(x, std::pair<array, array>{w, pick(1, 0) ? x : w}); });
  // expects: "ragged_gather_reduce: group".*"2".*"a divisor of 3"
  trace<vector, ids>([](array x, array i) { return tk::ragged_gather_reduce(x, i, x, i >= 0, pick(2, 3)); });
  // expects: "linear_softmax_cross_entropy_loss:.*label_smoothing at most 1"
  trace<square, ids>([](array x, array i) {
    return tk::linear_softmax_cross_entropy_loss(x, i, x, {.label_smoothing = pick(2.0, 0.5)});
  });
  // expects: "attention: k, v".*"\[B,S,K,H\] for q
  trace<image>([](array x) { return tk::dot_product_attention(x, tk::slice_in_dim(x, 0, pick(3, 4), 2), x); });
  // expects: "rotary_embedding: positions".*"i32\[2\]".*"i32 that fits \[1,4\]"
  trace<image>([](array x) { return tk::rotary_embedding(x, tk::arange(pick(2, 4))); });
}
