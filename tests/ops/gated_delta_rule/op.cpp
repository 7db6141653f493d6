// tests/ops/gated_delta_rule/op.cpp: the recurrence against loops in double, of whole sequences, pieces and packed ones.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/gated_delta_rule.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/golden.hpp"
#include "support/packed.hpp"
#include "support/threads.hpp"

#include <cmath>

namespace tk = tokamax;
using tk::array;
using tk::test::noise;
using tk::test::numbers;

namespace {

constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
array part(const array& x, std::int64_t from, std::int64_t to, int axis = 0) { return slice_in_dim(x, from, to, axis); }

/// Heads and their sizes.
struct heads {
  std::int64_t keys = 2, values = 8, key_size = 16, value_size = 24;
};
/// Operands for some tokens, with the axes of a batch in front; decay is mild, so that the past matters.
struct operands {
  array q, k, v, g, beta;
  operands(tk::shape batch, std::int64_t tokens, const heads& h, unsigned seed, tk::dtype t = tk::f32) {
    const auto make = [&](std::int64_t n, std::int64_t size, unsigned s, tk::dtype type) {
      tk::shape all = batch;
      all.push_back(tokens), all.push_back(n);
      if (size >= 0) all.push_back(size);
      return noise(all, s, type);
    };
    q = make(h.keys, h.key_size, seed, t), k = make(h.keys, h.key_size, seed + 1, t);
    v = make(h.values, h.value_size, seed + 2, t);
    g = make(h.values, -1, seed + 3, tk::f32) * 0.1f - 0.11f;
    beta = make(h.values, -1, seed + 4, tk::f32) * 0.5f + 0.5f;
  }
  operands slice(std::int64_t from, std::int64_t to, int axis = 0) const {
    operands o = *this;
    for (array* x : {&o.q, &o.k, &o.v, &o.g, &o.beta}) *x = part(*x, from, to, axis);
    return o;
  }
};

/// One token after the other, in double, from `state` [N, D, E], which becomes the state after them.
void plain(const operands& o, std::int64_t first, std::int64_t tokens, const heads& h, bool normalize, double* state,
           std::vector<double>& out) {
  const auto q = tk::test::to_value(o.q).data, k = tk::test::to_value(o.k).data, v = tk::test::to_value(o.v).data;
  const auto g = tk::test::to_value(o.g).data, beta = tk::test::to_value(o.beta).data;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const auto length = [&](const std::vector<double>& x, std::int64_t from) {
    double sum = 1e-6;
    for (std::int64_t d = 0; d < h.key_size; ++d) sum += x[at(from + d)] * x[at(from + d)];
    return normalize ? std::sqrt(sum) : 1.0;
  };
  for (std::int64_t t = first; t < first + tokens; ++t)
    for (std::int64_t n = 0; n < h.values; ++n) {
      const std::int64_t key = (t * h.keys + n / (h.values / h.keys)) * h.key_size, row = t * h.values + n;
      const double of_q = length(q, key) * std::sqrt(static_cast<double>(h.key_size)), of_k = length(k, key);
      double* const s = state + n * h.key_size * h.value_size;
      for (std::int64_t e = 0; e < h.value_size; ++e) {
        double seen = 0, result = 0;
        for (std::int64_t d = 0; d < h.key_size; ++d) {
          double& x = s[d * h.value_size + e];
          x *= std::exp(g[at(row)]);
          seen += x * k[at(key + d)] / of_k;
        }
        const double u = beta[at(row)] * (v[at(row * h.value_size + e)] - seen);
        for (std::int64_t d = 0; d < h.key_size; ++d) {
          s[d * h.value_size + e] += k[at(key + d)] / of_k * u;
          result += s[d * h.value_size + e] * q[at(key + d)] / of_q;
        }
        out[at(row * h.value_size + e)] = result;
      }
    }
}

/// out and state of whole sequences [B, T, ...], from states of zeros or those that are given.
std::vector<std::vector<double>> plain(const operands& o, const heads& h, bool normalize, const array& state = {}) {
  const std::int64_t batch = o.q.extent(0), tokens = o.q.extent(1), each = h.values * h.key_size * h.value_size;
  operands flat = o;
  for (array* x : {&flat.q, &flat.k, &flat.v, &flat.g, &flat.beta}) *x = tk::detail::joined_rows(*x, 2);
  std::vector<double> states(static_cast<std::size_t>(batch * each)), out(static_cast<std::size_t>(o.v.size()));
  if (state.exists()) states = tk::test::to_value(state).data;
  for (std::int64_t b = 0; b < batch; ++b) plain(flat, b * tokens, tokens, h, normalize, states.data() + b * each, out);
  return {out, states};
}

double apart(const array& found, const std::vector<double>& expected) {
  const auto v = tk::test::to_value(found).data;
  REQUIRE(v.size() == expected.size());
  double most = 1e-30, wrong = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    most = std::fmax(most, std::fabs(expected[i]));
    const double d = std::fabs(v[i] - expected[i]);
    wrong = d <= wrong ? wrong : d;
  }
  return wrong / most;
}

tk::gated_delta_rule_result run(const operands& o, const array& state = {},
                                const tk::gated_delta_rule_options& options = {}) {
  return tk::gated_delta_rule(o.q, o.k, o.v, o.g, o.beta, state, options);
}
tk::arrays run_packed(const operands& o, const array& pool, const tk::packed_sequences& s) {
  const auto y = tk::gated_delta_rule(o.q, o.k, o.v, o.g, o.beta, pool, s, {.normalize_qk = true});
  return {y.out, y.state};
}

}  // namespace

TEST_CASE("gated_delta_rule and its gradients are those of JAX") {
  const auto of = [](bool normalize) {
    return [normalize](const tk::arrays& x) -> tk::arrays {
      return tk::gated_delta_rule(x[0], x[1], x[2], x[3], x[4], x[5], {.normalize_qk = normalize}).out;
    };
  };
  for (const bool normalize : {false, true})
    tk::test::check_golden(normalize ? "gated_delta_rule_of_unit_keys" : "gated_delta_rule", of(normalize), 6, 5e-6,
                           "linear_attention.txt");
}

TEST_CASE("gated_delta_rule of batches is that of loops over doubles, in chunks of any size") {
  const heads h{2, 4, 5, 7};
  for (const std::int64_t tokens : {1, 2, 17, 63, 64, 65, 130}) {
    const operands o({3}, tokens, h, static_cast<unsigned>(tokens));
    const array state = noise({3, h.values, h.key_size, h.value_size}, 5);
    const auto expected = plain(o, h, true, state);
    const array in[] = {o.q, o.k, o.v, o.g, o.beta};
    for (const std::int64_t chunk : {0, 1, 6, 64}) {
      CAPTURE(tokens, chunk);
      const auto found = run(o, state, {.normalize_qk = true, .chunk = chunk});
      CHECK(apart(found.out, expected[0]) < 2e-6);
      CHECK(apart(found.state, expected[1]) < 2e-6);
      tk::arrays x;
      for (const array& a : in) x.push_back(tk::detail::joined_rows(a, 2));
      x[0] = tk::detail::unit_length(x[0]), x[1] = tk::detail::unit_length(x[1]), x.push_back(state);
      const tk::words w = pack(tk::gated_delta_rule_attributes{std::pow(5.0, -0.5), chunk});
      const tk::arrays y = tk::detail::gated_delta_rule_meaning(tk::call_of(tk::gated_delta_rule_p, x, w));
      CHECK(apart(y[0], expected[1]) < 2e-6);
      CHECK(apart(y[1], expected[0]) < 2e-6);
    }
  }
}

TEST_CASE("a prefill of 8192 tokens, and axes of batches") {
  const heads h{1, 2, 8, 8};
  const operands o({1}, 8192, h, 3);
  const auto expected = plain(o, h, true);
  const auto found = run(o, {}, {.normalize_qk = true});
  CHECK(apart(found.out, expected[0]) < 5e-6);
  CHECK(apart(found.state, expected[1]) < 5e-6);
  const operands two({2, 3}, 4, h, 4);
  const auto all = run(two);
  CHECK(all.state.shape() == tk::shape{2, 3, 2, 8, 8});
  operands last = two;
  for (array* x : {&last.q, &last.k, &last.v, &last.g, &last.beta}) *x = x->operator[](1)[2];
  const auto one = run(last);
  CHECK(tk::test::distance(one.out, all.out[1][2]) < 1e-6);
  CHECK(tk::test::distance(one.state, all.state[1][2]) < 1e-6);
}

TEST_CASE("keys that repeat lose no digits, and a decay of nothing forgets all") {
  const heads h{1, 1, 4, 3};
  operands o({1}, 128, h, 6);
  o.k = tk::full(o.k.shape(), 0.5f), o.beta = tk::ones(o.beta.shape()), o.g = tk::zeros(o.g.shape());
  const auto expected = plain(o, h, false);
  CHECK(apart(run(o).out, expected[0]) < 1e-5);
  const tk::arrays x{tk::detail::joined_rows(o.q, 2),    tk::detail::joined_rows(o.k, 2),
                     tk::detail::joined_rows(o.v, 2),    tk::detail::joined_rows(o.g, 2),
                     tk::detail::joined_rows(o.beta, 2), tk::zeros({1, 1, 4, 3})};
  const tk::words w = pack(tk::gated_delta_rule_attributes{0.5, 64});
  CHECK(apart(tk::detail::gated_delta_rule_meaning(tk::call_of(tk::gated_delta_rule_p, x, w))[1], expected[0]) < 1e-5);
  const operands noisy({1}, 100, h, 8);
  operands cut = noisy;
  cut.g = cut.g + 0.0f;
  cut.g.mutable_data<float>()[70] = -INFINITY;
  const auto after = run(cut), alone = run(noisy.slice(70, 100, 1));
  CHECK(tk::test::distance(part(after.out, 70, 100, 1), alone.out) < 1e-6);
  CHECK(tk::test::distance(after.state, alone.state) < 1e-6);
}

TEST_CASE("gated_delta_rule of packed sequences is that of loops over doubles") {
  for (const heads& h : {heads{}, heads{2, 8, 128, 128}, heads{1, 1, 3, 1}})
    for (const tk::test::packed& p : tk::test::packed_cases()) {
      if (h.key_size == 128 && p.tokens > 300) continue;  // loops over doubles take long
      CAPTURE(p.lengths.size(), p.tokens, h.key_size);
      const operands o({}, p.tokens, h, 1);
      const array pool = noise({p.pool, h.values, h.key_size, h.value_size}, 9);
      std::vector<double> state = tk::test::to_value(pool).data, out(static_cast<std::size_t>(o.v.size()));
      const std::int64_t each = h.values * h.key_size * h.value_size;
      for (std::size_t r = 0; r < p.lengths.size(); ++r) {
        double* const mine = state.data() + p.slots[r] * each;
        if (!p.continues[r]) std::fill_n(mine, each, 0.0);
        plain(o, p.starts[r], p.lengths[r], h, true, mine, out);
      }
      const auto run = [&](const tk::arrays& in) -> tk::arrays {
        const auto y = tk::gated_delta_rule(o.q, o.k, in[0], o.g, o.beta, in[1], p.sequences(), {.normalize_qk = true});
        return {y.out, y.state};
      };
      const tk::arrays y = run({o.v, pool});
      CHECK(apart(y[0], out) < 2e-6);
      CHECK(apart(y[1], state) < 2e-6);
      if (h.key_size != 16) continue;
      tk::test::check_same_bits(
          [&](const tk::arrays& in) -> tk::arrays {
            operands mine = o;
            mine.v = in[0];
            return run_packed(mine, in[1], p.sequences());
          },
          {o.v, pool});
    }
}

TEST_CASE("a packed sequence in pieces is the whole one, and stale states do not matter") {
  const heads h{2, 4, 9, 11};
  const operands o({}, 100, h, 2);
  const array pool = noise({3, h.values, h.key_size, h.value_size}, 7), begins = array::from<bool>({false}, {1});
  const tk::arrays whole = run_packed(o, pool, {numbers({0, 100}), numbers({1}), begins});
  for (const int cut : {0, 1, 30, 50, 99}) {
    const tk::arrays a = run_packed(o.slice(0, cut), pool, {numbers({0, cut}), numbers({1}), begins});
    const tk::arrays b = run_packed(o.slice(cut, 100), a[1], {numbers({0, 100 - cut}), numbers({1})});
    CHECK(tk::test::distance(tk::concatenate({a[0], b[0]}), whole[0]) < 2e-6);
    CHECK(tk::test::distance(b[1], whole[1]) < 2e-6);
  }
  const array nan = tk::full(pool.shape(), std::nanf(""));
  const tk::arrays stale = run_packed(o, nan, {numbers({0, 100}), numbers({1}), begins});
  CHECK(tk::test::bit_difference({stale[0], part(stale[1], 1, 2)}, {whole[0], part(whole[1], 1, 2)}) == "");
  operands poisoned = o;
  poisoned.v = tk::concatenate({tk::full({40, h.values, h.value_size}, std::nanf("")), part(o.v, 40, 100)});
  const tk::packed_sequences two{numbers({0, 40, 100}), numbers({1, 2})};
  const tk::arrays clean = run_packed(o, pool, two), other = run_packed(poisoned, pool, two);
  CHECK(tk::test::bit_difference({part(other[0], 40, 100), part(other[1], 2, 3)},
                                 {part(clean[0], 40, 100), part(clean[1], 2, 3)}) == "");
}

TEST_CASE("a token that is not a number does not reach those before it") {
  const heads h{1, 2, 128, 128};  // so large that chunks are taken
  const operands o({1}, 128, h, 2);
  for (const float bad : {std::nanf(""), INFINITY}) {
    operands hit = o;
    hit.v = o.v + 0.0f;
    hit.v.mutable_data<float>()[(70 * h.values + 1) * h.value_size] = bad;
    const auto clean = run(o), found = run(hit);
    CHECK(tk::test::distance(part(found.out, 0, 70, 1), part(clean.out, 0, 70, 1)) < 1e-6);
    const std::vector<double> after = tk::test::to_value(part(found.out, 71, 72, 1)).data;
    CHECK(std::isnan(after[128]));
    CHECK(std::isfinite(after[0]));
  }
}

TEST_CASE("sequences that overlap, or share a slot, are computed as if the earlier one had less") {
  const heads h{1, 1, 3, 2};
  const operands o({}, 8, h, 2);
  const array pool = noise({2, 1, 3, 2}, 7);
  const tk::arrays found = run_packed(o, pool, {numbers({0, 5, 3, 8}), numbers({1, 0, 1})});
  const tk::arrays alone = run_packed(o, pool, {numbers({0, 5, 5, 8}), numbers({-1, 0, 1})});
  CHECK(tk::test::bit_difference({found[0], found[1]}, {alone[0], alone[1]}) == "");
  const tk::arrays far = run_packed(o, pool, {numbers({-4, 2, 99}), numbers({7, 1})});
  const tk::arrays near = run_packed(o, pool, {numbers({0, 2, 8}), numbers({-1, 1})});
  CHECK(tk::test::bit_difference({far[0], far[1]}, {near[0], near[1]}) == "");
}

TEST_CASE("gated_delta_rule keeps the contract of ops") {
  const auto example = [](std::int64_t tokens, std::int64_t sequences, const heads& h, tk::dtype t,
                          std::int64_t chunk) {
    const tk::shape keys{tokens, h.keys, h.key_size}, gates{tokens, h.values};
    return tk::test::example{
        {noise(keys, 1, t), noise(keys, 2, t), noise({tokens, h.values, h.value_size}, 3, t), noise(gates, 4),
         noise(gates, 5), noise({sequences, h.values, h.key_size, h.value_size}, 6)},
        pack(tk::gated_delta_rule_attributes{0.5, chunk})};
  };
  tk::test::check_op(tk::gated_delta_rule_p,
                     {example(6, 2, {1, 2, 2, 3}, tk::f32, 2), example(3, 1, {1, 1, 2, 1}, tk::f32, 1),
                      example(0, 2, {1, 1, 2, 1}, tk::f32, 0), example(4, 1, {1, 1, 2, 2}, tk::bf16, 0)},
                     {.order = 1});
  tk::test::check_function(
      [](const tk::arrays& v) -> tk::arrays {
        const tk::packed_sequences s{numbers({0, 1, 4}), numbers({2, 0}), array::from<bool>({true, false}, {2})};
        const auto r = tk::gated_delta_rule(v[0], v[1], v[2], v[3], v[4], v[5], s);
        return {r.out, r.state};
      },
      example(5, 3, {1, 1, 2, 2}, tk::f32, 0).inputs, {.order = 1});
}

TEST_CASE("gated_delta_rule carries special values, on odd and empty extents") {
  const struct {
    std::int64_t batch, tokens;
    heads h;
  } sizes[] = {{2, 37, {1, 2, 5, 19}}, {1, 1, {2, 2, 33, 16}}, {2, 0, {1, 1, 4, 4}}, {1, 3, {1, 1, 4, 0}}, {0, 3, {}}};
  for (const auto& [batch, tokens, h] : sizes)
    for (const tk::dtype t : {tk::f32, tk::bf16}) {
      const operands o({batch}, tokens, h, 1, t);
      tk::test::check_adversarial(
          [&o](const tk::arrays& v) -> tk::arrays {
            const auto r = tk::gated_delta_rule(v[0], v[1], v[2], v[3], v[4], v[5], {.normalize_qk = true, .chunk = 1});
            return {r.out, r.state};
          },
          {tk::test::sprinkled(o.q.shape(), 1, t, 1e3), tk::test::sprinkled(o.k.shape(), 2, t, 1e3),
           tk::test::sprinkled(o.v.shape(), 3, t, 1e3), o.g, o.beta,
           tk::test::sprinkled({batch, h.values, h.key_size, h.value_size}, 4, tk::f32, 1e3)},
          {.tolerance = t == tk::f32 ? 2e-5 : 2e-2, .floor = 100});
    }
}

TEST_CASE("a step of decoding that is given the pool writes into its memory") {
  const heads h{2, 4, 16, 16};
  const operands o({}, 3, h, 1);
  const array pool = noise({5, h.values, h.key_size, h.value_size}, 3);
  const tk::packed_sequences s{numbers({0, 1, 2, 3}), numbers({3, 1, 4})};
  const auto step = tk::jit(
      [](const std::vector<array>& x, const array& state, const array& start, const array& slots) {
        const auto y =
            tk::gated_delta_rule(x[0], x[1], x[2], x[3], x[4], state, {start, slots}, {.normalize_qk = true});
        return std::pair{y.out, y.state};
      },
      tk::cpu, tk::at_run_time);
  const tk::arrays expected = run_packed(o, pool, s);
  array mine = pool + 0.0f;
  const void* const memory = mine.data<float>();
  const auto [out, state] =
      step(std::vector<array>{o.q, o.k, o.v, o.g, o.beta}, std::move(mine), s.query_start, s.entries);
  CHECK(tk::test::bit_difference({out, state}, {expected[0], expected[1]}) == "");
  CHECK(static_cast<const void*>(state.data<float>()) == memory);
}

TEST_CASE("gated_delta_rule says what is wrong with its operands") {
  const array q(floats({6, 2, 4})), v(floats({6, 4, 3})), g(floats({6, 4})), state(floats({4, 4, 3}));
  const array i = array({tk::i32, false, {6, 2, 4}}), pool(floats({2, 4, 4, 3}));
  const tk::packed_sequences s{array({tk::i32, false, {3}}), array({tk::i32, false, {2}})};
  CHECK_THROWS_WITH(tk::gated_delta_rule(i, q, v, g, g), contains("gated_delta_rule: q, k, v"));
  CHECK_THROWS_WITH(tk::gated_delta_rule(q, q, g, g, g), contains("gated_delta_rule: q, k, v"));
  CHECK_THROWS_WITH(tk::gated_delta_rule(q, q, array(floats({6, 3, 3})), array(floats({6, 3})), array(floats({6, 3}))),
                    contains("N a multiple of H"));
  CHECK_THROWS_WITH(tk::gated_delta_rule(q, q, v, v, g), contains("gated_delta_rule: g, beta"));
  CHECK_THROWS_WITH(tk::gated_delta_rule(q, q, v, array(floats({6, 2})), g), contains("gated_delta_rule: g, beta"));
  CHECK_THROWS_WITH(tk::gated_delta_rule(q, q, array(floats({5, 4, 3})), g, g), contains("gated_delta_rule: tokens"));
  CHECK_THROWS_WITH(tk::gated_delta_rule(q, q, v, g, g, g), contains("gated_delta_rule: state"));
  CHECK_THROWS_WITH(tk::gated_delta_rule(q, q, v, g, g, state, {.chunk = -1}), contains("gated_delta_rule: chunk"));
  CHECK_THROWS_WITH(tk::gated_delta_rule(q, q, v, g, g, state, s), contains("gated_delta_rule: state"));
  CHECK_THROWS_WITH(tk::gated_delta_rule(q, q, v, g, g, pool, {s.entries, s.entries}),
                    contains("gated_delta_rule: sequences"));
}
