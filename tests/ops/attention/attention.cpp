// tests/ops/attention/attention.cpp: the cases of tokamax's attention tests, as rows of data for programs traced at run time.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/lax/shapes/concatenate.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

#include <array>

namespace tk = tokamax;
using tk::array;
using tk::attention_mask;
using tk::test::noise;

namespace {

struct operands {
  array q, k, v, bias;
};
struct tolerances {
  double out, gradient, bias = gradient;  // the last one is for the gradient of the bias
};
/// The limits of JAX's and tokamax's tests for random numbers around 0.
constexpr tolerances limits(tk::dtype t, double atol = 1e-6) {
  if (t == tk::bf16) return {1e-2, 2e-2};
  if (t == tk::f16) return {5e-4, 1e-3};
  return {atol, std::max(2 * atol, 5e-6)};
}

/// The most by which an element is further away than its share of its own size allows.
double excess(const array& found, const array& expected, double atol) {
  const tk::test::value x = tk::test::to_value(found), e = tk::test::to_value(expected);
  if (!(x.type.shape == e.type.shape)) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    const double allowed = std::fmax(atol / 10, 1e-6) * std::fabs(e.data[i]);
    const double off = std::fabs(x.data[i] - e.data[i]) - allowed;
    most = std::isnan(off) ? 1e300 : std::fmax(most, off);
  }
  return most;
}

/// The result and the cotangents of all operands.
std::pair<array, operands> run(const operands& a, const array& ct, const tk::attention_options& options) {
  const auto attend = [&](const operands& x) {
    tk::attention_options o = options;
    if (o.bias.exists()) o.bias = x.bias;
    return tk::dot_product_attention(x.q, x.k, x.v, o);
  };
  const auto [y, pullback] = tk::vjp(attend, a);
  return {y, pullback(ct)};
}

/// The same options with one mask of booleans in place of all that hides keys.
tk::attention_options plain(tk::attention_options o, std::int64_t queries, std::int64_t keys) {
  attention_mask mask = o.mask;
  mask = mask & attention_mask{.is_causal = o.is_causal, .window = o.local_window_size};
  if (o.key_value_seq_lengths.exists())
    mask = mask & attention_mask{.k_end = reshape(o.key_value_seq_lengths, {o.key_value_seq_lengths.extent(0), 1, 1})};
  const array q = o.q_indices.exists() ? o.q_indices : tk::iota(tk::i32, {queries}, 0);
  const array k = o.k_indices.exists() ? o.k_indices : tk::iota(tk::i32, {keys}, 0);
  o.mask = {};
  if (const array seen = mask.as_array(q, k); seen.exists()) o.mask = seen;
  o.is_causal = false, o.local_window_size = {}, o.key_value_seq_lengths = o.k_indices = {};
  if (!o.bias.exists()) o.bias = tk::zeros({1});  // with a bias, plain ops have all scores at once
  if (!o.query_seq_lengths.exists()) o.q_indices = {};
  return o;
}

struct extents {
  tk::shape q;  // [..., T, N, H]
  std::int64_t keys, heads, size;
  tk::shape kv(std::int64_t features) const {
    tk::shape s = q;
    s[q.rank() - 3] = keys, s[q.rank() - 2] = heads, s[q.rank() - 1] = features;
    return s;
  }
};

/// Compares a traced program with plain ops in f64 on the same numbers, and with itself.
void check_row(const std::string& name, const extents& e, const tk::attention_options& options, tk::dtype type,
               const tolerances& most, bool positive = false) {
  CAPTURE(name, static_cast<int>(type));
  const auto numbers = [&](const tk::shape& s, std::uint32_t seed) {
    const array x = noise(s, seed);
    return astype(positive ? tk::logistic(x) + 1.0f : x, type);  // in [1, 2)
  };
  const operands a{numbers(e.q, 1), numbers(e.kv(e.q[e.q.rank() - 1]), 2), numbers(e.kv(e.size), 3),
                   options.bias.exists() ? options.bias : tk::zeros({1})};
  tk::shape of_result = e.q;
  of_result[e.q.rank() - 1] = e.size;
  const array ct = astype(noise(of_result, 4), type);
  const auto program =
      tk::jit([&](const operands& x, const array& g) { return run(x, g, options); }, tk::cpu, tk::at_run_time);
  const auto [y, d] = program(a, ct);
  const auto wide = [](const array& x) { return astype(x, tk::f64); };
  const auto [z, g] =
      run({wide(a.q), wide(a.k), wide(a.v), wide(a.bias)}, wide(ct), plain(options, e.q[e.q.rank() - 3], e.keys));
  CHECK(y.dtype() == type);
  CHECK(excess(y, z, most.out) < most.out);
  CHECK(excess(d.q, g.q, most.gradient) < most.gradient);
  CHECK(excess(d.k, g.k, most.gradient) < most.gradient);
  CHECK(excess(d.v, g.v, most.gradient) < most.gradient);
  if (options.bias.exists()) CHECK(excess(d.bias, g.bias, most.bias) < most.bias);
  const auto [again, b] = program(a, ct);
  CHECK(tk::test::bit_difference({again, b.q, b.k, b.v, b.bias}, {y, d.q, d.k, d.v, d.bias}) == "");
}
void check_row(const std::string& name, const extents& e, const tk::attention_options& options = {},
               double atol = 1e-6) {
  check_row(name, e, options, tk::f32, limits(tk::f32, atol));
}

array coins(const tk::shape& s, std::uint32_t seed) { return noise(s, seed) > 0.0f; }
array range(std::int64_t n, int from, int step) { return tk::iota(tk::i32, {n}, 0) * step + from; }
/// 0, 1, ..., middle - 1, middle, ..., 1
array up_and_down(std::int64_t n) { return minimum(range(n, 0, 1), range(n, static_cast<int>(n), -1)); }
/// A fixed permutation of 0 ... n - 1, for odd factors and n a power of 2.
array permutation(std::int64_t n, int factor) {
  const array x = range(n, 5, factor);
  const int size = static_cast<int>(n);
  return x - quotient(x, size) * size;
}

constexpr extents self{{1, 256, 2, 32}, 256, 2, 32};

}  // namespace

TEST_CASE("attention of any extents, in each dtype, is that of f64") {
  const std::pair<const char*, extents> rows[] = {
      {"self", {{1, 1024, 2, 64}, 1024, 2, 64}},       {"cross", {{1, 512, 2, 64}, 768, 2, 64}},
      {"24, 64", {{1, 256, 2, 24}, 256, 2, 64}},       {"24, 112", {{1, 256, 2, 24}, 256, 2, 112}},
      {"128, 64", {{1, 256, 2, 128}, 256, 2, 64}},     {"128, 112", {{1, 256, 2, 128}, 256, 2, 112}},
      {"one key head", {{2, 256, 4, 64}, 256, 1, 64}}, {"four key heads", {{1, 256, 16, 64}, 256, 4, 64}},
      {"no batch", {{256, 4, 64}, 256, 4, 64}},        {"three batch axes", {{2, 1, 4, 64, 2, 64}, 64, 2, 64}},
      {"112 queries", {{1, 112, 2, 64}, 1024, 2, 64}}, {"48", {{1, 256, 2, 48}, 256, 2, 48}},
      {"one number", {{2, 70, 2, 1}, 90, 1, 1}}};
  for (const auto& [name, e] : rows)
    for (const tk::dtype t : {tk::f32, tk::bf16, tk::f16})
      check_row(name, e, {}, t, limits(t, e.q[e.q.rank() - 1] == e.size ? 1e-6 : 2e-6));
  const std::pair<const char*, extents> few[] = {{"8 x 256", {{2, 8, 4, 64}, 256, 4, 64}},
                                                 {"256 x 8", {{2, 256, 4, 64}, 8, 4, 64}},
                                                 {"7 x 8", {{2, 7, 4, 64}, 8, 4, 64}}};
  for (const auto& [name, e] : few) check_row(name, e, {}, tk::f32, {1e-6, 2e-5}, true);
}

TEST_CASE("biases and masks broadcast, and biases get sums as gradients") {
  const extents e{{2, 130, 4, 32}, 150, 2, 32};
  const std::int64_t T = 130, S = 150;
  for (const tk::shape& s :
       {tk::shape{2, 4, T, S}, {2, 4, T, 1}, {2, 4, 1, S}, {2, 1, T, S}, {1, 4, T, S}, {4, T, S}, {1, 1, 1, S}, {S}}) {
    check_row("bias", e, {.bias = noise(s, 5)}, 5e-6);
    check_row("bias", e, {.bias = noise(s, 5)}, tk::bf16, {2e-2, 8e-2});
  }
  for (const tk::shape& s : {tk::shape{2, 4, T, S},
                             {2, 4, T, 1},
                             {2, 4, 1, S},
                             {2, 1, T, S},
                             {1, 4, T, S},
                             {2, 1, T, 1},
                             {1, 4, T, 1},
                             {2, 1, 1, S},
                             {1, 4, 1, S}})
    check_row("mask", e, {.mask = coins(s, 6)});
}

TEST_CASE("soft caps, dropout, dtypes of logits and outputs that are not normalised") {
  const array bias = noise({1, 2, 256, 256}, 5);
  check_row("soft cap", self, {.logits_soft_cap = 10}, 2e-6);
  check_row("soft cap and bias", self, {.bias = bias, .logits_soft_cap = 10}, 2e-6);
  check_row("dropout", self, {.dropout_mask = coins({1, 2, 256, 256}, 7), .dropout_rate = 0.5});
  check_row("not normalised", {{1, 256, 2, 8}, 256, 2, 8}, {.scale = 1, .normalize_output = false}, 1e-5);
  for (const tk::dtype logits : {tk::bf16, tk::f16})
    check_row("logits", self, {.logits_dtype = logits}, tk::f32, {1e-2, 2e-2});
  // in blocks
  const extents many{{1, 300, 2, 32}, 420, 1, 24};
  check_row("dropout, causal", many,
            {.is_causal = true, .dropout_mask = coins({1, 2, 300, 420}, 7), .dropout_rate = 0.5});
  check_row("dropout of keys", many, {.dropout_mask = coins({420}, 7), .dropout_rate = 0.25});
  check_row("not normalised", many, {.scale = 1, .local_window_size = {50, 3}, .normalize_output = false}, 1e-5);
  check_row("logits", many, {.is_causal = true, .logits_dtype = tk::bf16}, tk::f32, {1e-2, 2e-2});
}

TEST_CASE("options that only plain ops have need memory for blocks of scores, and not for all of them") {
  const auto bytes = [](std::int64_t n, bool gradient, const tk::attention_options& o) {
    const auto f = [&](const array& q, const array& k) { return sum(tk::dot_product_attention(q, k, k, o)); };
    const array x({tk::f32, false, {1, n, 2, 32}});
    const tk::graph g = gradient ? tk::make_graph(tk::grad(f), x, x) : tk::make_graph(f, x, x);
    return static_cast<double>(
        tk::detail::owned_program::make(g, tk::kernel_table_of<tk::cpu_tag>())->tables.regions[0].arena_bytes);
  };
  for (const tk::attention_options& o :
       {tk::attention_options{.logits_dtype = tk::bf16},
        {.is_causal = true, .normalize_output = false},
        {.algorithm = tk::dot_algorithm::bf16_bf16_f32, .value_algorithm = tk::dot_algorithm::f32_f32_f32},
        {.dropout_mask = tk::full({1, 1, 1, 1}, 1, tk::bool_), .dropout_rate = 0.5}})
    for (const bool gradient : {false, true}) CHECK(bytes(4096, gradient, o) < 4.5 * bytes(1024, gradient, o));
}

TEST_CASE("mask objects of 1024 queries and keys are booleans of all pairs") {
  constexpr std::int64_t n = 1024;
  const extents e{{1, n, 2, 16}, n, 2, 16};
  const array each_head = reshape(range(2, 0, 3), {2, 1});
  const std::pair<const char*, attention_mask> rows[] = {
      {"causal", tk::causal_mask},
      {"k_end", {.k_end = range(n, 1, 1)}},
      {"k_start", {.k_start = range(n, 0, 1)}},
      {"q_start", {.q_start = range(n, 0, 1)}},
      {"q_start reversed", {.q_start = range(n, n - 1, -1)}},
      {"q_end", {.q_end = range(n, 1, 1)}},
      {"q_end reversed", {.q_end = range(n, n, -1)}},
      {"hourglass of keys", {.k_start = up_and_down(n), .k_end = range(n, n, 0) - up_and_down(n)}},
      {"hourglass of each head",
       {.k_start = up_and_down(n) + each_head, .k_end = range(n, n, 0) - up_and_down(n) + each_head}},
      {"hourglass of queries", {.q_start = up_and_down(n), .q_end = range(n, n, 0) - up_and_down(n)}},
      {"k_start, causal", {.k_start = array(512), .is_causal = true}},
      {"k_end, causal", {.k_end = array(513), .is_causal = true}},
      {"both, causal", {.k_start = array(256), .k_end = array(769), .is_causal = true}},
      {"q_start, k_start", {.q_start = array(17), .k_start = range(n, 0, 1)}},
      {"q_start, k_end", {.q_start = array(128), .k_end = range(n, 1, 1)}},
      {"q_end, k_start", {.q_end = array(1007), .k_start = range(n, 0, 1)}},
      {"q_end, k_end", {.q_end = array(896), .k_end = range(n, 1, 1)}},
      {"one k_start", {.k_start = array(576)}},
      {"window of 128", attention_mask{.k_start = range(n, -127, 1)} & tk::causal_mask},
      {"segments of unequal lengths", tk::segment_mask(quotient(range(n, 0, 1) * range(n, 0, 1), 100000))},
      {"chunks, causal", tk::chunked_mask(96) & tk::causal_mask},
      {"window or prefix", tk::local_mask(100, 0) | attention_mask{.k_end = array(40)}}};
  for (const auto& [name, mask] : rows) check_row(name, e, {.mask = mask}, tk::f32, {1e-6, 2e-5});
}

TEST_CASE("causal attention of more queries or keys, as an option, a mask and booleans") {
  for (const auto& [queries, keys] : {std::pair{512, 512}, {512, 539}, {512, 1024}, {1024, 512}}) {
    const extents e{{1, queries, 2, 16}, keys, 2, 16};
    check_row("causal", e, {.is_causal = true});
    const array q = noise(e.q, 1), k = noise(e.kv(16), 2);
    const array lower = tk::causal_mask.as_array(queries, keys);
    const array y = tk::dot_product_attention(q, k, k, {.is_causal = true});
    CHECK(tk::test::distance(tk::dot_product_attention(q, k, k, {.mask = tk::causal_mask}), y) < 1e-6);
    CHECK(tk::test::distance(tk::dot_product_attention(q, k, k, {.mask = lower}), y) < 1e-6);
  }
}

TEST_CASE("permuted queries and keys see what they see in order") {
  constexpr std::int64_t n = 512;
  const extents e{{2, n, 2, 16}, n, 2, 16};
  check_row("queries", e, {.is_causal = true, .q_indices = permutation(n, 77)});
  check_row("keys", e, {.is_causal = true, .k_indices = permutation(n, 45)});
  check_row("q_start, q_end", e,
            {.mask = attention_mask{.q_start = array(42), .q_end = array(298)}, .q_indices = permutation(n, 77)});
}

TEST_CASE("what is in padded queries, keys and values does not leak") {
  constexpr std::int64_t n = 1024;
  const array q = noise({2, n, 2, 16}, 1), k = noise({2, n, 2, 16}, 2), v = noise({2, n, 2, 16}, 3);
  const array q_end = reshape(array{456, 987}, {2, 1, 1, 1}), k_end = reshape(array{123, 999}, {2, 1, 1, 1});
  const array at = tk::iota(tk::i32, {1, n, 1, 1}, 1), seen = at < q_end;
  const attention_mask mask{.q_end = reshape(q_end, {2, 1, 1}), .k_end = reshape(k_end, {2, 1, 1})};
  const array nan(std::numeric_limits<float>::quiet_NaN()), most(std::numeric_limits<float>::max());
  for (const tk::attention_options& o :
       {tk::attention_options{.mask = mask}, {.mask = mask.as_array(n, n)}, {.mask = mask, .logits_dtype = tk::f32}}) {
    const auto valid = [&](const array& a, const array& b, const array& c) {
      return select(
          seen,
          tk::jit([&](const array& x, const array& y, const array& z) { return tk::dot_product_attention(x, y, z, o); },
                  tk::cpu, tk::at_run_time)(a, b, c),
          0.0f);
    };
    const array padded = valid(select(seen, q, nan), select(at < k_end, k, nan), select(at < k_end, v, most));
    CHECK(tk::test::distance(padded, valid(q, k, v)) == 0);
  }
  const extents e{{2, 256, 2, 16}, 256, 2, 16};
  check_row("padding", e,
            {.mask = attention_mask{.q_end = reshape(array{100, 250}, {2, 1, 1}),
                                    .k_end = reshape(array{30, 256}, {2, 1, 1})}});
}

TEST_CASE("the modes of masks that cuDNN's tests have, in bf16") {
  constexpr std::int64_t n = 256;
  const extents e{{2, n, 4, 64}, n, 4, 64};
  const array bias = noise({1, 4, n, n}, 5), custom = coins({1, 1, n, n}, 6);
  const array i = tk::iota(tk::i32, {n, n}, 0), j = tk::iota(tk::i32, {n, n}, 1);
  const array board = quotient(i + j, 2) * 2 == i + j;
  const array q_lengths{128, 64}, k_lengths{64, 128};
  const std::pair<const char*, tk::attention_options> rows[] = {
      {"bias", {.bias = bias}},
      {"causal", {.is_causal = true}},
      {"padding", {.query_seq_lengths = q_lengths, .key_value_seq_lengths = k_lengths}},
      {"checkerboard", {.mask = board}},
      {"causal, padding", {.is_causal = true, .query_seq_lengths = q_lengths, .key_value_seq_lengths = k_lengths}},
      {"custom, padding", {.mask = custom, .query_seq_lengths = q_lengths, .key_value_seq_lengths = k_lengths}},
      {"bias, causal", {.bias = bias, .is_causal = true}},
      {"causal, window", {.is_causal = true, .local_window_size = {3, 2}}},
      {"causal, custom", {.mask = custom, .is_causal = true}},
      {"window", {.local_window_size = {3, 0}}}};
  for (const auto& [name, o] : rows) check_row(name, e, o, tk::bf16, {1e-2, 2e-2, 5e-2});
}

TEST_CASE("two parts of the keys become attention to all of them") {
  const array q = noise({2, 200, 2, 32}, 1), k = noise({2, 300, 2, 32}, 2), v = noise({2, 300, 2, 32}, 3);
  const auto part = [&](std::int64_t from, std::int64_t to) {
    return tk::dot_product_attention_residuals(q, slice_in_dim(k, from, to, 1), slice_in_dim(v, from, to, 1));
  };
  const array y = tk::combine_partial_results({part(0, 123), part(123, 300)}).out;
  CHECK(excess(y, tk::dot_product_attention(q, k, v), 1e-6) < 1e-6);
}

TEST_CASE("batches of attention share queries, keys, biases and masks, and biases get a gradient for each entry") {
  const tk::shape s{3, 2, 70, 2, 8};
  const array bias = noise({3, 1, 2, 70, 70}, 4), mask = coins({3, 2, 1, 70, 70}, 5);
  const operands all{noise(s, 1), noise(s, 2), noise(s, 3), bias};
  const auto gradients = [](const operands& a, const array& seen) {
    const auto [y, g] = run(a, noise({2, 70, 2, 8}, 6), {.bias = a.bias, .mask = seen});
    return std::array<array, 5>{y, g.q, g.k, g.v, g.bias};
  };
  for (int shared = 0; shared < 16; ++shared) {  // bit 0: k and v, 1: bias, 2: mask, 3: queries
    if (shared == 15) continue;
    CAPTURE(shared);
    const auto entry = [&](int bit, const array& x, const array& mapped) {
      return (shared >> bit & 1) != 0 ? x[0] : mapped;
    };
    const auto f = [&](const operands& a, const array& seen) {
      return gradients({entry(3, all.q, a.q), entry(0, all.k, a.k), entry(0, all.v, a.v), entry(1, all.bias, a.bias)},
                       entry(2, mask, seen));
    };
    const auto found = tk::vmap(f)(all, mask);
    for (int i = 0; i < 3; ++i) {
      const auto e = f({all.q[i], all.k[i], all.v[i], all.bias[i]}, mask[i]);
      for (std::size_t r = 0; r < 5; ++r) CHECK(excess(found[r][i], e[r], 3e-6) < 5e-6);
    }
  }
  const array nested = tk::vmap([&](const array& k) {
    return tk::vmap([&](const array& q) { return tk::dot_product_attention(q, k, k, {.bias = bias[0]}); })(all.q);
  })(all.k);
  CHECK(excess(nested[1][2], tk::dot_product_attention(all.q[2], all.k[1], all.k[1], {.bias = bias[0]}), 1e-6) < 1e-6);
}

TEST_CASE("attention without queries, keys or entries") {
  const auto [y, g] =
      run({noise({2, 5, 2, 4}, 1), tk::zeros({2, 0, 2, 4}), tk::zeros({2, 0, 2, 4}), noise({2, 2, 5, 1}, 2)},
          noise({2, 5, 2, 4}, 3), {.bias = tk::zeros({2, 2, 5, 1})});
  CHECK(tk::test::distance(y, tk::zeros({2, 5, 2, 4})) == 0);
  CHECK(tk::test::distance(g.q, tk::zeros({2, 5, 2, 4})) == 0);
  CHECK(tk::test::distance(g.bias, tk::zeros({2, 2, 5, 1})) == 0);
  for (const tk::shape& s : {tk::shape{2, 0, 2, 4}, {0, 5, 2, 4}}) {
    const tk::shape kv{s[0], 6, 2, 4};
    const auto [out, d] = run({tk::zeros(s), noise(kv, 1), noise(kv, 2), noise({1, 2, 1, 6}, 2)}, tk::zeros(s),
                              {.bias = tk::zeros({1, 2, 1, 6})});
    CHECK(out.shape() == s);
    CHECK(d.q.shape() == s);
    CHECK(tk::test::distance(d.k, tk::zeros(kv)) == 0);
    CHECK(tk::test::distance(d.v, tk::zeros(kv)) == 0);
    CHECK(tk::test::distance(d.bias, tk::zeros({1, 2, 1, 6})) == 0);
  }
}
