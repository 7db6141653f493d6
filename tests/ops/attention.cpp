// tests/ops/attention.cpp: types, values, gradients and batches of dot_product_attention.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/shapes/split.hpp>
#include <tokamax/numpy/statistics.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/precision.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

#include <array>

namespace tk = tokamax;
using tk::array;

namespace {

struct heads {
  array q, k, v;
};
constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
constexpr heads abstract(const tk::shape& q, const tk::shape& kv) {
  return {array(floats(q)), array(floats(kv)), array(floats(kv))};
}
constexpr bool has_types(const heads& a, const tk::shape& q, const tk::shape& kv) {
  return a.q.type() == floats(q) && a.k.type() == floats(kv) && a.v.type() == floats(kv);
}
constexpr auto full = [](const heads& a) { return tk::dot_product_attention(a.q, a.k, a.v); };
constexpr auto causal = [](const heads& a) { return tk::dot_product_attention(a.q, a.k, a.v, {.is_causal = true}); };
constexpr auto total = [](const heads& a) { return sum(causal(a)); };
constexpr auto squared_gradient = [](const heads& a) {
  const heads g = tk::grad(total)(a);
  return sum(g.q * g.q) + sum(g.k * g.v);
};

static_assert(full(abstract({2, 5, 4, 8}, {2, 6, 2, 8})).type() == floats({2, 5, 4, 8}));
static_assert(has_types(tk::grad(total)(abstract({2, 5, 4, 8}, {2, 6, 2, 8})), {2, 5, 4, 8}, {2, 6, 2, 8}));
static_assert(has_types(tk::grad(squared_gradient)(abstract({2, 5, 4, 8}, {2, 6, 2, 8})), {2, 5, 4, 8}, {2, 6, 2, 8}));
static_assert(has_types(tk::vmap(tk::grad(total))(abstract({3, 2, 5, 4, 8}, {3, 2, 6, 2, 8})), {3, 2, 5, 4, 8},
                        {3, 2, 6, 2, 8}));

array row(const std::string& name) { return tk::test::golden("ops.txt", name); }
heads inputs(const std::string& name) { return {row(name + ".in0"), row(name + ".in1"), row(name + ".in2")}; }

template <class F>
void check_case(const std::string& name, F f) {
  CAPTURE(name);
  const heads a = inputs(name);
  CHECK(tk::test::distance(f(a), row(name + ".out")) < 1e-6);
  const auto [y, pullback_g] = tk::vjp(f, a);
  const auto g = pullback_g(row(name + ".ct"));
  CHECK(tk::test::distance(y, row(name + ".out")) < 1e-6);
  CHECK(tk::test::distance(g.q, row(name + ".grad0")) < 3e-6);
  CHECK(tk::test::distance(g.k, row(name + ".grad1")) < 3e-6);
  CHECK(tk::test::distance(g.v, row(name + ".grad2")) < 3e-6);
}

array waves(const tk::shape& s, float step) {
  array a = array::uninitialized(floats(s));
  for (std::int64_t i = 0; i < a.size(); ++i)
    a.mutable_data<float>()[i] = 2 * std::sin(step * static_cast<float>(i % 1009));
  return a;
}

}  // namespace

TEST_CASE("attention and its gradients are those of JAX") {
  check_case("attention_full", full);
  check_case("attention_causal", causal);
  check_case("attention_grouped_causal", causal);
  const array mask = row("attention_masked.in3");
  check_case("attention_masked", [&](const heads& a) { return tk::dot_product_attention(a.q, a.k, a.v, mask); });
}

TEST_CASE("the kernels agree with attention written in plain ops") {
  const heads a{waves({2, 150, 4, 24}, 0.7f), waves({2, 150, 2, 24}, 1.3f), waves({2, 150, 2, 24}, 0.9f)};
  const array ct = waves({2, 150, 4, 24}, 2.1f);
  const auto plain = [](const heads& h) {
    const array past = tk::iota(tk::i32, {150, 150}, 0) >= tk::iota(tk::i32, {150, 150}, 1);
    return tk::dot_product_attention(h.q, h.k, h.v, past);
  };
  const auto [y, pullback_g] = tk::vjp(causal, a);
  const auto g = pullback_g(ct);
  const auto [expected, pullback_h] = tk::vjp(plain, a);
  const auto h = pullback_h(ct);
  CHECK(tk::test::distance(y, expected) < 2e-6);
  CHECK(tk::test::distance(g.q, h.q) < 5e-6);
  CHECK(tk::test::distance(g.k, h.k) < 5e-6);
  CHECK(tk::test::distance(g.v, h.v) < 5e-6);
}

TEST_CASE("operands may be views of one projection") {
  const array qkv = waves({2, 7, 3 * 12}, 0.8f);  // [B, T, 3 C]
  const auto attend = [](const array& x) {
    const tk::arrays part = split(x, 3);
    auto in_heads = [](const array& p) { return reshape(p, {2, 7, 3, 4}); };
    return causal({in_heads(part[0]), in_heads(part[1]), in_heads(part[2])});
  };
  const auto dense = [](const array& x, int i) {
    return reshape(slice_in_dim(x, 12 * i, 12 * i + 12, 2), {2, 7, 3, 4});
  };
  const array expected = causal({dense(qkv, 0), dense(qkv, 1), dense(qkv, 2)});
  const auto [y, pullback_g] = tk::vjp(attend, qkv);
  const auto g = pullback_g(waves({2, 7, 3, 4}, 0.3f));
  CHECK(tk::test::distance(y, expected) < 1e-6);
  CHECK(g.shape() == qkv.shape());
}

TEST_CASE("attention of a batch is the batch of attentions") {
  const heads a{waves({3, 2, 5, 4, 8}, 0.7f), waves({3, 2, 6, 2, 8}, 1.3f), waves({3, 2, 6, 2, 8}, 0.9f)};
  auto join = [](const array& x) { return reshape(x, {6, x.extent(2), x.extent(3), x.extent(4)}); };
  const array expected = full({join(a.q), join(a.k), join(a.v)});
  CHECK(tk::test::distance(join(tk::vmap(full)(a)), expected) == 0);
}

TEST_CASE("a query that sees no key gets the mean of the values") {
  const heads a{waves({1, 2, 1, 4}, 0.7f), waves({1, 3, 1, 4}, 1.3f), waves({1, 3, 1, 4}, 0.9f)};
  const array nothing = tk::full({1, 1, 1, 1}, 0, tk::bool_);
  const array found = tk::dot_product_attention(a.q, a.k, a.v, nothing);
  CHECK(tk::test::distance(slice_in_dim(found, 0, 1, 1), mean(a.v, {{1}, true})) < 1e-6);
}

namespace {
// Queries, keys and values are computed as one array, which a program rounds once.
constexpr auto projected_attention = [](const tk::tensor<tk::f32, 2, 19, 48>& x) {
  const auto attend = [](const array& a) {
    const tk::arrays p = tk::split(tanh(a), {16, 16, 16});
    const auto in_heads = [](const array& y) { return reshape(y, {2, 19, 2, 8}); };
    return tk::dot_product_attention(in_heads(p[0]), in_heads(p[1]), in_heads(p[2]),
                                     {.is_causal = true, .algorithm = tk::dot_algorithm::bf16_bf16_f32});
  };
  const auto [y, pullback] = tk::vjp(attend, static_cast<const array&>(x));
  const auto gradient = pullback(tk::full({2, 19, 2, 8}, 0.3f));
  return std::pair{y, gradient};
};
}  // namespace

TEST_CASE("a program that rounds what attention multiplies has the bits of each op alone") {
  const tk::tensor<tk::f32, 2, 19, 48> x(waves({2, 19, 48}, 0.7f));
  const auto [y, gradient] = projected_attention(x);
  const auto check = [&](const auto& found) {
    CHECK(found.first.dtype() == tk::f32);
    CHECK(tk::test::distance(found.first, y) == 0);
    CHECK(tk::test::distance(found.second, gradient) == 0);
  };
  check(tk::jit(projected_attention, tk::cpu, tk::while_compiling)(x));
  check(tk::jit(projected_attention, tk::cpu, tk::at_run_time)(x));
}

TEST_CASE("with_precision reaches attention and its gradient: products take bf16 operands") {
  const heads a{waves({2, 70, 4, 24}, 0.7f), waves({2, 70, 2, 24}, 1.3f), waves({2, 70, 2, 24}, 0.9f)};
  const array ct = waves({2, 70, 4, 24}, 2.1f);
  const auto narrow = [](const heads& h) {
    return tk::dot_product_attention(h.q, h.k, h.v, {.is_causal = true, .algorithm = tk::dot_algorithm::bf16_bf16_f32});
  };
  const auto exact = [](const heads& h) {
    return tk::dot_product_attention(h.q, h.k, h.v, {.is_causal = true, .algorithm = tk::dot_algorithm::f32_f32_f32});
  };
  const auto [y, pullback_g] = tk::vjp(tk::with_precision<tk::bf16_products>(causal), a);
  const auto g = pullback_g(ct);
  const auto [expected, pullback_h] = tk::vjp(narrow, a);
  const auto h = pullback_h(ct);
  CHECK(tk::test::distance(y, expected) == 0);
  CHECK(tk::test::distance(g.q, h.q) == 0);
  CHECK(tk::test::distance(g.k, h.k) == 0);
  CHECK(tk::test::distance(g.v, h.v) == 0);
  CHECK(tk::test::distance(tk::with_precision<tk::bf16_products>(exact)(a), causal(a)) == 0);
  const auto [in_f32, pullback_f] = tk::vjp(causal, a);
  const auto f = pullback_f(ct);
  CHECK(tk::test::distance(y, in_f32) > 1e-4);
  CHECK(tk::test::distance(y, in_f32) < 2e-2);
  CHECK(tk::test::distance(g.q, f.q) < 3e-2);
  CHECK(tk::test::distance(g.k, f.k) < 3e-2);
  CHECK(tk::test::distance(g.v, f.v) < 3e-2);
}

TEST_CASE("the products with keys and with values may have algorithms of their own") {
  using tk::dot_algorithm;
  const heads a{waves({2, 70, 4, 24}, 0.7f), waves({2, 70, 2, 24}, 1.3f), waves({2, 70, 2, 24}, 0.9f)};
  const array ct = waves({2, 70, 4, 24}, 2.1f);
  const auto rounded = [](const array& x) { return astype(astype(x, tk::bf16), tk::f32); };
  const auto results = [&](const heads& x, dot_algorithm scores, dot_algorithm values) {
    const auto [y, pullback] = tk::vjp(
        [&](const heads& h) {
          return tk::dot_product_attention(h.q, h.k, h.v,
                                           {.is_causal = true, .algorithm = scores, .value_algorithm = values});
        },
        x);
    const heads g = pullback(ct);
    return std::array<array, 4>{y, g.q, g.k, g.v};
  };
  constexpr auto exact = dot_algorithm::f32_f32_f32, narrow = dot_algorithm::bf16_bf16_f32;
  const auto in_f32 = results(a, exact, exact), in_bf16 = results(a, narrow, narrow);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(tk::test::distance(in_bf16[i], results(a, narrow, dot_algorithm::unspecified)[i]) == 0);
    CHECK(tk::test::distance(results(a, narrow, exact)[i], in_f32[i]) < 3e-2);
    CHECK(tk::test::distance(results(a, exact, narrow)[i], in_f32[i]) < 3e-2);
  }
  // scores of rounded queries and keys, and exact sums of values
  const array mixed =
      tk::dot_product_attention(rounded(a.q), rounded(a.k), a.v, {.is_causal = true, .algorithm = exact});
  CHECK(tk::test::distance(results(a, narrow, exact)[0], mixed) < 2e-6);
  CHECK(tk::test::distance(in_bf16[0], mixed) > 1e-4);
  CHECK(tk::test::distance(results(a, exact, narrow)[0], in_f32[0]) > 1e-4);
  // products of bf16 arrays in f32, of one kind or the other
  const heads half{astype(a.q, tk::bf16), astype(a.k, tk::bf16), astype(a.v, tk::bf16)};
  const auto attend = [&](dot_algorithm scores, dot_algorithm values) {
    const array y = tk::dot_product_attention(half.q, half.k, half.v, {.algorithm = scores, .value_algorithm = values});
    CHECK(y.dtype() == tk::bf16);
    return astype(y, tk::f32);
  };
  const array expected = attend(exact, exact);
  CHECK(tk::test::distance(attend(exact, narrow), expected) < 1e-2);
  CHECK(tk::test::distance(attend(dot_algorithm::unspecified, exact), expected) < 1e-2);
}

TEST_CASE("gradients of attention keep their digits where scores are large") {
  for (const float size : {0.0f, 1e3f, 1e4f, 1e5f, 1e6f}) {
    constexpr std::int64_t keys = 150;  // more than a block; the scores, size + j / 8 for some j, are exact
    std::vector<float> k;
    for (int j = 0; j < keys; ++j) k.insert(k.end(), {static_cast<float>(j * 37 % 41) / 8, 1});
    const heads a{array::from<float>({1, size}, {1, 1, 1, 2}), array::from<float>(k, {1, keys, 1, 2}),
                  tk::zeros({1, keys, 1, 2}) + 0.0f};
    const auto [y, pullback_g] =
        tk::vjp([](const heads& h) { return tk::dot_product_attention(h.q, h.k, h.v, {.scale = 1}); }, a);
    const auto g = pullback_g(tk::ones({1, 1, 1, 2}));
    double sum = 0, wrong = 0;
    for (std::size_t j = 0; j < keys; ++j) sum += std::exp(static_cast<double>(k[2 * j]));
    for (std::size_t j = 0; j < keys; ++j)
      wrong = std::fmax(wrong, std::fabs(static_cast<double>(g.v.values<float>()[2 * j]) * sum /
                                             std::exp(static_cast<double>(k[2 * j])) -
                                         1));
    CAPTURE(size);
    CHECK(wrong < 1e-6);
  }
}

TEST_CASE("attention rejects heads that do not fit") {
  CHECK_THROWS_WITH(full(abstract({2, 5, 3, 8}, {2, 6, 2, 8})),
                    contains("attention: k, v") && contains("f32[2,6,2,8]"));
  CHECK_THROWS_WITH(full(abstract({5, 8}, {6, 8})), contains("attention: q"));
}

TEST_CASE("attention keeps the contract of ops") {
  using tk::test::noise;
  for (const bool past : {false, true}) {
    const auto options = pack(tk::attention_attributes{past, 0.5});
    tk::test::check_op(tk::attention_p,
                       {{{noise({2, 3, 4, 2}, 1), noise({2, 5, 2, 2}, 2), noise({2, 5, 2, 2}, 3)}, options}});
  }
  const auto options = pack(tk::attention_attributes{true, 0.5});
  tk::test::check_op(
      tk::attention_p,
      {{{noise({1, 3, 2, 2}, 1, tk::bf16), noise({1, 3, 1, 2}, 2, tk::bf16), noise({1, 3, 1, 2}, 3, tk::bf16)},
        options}});
  // a bias for all heads and a mask of keys; queries with a window, some of which see nothing
  const tk::attention_attributes terms{
      .scale = 0.5, .soft_cap = 2, .left = 1, .right = 1, .has_bias = true, .has_mask = true};
  const array bias = noise({1, 1, 3, 4}, 8), seen = array::from<bool>({true, true, false, false}, {1, 1, 1, 4});
  tk::test::check_op(
      tk::attention_p,
      {{{noise({1, 3, 2, 2}, 1), noise({1, 4, 1, 2}, 2), noise({1, 4, 1, 2}, 3), bias, seen}, pack(terms)}},
      {.order = 1});
  // two ranges of keys for each query, some of which are empty, and segments
  const tk::attention_attributes parts{.scale = 0.5, .has_bias = true, .ranges = 2, .has_segments = true};
  const array ranges = array::from<std::int32_t>({0, 2, 3, 4, 1, 1, 0, 3, 2, 1, 0, 2}, {1, 1, 3, 4});
  const array q_segments = array::from<std::int32_t>({0, 1, 1}, {1, 1, 3, 1});
  const array k_segments = array::from<std::int32_t>({0, 1, 1, 0}, {1, 1, 1, 4});
  tk::test::check_op(
      tk::attention_p,
      {{{noise({1, 3, 2, 2}, 1), noise({1, 4, 1, 2}, 2), noise({1, 4, 1, 2}, 3), bias, ranges, q_segments, k_segments},
        pack(parts)}},
      {.order = 1});
  tk::test::check_op(tk::attention_vjp_p,
                     {{{noise({1, 3, 2, 2}, 1), noise({1, 4, 1, 2}, 2), noise({1, 4, 1, 2}, 3), noise({1, 3, 2, 2}, 4),
                        noise({1, 2, 3}, 5) + 1.0, noise({1, 2, 3}, 7) + 1.0, noise({1, 3, 2, 2}, 6), bias, seen},
                       pack(terms)},
                      {{noise({1, 3, 2, 2}, 1), noise({1, 4, 1, 2}, 2), noise({1, 4, 1, 2}, 3), noise({1, 3, 2, 2}, 4),
                        noise({1, 2, 3}, 5) + 1.0, noise({1, 2, 3}, 7) + 1.0, noise({1, 3, 2, 2}, 6), bias, ranges,
                        q_segments, k_segments},
                       pack(parts)}},
                     {.differentiate = false});
  tk::test::check_op(tk::attention_vjp_p,
                     {{{noise({1, 3, 2, 2}, 1), noise({1, 3, 1, 2}, 2), noise({1, 3, 1, 2}, 3), noise({1, 3, 2, 2}, 4),
                        noise({1, 2, 3}, 5) + 1.0, noise({1, 2, 3}, 7) + 1.0, noise({1, 3, 2, 2}, 6)},
                       options}},
                     {.order = 1});
  // the cotangents of lse and of biases that entries of the batch share, or do not
  tk::attention_attributes more = terms;
  more.bias_gradient = more.has_lse_cotangent = true;
  const auto example = [&](const tk::shape& extents) {
    return tk::test::example{{noise({2, 3, 2, 2}, 1), noise({2, 4, 1, 2}, 2), noise({2, 4, 1, 2}, 3),
                              noise({2, 3, 2, 2}, 4), noise({2, 2, 3}, 5) + 1.0, noise({2, 2, 3}, 7) + 1.0,
                              noise({2, 3, 2, 2}, 6), noise({2, 2, 3}, 9), noise(extents, 8), seen},
                             pack(more)};
  };
  tk::test::check_op(tk::attention_vjp_p, {example({1, 1, 3, 4}), example({2, 2, 1, 4}), example({1, 2, 3, 1})},
                     {.differentiate = false});
}
