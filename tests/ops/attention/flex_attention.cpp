// tests/ops/attention/flex_attention.cpp: attention with score and mask functions is attention with the arrays they make.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/lax/indexing/gather.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/ops/attention/flex_attention.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vjp.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

#include <functional>

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
  const array q = noise({2, 3, 64, 1, 2}, 4), table = noise({6}, 5) * 3.0f, other = noise({1, 1, 64, 64}, 6);
  const auto scaled = [&](const array& s, const array& b, auto&...) {
    array factor = tk::zeros({6, 1, 1, 1});
    for (int n = 0; n < 6; ++n) factor = select(b == n, table[n], factor);
    return s * factor + other;
  };
  const auto shifted = [&](const array& s, const array& b, auto&...) {
    return s + astype(b, tk::f32) * 0.3f + other * astype(b - 2, tk::f32);
  };
  const auto hidden = [](const array& b, const array&, const array&, const array& j) { return j <= b * 9; };
  const array y = tk::flex_attention(q, q, q, scaled), z = tk::flex_attention(q, q, q, shifted, hidden);
  for (int n = 0; n < 6; ++n) {
    const array x = q[n / 3][n % 3];
    const array one = tk::flex_attention(x, x, x, [&](const array& s, auto&...) { return s * table[n] + other; });
    CHECK(tk::test::distance(y[n / 3][n % 3], one) < 1e-6);
    const auto moved = [&](const array& s, auto&...) {
      return s + static_cast<float>(n) * 0.3f + other * static_cast<float>(n - 2);
    };
    const auto late = [n](const array&, const array&, const array&, const array& j) { return j <= n * 9; };
    CHECK(tk::test::distance(z[n / 3][n % 3], tk::flex_attention(x, x, x, moved, late)) < 1e-6);
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

namespace {

struct operands {
  array q, k, v, table;
};
using attends = std::function<array(const operands&)>;

/// The result and the cotangents of all operands.
std::pair<array, operands> with_gradients(const operands& x, const attends& f) {
  const auto program = tk::jit(
      [&](const operands& a, const array& ct) {
        const auto [y, pullback] = tk::vjp(f, a);
        return std::pair<array, operands>{y, pullback(ct)};
      },
      tk::cpu, tk::at_run_time);
  return program(x, noise({x.q.extent(0), x.q.extent(1), x.q.extent(2), x.v.extent(3)}, 9));
}
void check_same(const operands& x, const attends& f, const attends& plain, double most = 2e-6) {
  const auto [y, g] = with_gradients(x, f);
  const auto [e, h] = with_gradients(x, plain);
  CHECK(tk::test::distance(y, e) < most);
  CHECK(tk::test::distance(g.q, h.q) < 5 * most);
  CHECK(tk::test::distance(g.k, h.k) < 5 * most);
  CHECK(tk::test::distance(g.v, h.v) < 5 * most);
  CHECK(tk::test::distance(g.table, h.table) < 5 * most);
}
array flat(const array& x) { return reshape(x, {x.size()}); }

constexpr std::int64_t T = 300, S = 420;  // some blocks, and a part of one
operands many(const tk::shape& table) {
  return {noise({1, T, 4, 16}, 1), noise({1, S, 2, 16}, 2), noise({1, S, 2, 12}, 3), noise(table, 4)};
}
array numbers(std::int64_t n) { return tk::iota(tk::i32, {n}, 0); }

}  // namespace

TEST_CASE("many queries and keys in blocks have the results and gradients of arrays of all pairs") {
  const array apart = astype(abs(expand_dims(numbers(T), 1) - expand_dims(numbers(S), 0)), tk::f32);
  // A score function that only adds is a bias; one that does more is computed in blocks.
  const auto by_key = [](const operands& x, const tk::attention_options& o, auto mask) {
    const auto score = [&](const array& s, auto&, auto&, const array& i, const array& j) {
      return s + gather(x.table, flat(j)) * 2.0f - astype(abs(i - j), tk::f32) * 0.01f;
    };
    return tk::flex_attention(x.q, x.k, x.v, score, mask, o);
  };
  const auto in_blocks = [](const operands& x, tk::attention_options o, auto mask) {
    o.scale = (o.scale == 0 ? 0.25 : o.scale) / 2;
    const auto score = [&](const array& s, auto&, auto&, const array& i, const array& j) {
      return s * 2.0f + gather(x.table, flat(j)) * 2.0f - astype(abs(i - j), tk::f32) * 0.01f;
    };
    return tk::flex_attention(x.q, x.k, x.v, score, mask, o);
  };
  const auto by_bias = [&](const operands& x, tk::attention_options o) {
    o.bias = x.table * 2.0f - apart * 0.01f;
    return tk::dot_product_attention(x.q, x.k, x.v, o);
  };
  const operands x = many({S});
  const array segments = quotient(numbers(S), 130);
  const tk::attention_mask parts = tk::segment_mask(slice_in_dim(segments, 0, T, 0), segments) | tk::local_mask(3, 0);
  const array coins = noise({4, T, S}, 5) > 0.3f, starts = minimum(numbers(T), 200);
  const std::pair<const char*, tk::attention_options> rows[] = {
      {"all", {}},
      {"causal", {.is_causal = true}},
      {"window", {.local_window_size = {40, 7}}},
      {"segments or window", {.mask = parts}},
      {"ranges", {.mask = tk::attention_mask{.q_end = array(250), .k_start = starts}}},
      {"booleans", {.mask = coins}},
      {"chunks, cap, sinks", {.mask = tk::chunked_mask(64), .logits_soft_cap = 3, .sinks = noise({4}, 6)}},
      {"lengths", {.query_seq_lengths = array{200}, .key_value_seq_lengths = array{77}}},
      {"positions", {.is_causal = true, .q_indices = numbers(T) * 2, .k_indices = numbers(S) - 5}},
      {"not normalised", {.scale = 0.1, .is_causal = true, .normalize_output = false}}};
  for (const auto& [name, o] : rows) {
    CAPTURE(name);
    const double most = o.normalize_output ? 2e-6 : 1e-5;
    const attends plain = [&](const operands& a) { return by_bias(a, o); };
    check_same(x, [&](const operands& a) { return by_key(a, o, tk::every_key); }, plain, most);
    check_same(x, [&](const operands& a) { return in_blocks(a, o, tk::every_key); }, plain, most);
  }
  // queries that see no key get the mean of the values
  const auto late = [](const array&, const array&, const array& i, const array& j) {
    return logical_and(i >= 150, j < i);
  };
  const array none, seen = late(none, none, expand_dims(numbers(T), 1), expand_dims(numbers(S), 0));
  const attends plain = [&](const operands& a) { return by_bias(a, {.mask = seen}); };
  check_same(x, [&](const operands& a) { return by_key(a, {}, late); }, plain);
  check_same(x, [&](const operands& a) { return in_blocks(a, {}, late); }, plain);
}

TEST_CASE("functions that only add and hide are a bias and booleans, as far as they take little memory") {
  const auto ops_of = [](std::int64_t n, auto score, auto... mask) {
    const auto f = [&](const array& q) { return tk::flex_attention(q, q, q, score, mask...); };
    const tk::graph g = tk::make_graph(f, array({tk::f32, false, {1, n, 2, 32}}));
    int attentions = 0, loops = 0;
    for (const tk::node& x : g.nodes) attentions += x.op == &tk::attention_p, loops += x.op == &tk::scan_p;
    return std::pair{attentions, loops};
  };
  const std::pair by_op{1, 0}, by_loops{0, 1};
  CHECK(ops_of(1024, alibi) == by_op);
  CHECK(ops_of(64, alibi) == by_op);
  CHECK(ops_of(63, alibi) == std::pair{0, 0});  // all scores
  CHECK(ops_of(2048, alibi) == by_loops);       // 2 heads x 16 MiB
  const auto by_distance = [](const array& s, auto&, auto&, auto& i, auto& j) { return s - astype(i - j, tk::f32); };
  CHECK(ops_of(2048, by_distance) == by_op);
  CHECK(ops_of(2049, by_distance) == by_loops);
  CHECK(ops_of(1800, by_distance, nearby) == by_op);  // the same for all heads, 12.96 MB with the mask's 3.24 MB
  CHECK(ops_of(1900, by_distance, nearby) == by_loops);
  CHECK(ops_of(1 << 20, [](const array& s, auto&, auto&, auto&, auto& j) { return s + astype(j, tk::f32); }) == by_op);
  CHECK(ops_of(1024, [](const array& s, auto&...) { return s; }) == by_op);
  CHECK(ops_of(1024, [](const array& s, auto&, auto&, auto& i, auto& j) {
          return 1.0f + (s - astype(i, tk::f32)) + astype(j, tk::f32);
        }) == by_op);
  CHECK(ops_of(1024, [](const array& s, auto&, auto&, auto& i, auto&) { return astype(i, tk::f32) - s; }) == by_loops);
  CHECK(ops_of(1024, [](const array& s, auto&...) { return s + s; }) == by_loops);
  CHECK(ops_of(1024, [](const array& s, auto&...) { return s + tanh(s); }) == by_loops);
  CHECK(ops_of(1024, [](const array& s, auto&...) { return tk::zeros_like(s); }) == by_loops);
}

TEST_CASE("functions that capture arrays of all queries or keys get all pairs at once") {
  const operands x{noise({2, 512, 4, 64}, 1), noise({2, 512, 4, 64}, 2), noise({2, 512, 4, 64}, 3),
                   noise({2, 1, 256, 128}, 4)};
  const auto upscaled = [](const array& b) {  // each bias is that of 2 x 4 pairs
    return reshape(broadcast_in_dim(b, {2, 1, 256, 2, 128, 4}, {0, 1, 2, 4}), {2, 1, 512, 512});
  };
  const auto flex = [&](const operands& a) {
    const array bias = upscaled(a.table);
    return tk::flex_attention(a.q, a.k, a.v, [&](const array& s, auto&...) { return s + bias; });
  };
  const auto plain = [&](const operands& a) {
    return tk::dot_product_attention(a.q, a.k, a.v, {.bias = upscaled(a.table)});
  };
  check_same(x, flex, plain);
  const auto shifted = [](const array& s, auto&, auto&, const array& i, const array& j) {
    return s + astype(i - j, tk::f32);
  };
  const array apart = astype(expand_dims(numbers(512), 1) - expand_dims(numbers(512), 0), tk::f32);
  CHECK(tk::test::distance(tk::flex_attention(x.q, x.k, x.v, shifted),
                           tk::dot_product_attention(x.q, x.k, x.v, {.bias = apart})) < 2e-6);
}

TEST_CASE("the memory of flex_attention and of its gradients grows with the lengths and not with their product") {
  const auto bytes = [](std::int64_t n, bool gradient) {
    const auto f = [](const array& q, const array& k) {
      return sum(tk::flex_attention(q, k, k, alibi, tk::every_key, {.is_causal = true}));
    };
    const array x({tk::f32, false, {1, n, 2, 32}});
    const tk::graph g = gradient ? tk::make_graph(tk::grad(f), x, x) : tk::make_graph(f, x, x);
    return static_cast<double>(
        tk::detail::owned_program::make(g, tk::kernel_table_of<tk::cpu_tag>())->tables.regions[0].arena_bytes);
  };
  for (const bool gradient : {false, true}) {
    const double few = bytes(1024, gradient), more = bytes(8192, gradient);
    CAPTURE(few, more);
    CHECK(more < 9 * few);
    CHECK(more < 2.0 * 8192 * 8192);  // a quarter of the scores of one head
  }
}

TEST_CASE("functions that do not give scores and masks are refused") {
  const array q = noise({1, 3, 2, 2}, 1);
  CHECK_THROWS_WITH(tk::flex_attention(q, q, q, [](auto& s, auto&...) { return s[0][0][0]; }, nearby, {.bias = q}),
                    contains("dot_product_attention: bias"));
  const array many_of_them = noise({1, 70, 2, 2}, 2);
  CHECK_THROWS_WITH(tk::flex_attention(many_of_them, many_of_them, many_of_them, alibi, nearby, {.bias = q}),
                    contains("dot_product_attention: bias"));
  CHECK_THROWS_WITH(tk::flex_attention(q, q, q, [](auto&...) { return tk::zeros({2, 2}); }),
                    contains("flex_attention: score"));
  CHECK_THROWS_WITH(tk::flex_attention(q, q, q, alibi, [](auto&, auto&, auto& i, auto&) { return i; }),
                    contains("flex_attention: mask"));
}
