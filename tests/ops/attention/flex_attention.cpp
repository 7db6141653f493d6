// tests/ops/attention/flex_attention.cpp: attention with score and mask functions is attention with the arrays they make.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/ops/attention/flex_attention.hpp>
#include <tokamax/runtime/jit.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {

// Distances between a query and a key lower the score, by more for later heads.
constexpr auto alibi = [](const array& s, const array&, const array& h, const array& i, const array& j) {
  return s - astype(abs(i - j), tk::f32) * (0.25f * (astype(h, tk::f32) + 1.0f));
};
constexpr auto nearby = [](const array&, const array&, const array& i, const array& j) { return abs(i - j) <= 1; };
constexpr auto relative = [](const array& q, const array& k, const array& v) {
  return tk::flex_attention(q, k, v, alibi, nearby);
};

array slopes() { return array{0.25f, 0.5f}; }

}  // namespace

TEST_CASE("score and mask functions are biases and masks") {
  const array q = noise({2, 5, 2, 4}, 1), k = noise({2, 6, 1, 4}, 2), v = noise({2, 6, 1, 3}, 3);
  const array i = tk::iota(tk::i32, {5, 6}, 0), j = tk::iota(tk::i32, {5, 6}, 1), apart = astype(abs(i - j), tk::f32);
  const array bias = apart * reshape(slopes(), {2, 1, 1}) * -1.0f;
  CHECK(tk::test::distance(tk::flex_attention(q, k, v, alibi), tk::dot_product_attention(q, k, v, {.bias = bias})) <
        1e-6);
  const array expected = tk::dot_product_attention(q, k, v, {.bias = bias, .mask = apart <= 1.0f});
  CHECK(tk::test::distance(relative(q, k, v), expected) < 1e-6);
  CHECK(tk::test::distance(tk::jit(relative, tk::cpu, tk::at_run_time)(q, k, v), expected) < 1e-6);
  const auto twice = [](const array& s, auto&...) { return s * 2.0f; };
  CHECK(tk::test::distance(tk::flex_attention(q, k, v, twice, {.is_causal = true}),
                           tk::dot_product_attention(q, k, v, {.scale = 1, .is_causal = true})) < 1e-6);
}

TEST_CASE("a score function sees the number of the batch entry, over all batch axes") {
  const array q = noise({2, 3, 2, 1, 2}, 4), table = noise({6}, 5) * 3.0f, other = noise({1, 1, 2, 2}, 6);
  const auto scaled = [&](const array& s, const array& b, auto&...) {
    array factor = tk::zeros({6, 1, 1, 1});
    for (int n = 0; n < 6; ++n) factor = select(b == n, table[n], factor);
    return s * factor + other;
  };
  const array y = tk::flex_attention(q, q, q, scaled);
  for (int n = 0; n < 6; ++n) {
    const array x = q[n / 3][n % 3];
    const array one = tk::flex_attention(x, x, x, [&](const array& s, auto&...) { return s * table[n] + other; });
    CHECK(tk::test::distance(y[n / 3][n % 3], one) < 1e-6);
  }
}

TEST_CASE("flex_attention and the arrays that its functions capture have gradients and batches") {
  const auto f = [](const tk::arrays& x) -> tk::arrays {
    const array table = x[3];
    const auto score = [&](const array& s, auto&, auto&, auto&, const array& j) {
      return s + select(j == 0, table, 0.0f) * s;
    };
    return tk::flex_attention(x[0], x[1], x[2], score, nearby);
  };
  tk::test::check_function(
      f, {noise({1, 3, 2, 2}, 1), noise({1, 4, 1, 2}, 2), noise({1, 4, 1, 2}, 3), noise({2, 3, 1}, 4)}, {.order = 1});
}

TEST_CASE("functions that do not give scores and masks are refused") {
  const array q = noise({1, 3, 2, 2}, 1);
  CHECK_THROWS_WITH(tk::flex_attention(q, q, q, [](auto& s, auto&...) { return s[0][0][0]; }, nearby, {.bias = q}),
                    contains("dot_product_attention: bias"));
  CHECK_THROWS_WITH(tk::flex_attention(q, q, q, [](auto&...) { return tk::zeros({2, 2}); }),
                    contains("flex_attention: score"));
  CHECK_THROWS_WITH(tk::flex_attention(q, q, q, alibi, [](auto&, auto&, auto& i, auto&) { return i; }),
                    contains("flex_attention: mask"));
}
