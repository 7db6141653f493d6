// tests/ops/attention.fail.cpp: attention of arrays and options that do not fit.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/ops/attention.hpp>

#include "support/wrong_program.hpp"

using namespace wrong;
using tk::array;
using heads = tk::tensor<tk::f32, 2, 4, 2, 8>;

int main() {
  // expects: "attention: q".*"f32\[2,3\]".*"floats \[B,T,N,H\]"
  trace<matrix, heads>([](array x, array q) { return tk::dot_product_attention(pick(0, 1) ? q : x, q, q); });
  // expects: "dot_product_attention: bias".*"f32\[2,2,4,5\]".*those of \[2,2,4,4\]"
  trace<heads>([](array q) { return tk::dot_product_attention(q, q, q, {.bias = tk::zeros({2, 2, 4, pick(5, 4)})}); });
  // expects: "dot_product_attention: mask".*"f32\[4,4\]".*"booleans
  trace<heads>([](array q) {
    return tk::dot_product_attention(q, q, q, {.mask = tk::zeros({4, 4}, pick(tk::f32, tk::bool_))});
  });
  // expects: "dot_product_attention: key_value_s.*"i32\[3\]".*those of \[2\]"
  trace<heads>([](array q) {
    return tk::dot_product_attention(q, q, q, {.key_value_seq_lengths = tk::zeros({pick(3, 2)}, tk::i32)});
  });
  // expects: "dot_product_attention: logits_soft.*"0 or more"
  trace<heads>([](array q) { return tk::dot_product_attention(q, q, q, {.logits_soft_cap = pick(-1.0, 1.0)}); });
  // expects: "attention_mask: extents".*"bool\[4,2\]"
  trace<heads>([](array q) {
    const tk::attention_mask m{.bool_mask = tk::sum(q, {{0, 3}}) > 0.0f};
    return tk::select(m.as_array(pick(3, 4), 2), tk::sum(q), 0.0f);
  });
}
