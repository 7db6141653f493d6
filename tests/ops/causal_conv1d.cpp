// tests/ops/causal_conv1d.cpp: causal convolutions against loops in double, of whole sequences, pieces and packed ones.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/causal_conv1d.hpp>
#include <tokamax/runtime/jit.hpp>

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

constexpr auto silu = [](const array& x) { return tk::silu(x); };
constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
static_assert(tk::causal_conv1d(array(floats({2, 5, 3})), array(floats({3, 4}))).out.type() == floats({2, 5, 3}));
static_assert(tk::causal_conv1d(array(floats({2, 5, 3})), array(floats({3, 4}))).state.type() == floats({2, 3, 3}));

double silu_of(double x) { return x / (1 + std::exp(-x)); }
array part(const array& x, std::int64_t from, std::int64_t to) { return slice_in_dim(x, from, to, 0); }

/// The sequences of a problem one after the other, in double. `pool` becomes the new one.
std::vector<double> plain(const tk::test::packed& p, const tk::test::value& x, const tk::test::value& w,
                          const tk::test::value& bias, tk::test::value& pool) {
  const std::int64_t channels = x.extent(1), places = w.extent(1), kept = places - 1;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> out(x.data.size());
  const tk::test::value before = pool;
  for (std::size_t r = 0; r < p.lengths.size(); ++r)
    for (std::int64_t c = 0; c < channels; ++c) {
      const bool has = p.slots[r] >= 0 && p.slots[r] < pool.extent(0);
      std::vector<double> all;  // the state, then the tokens
      for (std::int64_t i = 0; i < kept; ++i)
        all.push_back(has && p.continues[r] ? before.data[at((p.slots[r] * kept + i) * channels + c)] : 0.0);
      for (std::int64_t t = 0; t < p.lengths[r]; ++t) {
        all.push_back(x.data[at((p.starts[r] + t) * channels + c)]);
        double sum = bias.data[at(c)];
        for (std::int64_t m = 0; m < places; ++m) sum += w.data[at(c * places + m)] * all[at(t + m)];
        out[at((p.starts[r] + t) * channels + c)] = silu_of(sum);
      }
      for (std::int64_t i = 0; has && i < kept; ++i)
        pool.data[at((p.slots[r] * kept + i) * channels + c)] = all[at(p.lengths[r] + i)];
    }
  return out;
}

}  // namespace

TEST_CASE("causal_conv1d and its gradients are those of JAX") {
  tk::test::check_golden(
      "causal_conv1d",
      [](const tk::arrays& x) -> tk::arrays { return tk::causal_conv1d(x[0], x[1], {.bias = x[2]}, silu).out; }, 3,
      3e-6, "linear_attention.txt");
}

TEST_CASE("causal_conv1d of packed sequences is that of loops over doubles") {
  for (const tk::test::packed& p : tk::test::packed_cases())
    for (const std::int64_t places : {1, 2, 4}) {
      const std::int64_t channels = 5;
      CAPTURE(p.lengths.size(), p.tokens, places);
      const array x = noise({p.tokens, channels}, 1), w = noise({channels, places}, 2), bias = noise({channels}, 3);
      const array pool = noise({p.pool, places - 1, channels}, 4);
      tk::test::value expected = tk::test::to_value(pool);
      const auto out = plain(p, tk::test::to_value(x), tk::test::to_value(w), tk::test::to_value(bias), expected);
      const auto found = tk::causal_conv1d(x, w, pool, p.sequences(), bias, silu);
      CHECK(tk::test::apart(p, found.out, out) < 1e-6);
      CHECK(tk::test::bit_difference({found.state}, {tk::test::to_array(expected)}) == "");
      tk::test::check_same_bits(
          [&](const tk::arrays& in) -> tk::arrays {
            const auto y = tk::causal_conv1d(in[0], w, in[1], p.sequences(), bias, silu);
            return {y.out, y.state};
          },
          {x, pool});
    }
}

TEST_CASE("a sequence in pieces is the whole sequence, whatever its length") {
  const array w = noise({3, 4}, 1), bias = noise({3}, 2), x = noise({2, 9, 3}, 3);
  const auto whole = tk::causal_conv1d(x, w, {.bias = bias}, silu);
  for (const std::int64_t cut : {0, 1, 2, 4, 9}) {
    const auto a = tk::causal_conv1d(slice_in_dim(x, 0, cut, 1), w, {.bias = bias}, silu);
    const auto b = tk::causal_conv1d(slice_in_dim(x, cut, 9, 1), w, {.bias = bias, .state = a.state}, silu);
    CHECK(tk::test::bit_difference({tk::concatenate({a.out, b.out}, 1), b.state}, {whole.out, whole.state}) == "");
    const array one = squeeze(slice_in_dim(x, 1, 2, 0), 0), none = tk::full({2, 3, 3}, 7.0f);
    const tk::packed_sequences first{numbers({0, static_cast<int>(cut)}), numbers({1}),
                                     array::from<bool>({false}, {1})},
        second{numbers({0, static_cast<int>(9 - cut)}), numbers({1})};
    const auto c = tk::causal_conv1d(part(one, 0, cut), w, none, first, bias, silu);
    const auto d = tk::causal_conv1d(part(one, cut, 9), w, c.state, second, bias, silu);
    CHECK(tk::test::distance(tk::concatenate({c.out, d.out}, 0), squeeze(slice_in_dim(whole.out, 1, 2, 0), 0)) < 1e-6);
    CHECK(tk::test::bit_difference({part(d.state, 1, 2)}, {part(whole.state, 1, 2)}) == "");
    CHECK(tk::test::bit_difference({part(d.state, 0, 1)}, {part(none, 0, 1)}) == "");
  }
}

TEST_CASE("what a slot held before a sequence began does not matter, nor do tokens of other sequences") {
  const array w = noise({2, 4}, 1), x = noise({7, 2}, 2), zero = tk::zeros({3, 3, 2});
  const array nan = tk::full({3, 3, 2}, std::nanf(""));
  const tk::packed_sequences s{numbers({0, 3, 7}), numbers({2, 0}), array::from<bool>({false, false}, {2})};
  const auto fresh = tk::causal_conv1d(x, w, zero, s), stale = tk::causal_conv1d(x, w, nan, s);
  CHECK(tk::test::bit_difference({fresh.out}, {stale.out}) == "");
  for (const std::int64_t slot : {0, 2})
    CHECK(tk::test::bit_difference({part(fresh.state, slot, slot + 1)}, {part(stale.state, slot, slot + 1)}) == "");
  const array poisoned = tk::concatenate({tk::full({3, 2}, std::nanf("")), part(x, 3, 7)});
  CHECK(tk::test::bit_difference({part(tk::causal_conv1d(poisoned, w, zero, s).out, 3, 7)}, {part(fresh.out, 3, 7)}) ==
        "");
}

TEST_CASE("causal_conv1d keeps the contract of functions") {
  const auto dense = [](const tk::arrays& v) -> tk::arrays {
    const auto r = tk::causal_conv1d(v[0], v[1], {.bias = v[2], .state = v[3]}, silu);
    return {r.out, r.state};
  };
  tk::test::check_function(dense, {noise({2, 3, 2}, 1), noise({2, 3}, 2), noise({2}, 3), noise({2, 2, 2}, 4)},
                           {.order = 1});
  const auto packed = [](const tk::arrays& v) -> tk::arrays {
    const tk::packed_sequences s{numbers({0, 1, 4}), numbers({2, 0}), array::from<bool>({true, false}, {2})};
    const auto r = tk::causal_conv1d(v[0], v[1], v[2], s, {}, silu);
    return {r.out, r.state};
  };
  for (const tk::dtype t : {tk::f32, tk::bf16})
    tk::test::check_function(packed, {noise({5, 2}, 1, t), noise({2, 3}, 2, t), noise({3, 2, 2}, 3, t)}, {.order = 1});
}

TEST_CASE("causal_conv1d carries special values no farther than its window, on odd and empty extents") {
  for (const auto& [batch, tokens, channels, places] :
       {std::array<std::int64_t, 4>{2, 33, 21, 4}, {1, 1, 1, 1}, {1, 0, 3, 4}, {0, 5, 3, 2}, {1, 4, 0, 2}})
    for (const tk::dtype t : {tk::f32, tk::bf16})
      tk::test::check_adversarial(
          [](const tk::arrays& v) -> tk::arrays {
            const auto r = tk::causal_conv1d(v[0], v[1], {.state = v[2]});
            return {r.out, r.state};
          },
          {tk::test::sprinkled({batch, tokens, channels}, 1, t, 1e6), noise({channels, places}, 2, t),
           tk::test::sprinkled({batch, places - 1, channels}, 3, t, 1e6)},
          {.tolerance = t == tk::f32 ? 1e-5 : 2e-2, .floor = 1});
}

TEST_CASE("a step that is given the pool writes into its memory") {
  const array x = noise({2, 4}, 1), w = noise({4, 3}, 2), pool = noise({5, 2, 4}, 3);
  const tk::packed_sequences s{numbers({0, 1, 2}), numbers({3, 1})};
  const auto step = tk::jit(
      [](const array& tokens, const array& weights, const array& state, const array& start, const array& slots) {
        const auto y = tk::causal_conv1d(tokens, weights, state, {start, slots});
        return std::pair{y.out, y.state};
      },
      tk::cpu, tk::at_run_time);
  const auto expected = tk::causal_conv1d(x, w, pool, s);
  array mine = pool + 0.0f;
  const void* const memory = mine.data<float>();
  const auto [out, state] = step(x, w, std::move(mine), s.query_start, s.entries);
  CHECK(tk::test::bit_difference({out, state}, {expected.out, expected.state}) == "");
  CHECK(static_cast<const void*>(state.data<float>()) == memory);
}

TEST_CASE("causal_conv1d says what is wrong with its operands") {
  const array x(floats({5, 3})), w(floats({3, 4})), pool(floats({2, 3, 3}));
  const tk::packed_sequences s{array({tk::i32, false, {3}}), array({tk::i32, false, {2}})};
  CHECK_THROWS_WITH(tk::causal_conv1d(array({tk::i32, false, {5, 3}}), w), contains("causal_conv1d: x"));
  CHECK_THROWS_WITH(tk::causal_conv1d(array(floats({3})), w), contains("causal_conv1d: x"));
  CHECK_THROWS_WITH(tk::causal_conv1d(x, array(floats({4, 3}))), contains("causal_conv1d: weights"));
  CHECK_THROWS_WITH(tk::causal_conv1d(x, array(floats({3, 0}))), contains("causal_conv1d: weights"));
  CHECK_THROWS_WITH(tk::causal_conv1d(x, w, {.bias = w}), contains("causal_conv1d: bias"));
  CHECK_THROWS_WITH(tk::causal_conv1d(x, w, {.state = x}), contains("causal_conv1d: state") && contains("[3,3]"));
  CHECK_THROWS_WITH(tk::causal_conv1d(array(floats({1, 5, 3})), w, pool, s), contains("causal_conv1d: x"));
  CHECK_THROWS_WITH(tk::causal_conv1d(x, w, x, s), contains("causal_conv1d: state"));
  CHECK_THROWS_WITH(tk::causal_conv1d(x, w, pool, {s.entries, s.entries}), contains("causal_conv1d: sequences"));
  CHECK_THROWS_WITH(tk::causal_conv1d(x, w, pool, {s.query_start, s.entries, s.entries}),
                    contains("causal_conv1d: sequences"));
}
