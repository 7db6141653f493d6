// tests/ops/attention/options.cpp: thousands of combinations of the options of dot_product_attention, against loops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/attention_loops.hpp"
#include "support/check_op.hpp"
#include "support/golden.hpp"

#include <random>

namespace tk = tokamax;
using tk::array;
using tk::test::value;

namespace {

struct operands {
  array q, k, v, bias, sinks;
};
/// Random numbers and choices.
struct dice {
  std::mt19937 engine;
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(engine() % static_cast<std::uint32_t>(n)); }
  bool once_in(std::int64_t n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<std::int64_t>(from.size()))];
  }
  /// Numbers low, low + step, ..., below low + n * step.
  array numbers(const tk::shape& s, tk::dtype type, double low, double step, std::int64_t n) {
    value x = tk::test::zeros_of({type, false, s});
    for (double& e : x.data) e = low + step * static_cast<double>(below(n));
    return tk::test::to_array(x);
  }
  array floats(const tk::shape& s, tk::dtype type) { return numbers(s, type, -2, 1.0 / 64, 256); }
  array integers(const tk::shape& s, std::int64_t from, std::int64_t to) {
    return numbers(s, tk::i32, static_cast<double>(from), 1, to - from + 1);
  }
  array booleans(const tk::shape& s, std::int64_t sides) {  // false once in so many
    value x = tk::test::zeros_of({tk::bool_, false, s});
    for (double& e : x.data) e = once_in(sides) ? 0 : 1;
    return tk::test::to_array(x);
  }
  tk::shape shrunk(tk::shape s, bool sometimes = true) {  // some extents become 1
    for (int i = 0; sometimes && i < s.rank(); ++i)
      if (once_in(3)) s[i] = 1;
    return s;
  }
};

struct sampled {
  operands in;
  tk::attention_options options;
};

struct sizes {
  std::int64_t B, K, N, T, S, H, h;
};
sizes few(dice& d) {
  const auto B = d.pick<std::int64_t>({1, 2}), K = d.pick<std::int64_t>({1, 2}), N = K * d.pick<std::int64_t>({1, 2});
  const auto T = d.pick<std::int64_t>({1, 2, 5, 26}), S = d.pick<std::int64_t>({1, 3, 5, 7});
  const auto H = d.pick<std::int64_t>({1, 4}), h = d.once_in(3) ? d.pick<std::int64_t>({1, 3, 6}) : H;
  return {B, K, N, T, S, H, h};
}
/// More than one block of queries or of keys in kernels.
sizes many(dice& d) {
  const auto N = d.pick<std::int64_t>({1, 2}), H = d.pick<std::int64_t>({4, 7});
  return {1, 1, N, d.pick<std::int64_t>({1, 33, 70, 190, 300}), d.pick<std::int64_t>({31, 150, 290}), H, H};
}

/// The mask objects of T queries and S keys that skip blocks: windows, chunks, ranges, segments, and what they make together.
tk::attention_mask structured_mask(dice& d, const sizes& size, int depth = 0) {
  const auto B = size.B, N = size.N, T = size.T, S = size.S;
  const auto kind = d.below(depth > 1 ? 5 : 8);
  if (kind == 0) return tk::causal_mask;
  if (kind == 1) return tk::local_mask(d.below(S + 1) - 1, d.below(S + 1) - 1);
  if (kind == 2) return tk::chunked_mask(1 + d.below(S));
  if (kind == 3)
    return {.k_start = d.integers(d.shrunk({B, N, T}), 0, S), .k_end = d.integers(d.shrunk({B, N, T}), 0, S + 1)};
  if (kind == 4) return tk::segment_mask(d.integers(d.shrunk({B, T}), 0, 2), d.integers(d.shrunk({B, S}), 0, 2));
  const tk::attention_mask a = structured_mask(d, size, depth + 1), b = structured_mask(d, size, depth + 1);
  return kind == 5 ? a & b : a | b;
}

sampled sample(dice& d, tk::dtype type, const sizes& size) {
  const auto [B, K, N, T, S, H, h] = size;
  const tk::shape pairs{B, N, T, S};
  sampled x{{d.floats({B, T, N, H}, type), d.floats({B, S, K, H}, type), d.floats({B, S, K, h}, type),
             d.floats(d.shrunk(pairs), type), d.floats({N}, type)},
            {}};
  tk::attention_options& o = x.options;
  if (d.once_in(2)) o.bias = x.in.bias;
  if (d.once_in(2)) o.mask.bool_mask = d.booleans(d.shrunk(pairs), d.pick<std::int64_t>({1, 2, 4}));
  if (d.once_in(6)) o.mask.q_start = d.integers(d.shrunk({B, N, S}), 0, T);
  if (d.once_in(6)) o.mask.q_end = d.integers(d.shrunk({B, N, S}), 0, T + 1);
  if (d.once_in(6)) o.mask.k_start = d.integers(d.shrunk({B, N, T}), 0, S);
  if (d.once_in(6)) o.mask.k_end = d.integers(d.shrunk({B, N, T}), 0, S + 1);
  if (d.once_in(3)) o.mask = tk::any_attention_mask(o.mask & structured_mask(d, size));
  if (d.once_in(4)) o.key_value_seq_lengths = d.integers(d.shrunk({B}), 0, S);
  if (d.once_in(4)) o.query_seq_lengths = d.integers(d.shrunk({B}), 0, T);
  if (d.once_in(3)) o.local_window_size = {d.below(T > 5 ? 80 : 4) - 1, d.below(T > 5 ? 80 : 4) - 1};
  if (d.once_in(6)) o.q_indices = d.integers(d.shrunk({B, T}), 0, 2 * T);
  if (d.once_in(6)) o.k_indices = d.integers(d.shrunk({B, S}), 0, 2 * S);
  if (d.once_in(4)) o.sinks = x.in.sinks;
  if (d.once_in(6)) o.dropout_mask = d.booleans(d.shrunk(pairs), 2), o.dropout_rate = 0.25;
  if (d.once_in(3)) o.logits_soft_cap = 1.5;
  if (d.once_in(3)) o.scale = 0.625;
  o.is_causal = d.once_in(3);
  o.normalize_output = !d.once_in(6);
  return x;
}

struct bounds {
  double out, gradient;
};
constexpr bounds bounds_of(tk::dtype type) {
  if (type == tk::f64) return {1e-13, 1e-12};
  if (type == tk::f32) return {3e-6, 1e-5};
  return type == tk::f16 ? bounds{2e-3, 5e-3} : bounds{3e-2, 1e-1};
}

double difference(const array& found, const value& expected, double floor = 1e-2) {
  const value x = tk::test::to_value(found);
  if (!(x.type.shape == expected.type.shape)) return std::numeric_limits<double>::infinity();
  double most = 0, size = floor;
  for (std::size_t i = 0; i < x.data.size(); ++i) {
    const double y = std::fmax(expected.data[i], -2e38);
    most = std::fmax(most, std::isfinite(x.data[i]) ? std::fabs(std::fmax(x.data[i], -2e38) - y) : 1e300);
    size = std::fmax(size, std::fabs(y));
  }
  return most / size;
}

void check_sample(const sampled& x, dice& d) {
  const tk::dtype type = x.in.q.dtype();
  const bounds bound = bounds_of(type);
  tk::test::attention_loops e;
  e.q = tk::test::to_value(x.in.q), e.k = tk::test::to_value(x.in.k), e.v = tk::test::to_value(x.in.v);
  const array ct = d.floats({x.in.q.extent(0), x.in.q.extent(1), x.in.q.extent(2), x.in.v.extent(3)}, type);
  e.ct = tk::test::to_value(ct);
  e.run(x.options);
  const auto attend = [&](const operands& a) {
    tk::attention_options o = x.options;
    if (o.bias.exists()) o.bias = a.bias;
    if (o.sinks.exists()) o.sinks = a.sinks;
    return tk::dot_product_attention(a.q, a.k, a.v, o);
  };
  const auto [y, pullback] = tk::vjp(attend, x.in);
  CHECK(y.dtype() == type);
  CHECK(difference(y, e.out) < bound.out);
  const operands g = pullback(ct);
  CHECK(difference(g.q, e.dq, 1) < bound.gradient);
  CHECK(difference(g.k, e.dk, 1) < bound.gradient);
  CHECK(difference(g.v, e.dv, 1) < bound.gradient);
  if (x.options.bias.exists()) CHECK(difference(g.bias, e.dbias, 1) < bound.gradient);
  if (x.options.sinks.exists()) CHECK(difference(g.sinks, e.dsinks, 1) < bound.gradient);
  if (!d.once_in(8)) return;
  const tk::partial_attention parts = tk::dot_product_attention_residuals(x.in.q, x.in.k, x.in.v, x.options);
  CHECK(difference(parts.out, e.out) < bound.out);
  CHECK(difference(parts.max, e.max) < bound.out);
  CHECK(difference(parts.denominator, e.denominator) < bound.out);
}

array row(const std::string& name) { return tk::test::golden("ops.txt", name); }

}  // namespace

TEST_CASE("2400 combinations of options and their gradients are those of loops in double") {
  dice d{std::mt19937(7)};
  for (int i = 0; i < 2400; ++i) {
    const tk::dtype type = i % 8 == 0 ? tk::bf16 : i % 8 == 1 ? tk::f16 : i % 8 < 4 ? tk::f64 : tk::f32;
    CAPTURE(i);
    check_sample(sample(d, type, few(d)), d);
  }
}

TEST_CASE("options do the same to many queries and keys") {
  dice d{std::mt19937(9)};
  for (int i = 0; i < 40; ++i) {
    const sizes size = many(d);
    CAPTURE(i, size.N, size.T, size.S, size.H);
    check_sample(sample(d, i % 4 == 0 ? tk::bf16 : tk::f32, size), d);
  }
}

TEST_CASE("mask objects skip blocks of many queries and keys") {
  dice d{std::mt19937(17)};
  for (int i = 0; i < 60; ++i) {
    const sizes size = many(d);
    CAPTURE(i, size.N, size.T, size.S, size.H);
    sampled x{{d.floats({size.B, size.T, size.N, size.H}, tk::f32), d.floats({size.B, size.S, size.K, size.H}, tk::f32),
               d.floats({size.B, size.S, size.K, size.h}, tk::f32), tk::zeros({1}), tk::zeros({1})},
              {}};
    x.options.mask = tk::any_attention_mask(structured_mask(d, size));
    check_sample(x, d);
  }
}

TEST_CASE("options of attention are those of JAX") {
  const auto check = [](const std::string& name, const tk::attention_options& options) {
    CAPTURE(name);
    const std::string of = "attention_" + name;
    const operands a{row("attention_options.q"),
                     row("attention_options.k"),
                     row("attention_options.v"),
                     row("attention_options.bias"),
                     {}};
    const auto attend = [&](const operands& x) {
      tk::attention_options o = options;
      if (o.bias.exists()) o.bias = x.bias;
      return tk::dot_product_attention(x.q, x.k, x.v, o);
    };
    const auto [y, pullback] = tk::vjp(attend, operands{a.q, a.k, a.v, a.bias, tk::zeros({1})});
    CHECK(tk::test::distance(y, row(of + ".out")) < 2e-6);
    const operands g = pullback(row("attention_options.ct"));
    CHECK(tk::test::distance(g.q, row(of + ".dq")) < 5e-6);
    CHECK(tk::test::distance(g.k, row(of + ".dk")) < 5e-6);
    CHECK(tk::test::distance(g.v, row(of + ".dv")) < 5e-6);
    if (options.bias.exists()) CHECK(tk::test::distance(g.bias, row(of + ".dbias")) < 5e-6);
  };
  const array bias = row("attention_options.bias"), mask = row("attention_options.mask");
  const array q_lengths = row("attention_options.q_lengths"), k_lengths = row("attention_options.k_lengths");
  check("bias", {.bias = bias});
  check("bias_mask", {.bias = bias, .mask = mask});
  check("lengths", {.query_seq_lengths = q_lengths, .key_value_seq_lengths = k_lengths});
  check("causal_lengths", {.is_causal = true, .query_seq_lengths = q_lengths, .key_value_seq_lengths = k_lengths});
  check("window", {.local_window_size = {2, 1}});
  check("causal_window", {.is_causal = true, .local_window_size = {1, 0}});
  check("everything", {.bias = bias,
                       .mask = mask,
                       .scale = 0.3,
                       .is_causal = true,
                       .query_seq_lengths = q_lengths,
                       .key_value_seq_lengths = k_lengths,
                       .local_window_size = 3});
}

TEST_CASE("attention to parts of the keys becomes attention to all of them") {
  dice d{std::mt19937(11)};
  for (const bool normalized : {true, false}) {
    const array q = d.floats({2, 5, 4, 3}, tk::f32), k = d.floats({2, 8, 2, 3}, tk::f32),
                v = d.floats({2, 8, 2, 3}, tk::f32);
    const auto part = [&](std::int64_t from, std::int64_t to, tk::attention_options o) {
      o.normalize_output = normalized;
      o.k_indices = tk::iota(tk::i32, {to - from}, 0) + static_cast<int>(from);
      return tk::dot_product_attention_residuals(q, slice_in_dim(k, from, to, 1), slice_in_dim(v, from, to, 1), o);
    };
    for (const bool causal : {false, true}) {
      const tk::attention_options o{.is_causal = causal};
      const tk::partial_attention whole = part(0, 8, o);
      const tk::partial_attention y =
          tk::combine_partial_results({part(0, 3, o), part(3, 4, o), part(4, 8, o)}, normalized);
      CHECK(tk::test::distance(y.out, whole.out) < 1e-6);
      CHECK(tk::test::distance(y.max, whole.max) < 1e-6);
      CHECK(tk::test::distance(y.denominator, whole.denominator) < 1e-6);
    }
  }
}

TEST_CASE("attention takes any number of batch axes, and dtypes of logits") {
  dice d{std::mt19937(13)};
  const array q = d.floats({2, 3, 4, 4, 2}, tk::f32), k = d.floats({2, 3, 5, 2, 2}, tk::f32), v = k + 0.5f;
  const array bias = d.floats({3, 1, 4, 5}, tk::f32);
  const auto flat = [](const array& x) { return reshape(x, {6, x.extent(-3), x.extent(-2), x.extent(-1)}); };
  const array y = tk::dot_product_attention(q, k, v, {.bias = bias});
  CHECK(y.shape() == q.shape());
  const array wide = flat(broadcast_to(bias, {2, 3, 1, 4, 5}));
  const array expected = tk::dot_product_attention(flat(q), flat(k), flat(v), {.bias = wide});
  CHECK(tk::test::distance(flat(y), expected) < 1e-6);
  const array one = tk::dot_product_attention(flat(q)[0], flat(k)[0], flat(v)[0], {.bias = wide[0]});
  CHECK(tk::test::distance(one, expected[0]) < 1e-6);
  CHECK(tk::test::distance(tk::dot_product_attention(flat(q)[0], flat(k)[0], flat(v)[0]),
                           tk::dot_product_attention(flat(q), flat(k), flat(v))[0]) == 0);
  const array rounded = tk::dot_product_attention(q, k, v, {.bias = bias, .logits_dtype = tk::bf16});
  CHECK(tk::test::distance(rounded, y) > 1e-4);
  CHECK(tk::test::distance(rounded, y) < 1e-2);
}

TEST_CASE("functions with options keep the contract of functions") {
  using tk::test::noise;
  const auto f = [](const tk::arrays& x) -> tk::arrays {
    return tk::dot_product_attention(x[0], x[1], x[2],
                                     {.bias = x[3], .mask = x[4], .is_causal = true, .logits_soft_cap = 2});
  };
  const array seen = noise({2, 1, 2, 3}, 5) > 0.0f;
  tk::test::check_function(
      f, {noise({2, 2, 2, 2}, 1), noise({2, 3, 1, 2}, 2), noise({2, 3, 1, 3}, 3), noise({2, 2, 3}, 4), seen},
      {.order = 1});
}

TEST_CASE("wrong options are refused by name") {
  const array q = tk::zeros({2, 4, 2, 8}), k = tk::zeros({2, 6, 2, 8});
  const auto refuses = [&](const tk::attention_options& o, const std::string& name) {
    CHECK_THROWS_WITH(tk::dot_product_attention(q, k, k, o), contains("dot_product_attention: " + name));
  };
  refuses({.bias = tk::zeros({2, 2, 4, 5})}, "bias");
  refuses({.bias = tk::zeros({3, 2, 4, 6})}, "bias");
  refuses({.bias = tk::zeros({1, 1, 2, 2, 4, 6})}, "bias");
  refuses({.mask = tk::zeros({2, 2, 5, 6}, tk::bool_)}, "mask");
  refuses({.mask = tk::zeros({2, 2, 4, 6})}, "mask");
  refuses({.mask = tk::attention_mask{.k_end = tk::zeros({6}, tk::i32)}}, "mask.k_end");
  refuses({.mask = tk::attention_mask{.q_start = tk::zeros({4}, tk::i32)}}, "mask.q_start");
  refuses({.mask = tk::attention_mask{.q_end = tk::zeros({6})}}, "mask.q_end");
  refuses({.mask = tk::chunked_mask(0)}, "mask.chunks");
  refuses({.mask = tk::causal_mask | tk::local_mask(-2, 0)}, "mask.window");
  refuses({.mask = tk::segment_mask(tk::zeros({4}, tk::i32))}, "mask.k_segments");
  refuses({.mask = tk::segment_mask(tk::zeros({2, 4}, tk::i32), tk::zeros({6}))}, "mask.k_segments");
  refuses({.mask = tk::attention_mask{.q_segments = tk::zeros({4}, tk::i32)}}, "mask.segments");
  refuses({.query_seq_lengths = tk::zeros({3}, tk::i32)}, "query_seq_lengths");
  refuses({.key_value_seq_lengths = tk::zeros({2})}, "key_value_seq_lengths");
  refuses({.local_window_size = {-2, 0}}, "local_window_size");
  refuses({.logits_soft_cap = -1}, "logits_soft_cap");
  refuses({.logits_dtype = tk::i32}, "logits_dtype");
  refuses({.dropout_mask = tk::zeros({4, 5}, tk::bool_)}, "dropout_mask");
  refuses({.dropout_mask = tk::zeros({4, 6}, tk::bool_), .dropout_rate = 1}, "dropout_rate");
  refuses({.sinks = tk::zeros({3})}, "sinks");
  refuses({.q_indices = tk::zeros({6}, tk::i32)}, "q_indices");
  refuses({.k_indices = tk::zeros({4}, tk::i32)}, "k_indices");
  CHECK_THROWS_WITH(tk::dot_product_attention(q, k, tk::zeros({2, 5, 2, 8})), contains("attention: k, v"));
  CHECK_THROWS_WITH(tk::dot_product_attention(q, k, astype(k, tk::i32)), contains("attention: k, v"));
}
