// tests/ops/quantized/attention.cpp: attention of quantised arrays is that of the numbers that they stand for.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/ops/quantized/attention.hpp>
#include <tokamax/ops/quantized/quantize.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::quantized_array;
using tk::test::noise;

namespace {

/// Attention of the numbers in f64.
array plain(const quantized_array& q, const quantized_array& k, const quantized_array& v, bool causal) {
  const auto wide = [](const quantized_array& x) { return astype(dequantize(x), tk::f64); };
  return tk::dot_product_attention(wide(q), wide(k), wide(v), {.is_causal = causal});
}
double apart(const array& found, const array& expected) {
  return tk::test::distance(astype(found, tk::f32), astype(expected, tk::f32));
}

}  // namespace

TEST_CASE("attention of integers with a scale for each channel or tile, eager and traced") {
  struct {
    tk::dtype type;
    tk::shape extents, tiles;
  } const cases[] = {{tk::i8, {2, 130, 4, 64}, {1, 1, 1, 0}},
                     {tk::i8, {2, 130, 4, 64}, {0, 0, 0, 1}},
                     {tk::i8, {2, 130, 4, 64}, {}},
                     {tk::i4, {2, 96, 2, 256}, {1, 1, 1, 64}},
                     {tk::i4, {2, 96, 2, 256}, {1, 1, 1, 128}},
                     {tk::i4, {2, 96, 2, 256}, {1, 1, 1, 256}},
                     {tk::f8e4m3fn, {1, 40, 2, 16}, {}},
                     {tk::i8, {2, 0, 2, 16}, {1, 1, 1, 0}}};
  for (const auto& c : cases) {
    CAPTURE(static_cast<int>(c.type), c.extents, c.tiles);
    const array x = noise(c.extents, 1);
    const auto q = tk::quantize(x, {.type = c.type, .tiles = c.tiles}),
               k = tk::quantize(noise(c.extents, 2), {.type = c.type, .tiles = c.tiles}),
               v = tk::quantize(noise(c.extents, 3), {.type = c.type, .tiles = c.tiles});
    for (const bool causal : {false, true}) {
      const tk::attention_options o{.is_causal = causal};
      const array y = tk::dot_product_attention(q, k, v, o), expected = plain(q, k, v, causal);
      CHECK(y.dtype() == tk::f32);
      REQUIRE(y.shape() == c.extents);
      if (y.size() == 0) continue;
      CHECK(apart(y, expected) < 3e-6);
      const auto traced = tk::jit([&](const quantized_array& a, const quantized_array& b,
                                      const quantized_array& d) { return tk::dot_product_attention(a, b, d, o); },
                                  tk::cpu, tk::at_run_time);
      CHECK(apart(traced(q, k, v), expected) < 3e-6);
      const array floats = dequantize(q);  // queries are often floats
      CHECK(apart(tk::dot_product_attention(floats, k, v, o), expected) < 3e-6);
      CHECK(apart(tk::dot_product_attention(floats, k, dequantize(v), o), expected) < 3e-6);
    }
  }
}

TEST_CASE("attention of quantised keys of floats of other dtypes has the dtype of the queries") {
  const auto k = tk::quantize(noise({1, 20, 2, 8}, 2), {.tiles = {1, 1, 1, 0}});
  const tk::tensor<tk::f32, 1, 10, 4, 8> q(noise({1, 10, 4, 8}, 1));
  CHECK(tk::dot_product_attention(q, k, k).shape() == tk::shape{1, 10, 4, 8});
  const array y = tk::dot_product_attention(astype(q, tk::bf16), k, k);
  CHECK(y.dtype() == tk::bf16);
  CHECK(apart(y, tk::dot_product_attention(q, dequantize(k), dequantize(k))) < 2e-2);
}

TEST_CASE("queries have gradients beside quantised keys, and what is quantised has none") {
  const array x = noise({1, 6, 2, 8}, 1), y = noise({1, 6, 2, 8}, 2);
  const auto k = tk::quantize(y, {.tiles = {1, 1, 1, 0}});
  const auto f = [&](const array& q) { return sum(tk::dot_product_attention(q, k, k)); };
  const auto g = [&](const array& q) { return sum(tk::dot_product_attention(q, dequantize(k), dequantize(k))); };
  CHECK(apart(tk::grad(f)(x), tk::grad(g)(x)) == 0);
  const auto inside = [&](const array& z) {
    const auto quantized = tk::quantize(z);
    return sum(tk::dot_product_attention(x, quantized, quantized));
  };
  CHECK_THROWS_WITH(tk::grad(inside)(y), contains("quantize: gradient"));
}

TEST_CASE("quantised arrays that do not fit are refused by name") {
  const array x = noise({1, 6, 2, 8}, 1);
  const auto k = tk::quantize(x);
  CHECK_THROWS_WITH(tk::dot_product_attention(x, quantized_array{k.qvalue, tk::ones({3})}, k),
                    contains("quantized_array: scale"));
  CHECK_THROWS_WITH(tk::dot_product_attention(x, quantized_array{x, k.scale}, k), contains("quantized_array: qvalue"));
  CHECK_THROWS_WITH(tk::dot_product_attention(x, k, tk::quantize(noise({1, 5, 2, 8}, 2))), contains("attention: k, v"));
  CHECK_THROWS_WITH(tk::dot_product_attention(x, k, k, {.scale = 1, .logits_soft_cap = -1}),
                    contains("logits_soft_cap"));
}
