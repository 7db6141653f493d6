// tests/ops/causal_conv1d_gated_delta_rule.cpp: packed sequences with pools against each sequence alone, and against JAX.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/lax/shapes/concatenate.hpp>
#include <tokamax/ops/causal_conv1d_gated_delta_rule.hpp>
#include <tokamax/runtime/jit.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"
#include "support/packed.hpp"
#include "support/threads.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;
using tk::test::numbers;

namespace {

constexpr auto silu = [](const array& x) { return tk::silu(x); };
array part(const array& x, std::int64_t from, std::int64_t to, int axis = 0) { return slice_in_dim(x, from, to, axis); }

/// Heads as those of 1 tensor-parallel part of Qwen3-Next, of small sizes.
struct sizes {
  std::int64_t keys = 2, values = 8, key_size = 16, value_size = 16, places = 4;
  std::int64_t channels() const { return 2 * keys * key_size + values * value_size; }
};
struct problem {
  array qkv, b, a;
  tk::gated_delta_pools pools;
  tk::gated_delta_weights weights;

  problem(std::int64_t tokens, std::int64_t slots, const sizes& s, unsigned seed, tk::dtype t = tk::f32)
      : qkv(noise({tokens, s.channels()}, seed, t)),
        b(noise({tokens, s.values}, seed + 1, t)),
        a(noise({tokens, s.values}, seed + 2, t)),
        pools{noise({slots, s.places - 1, s.channels()}, seed + 3, t),
              noise({slots, s.values, s.key_size, s.value_size}, seed + 4)},
        weights{noise({s.channels(), s.places}, seed + 5, t), noise({s.values}, seed + 6), noise({s.values}, seed + 7),
                noise({s.channels()}, seed + 8, t)} {}
  tk::gated_delta_result run(const tk::packed_sequences& s) const {
    return tk::causal_conv1d_gated_delta_rule(qkv, b, a, pools, weights, s);
  }
};

/// One sequence alone, by functions of whole batches: out, and both states after it.
std::array<array, 3> alone(const problem& p, const sizes& s, std::int64_t from, std::int64_t to, const array& conv,
                           const array& recurrent) {
  const auto mixed = tk::causal_conv1d(part(p.qkv, from, to), p.weights.conv, {p.weights.bias, conv}, silu);
  const std::int64_t keys = s.keys * s.key_size, n = to - from;
  const array rate = tk::exp(p.weights.a_log), beta = tk::sigmoid(part(p.b, from, to));
  const array g = tk::softplus(part(p.a, from, to) + p.weights.dt_bias) * rate * -1.0f;
  const auto y = tk::gated_delta_rule(reshape(part(mixed.out, 0, keys, 1), {n, s.keys, s.key_size}),
                                      reshape(part(mixed.out, keys, 2 * keys, 1), {n, s.keys, s.key_size}),
                                      reshape(part(mixed.out, 2 * keys, s.channels(), 1), {n, s.values, s.value_size}),
                                      g, beta, recurrent, {.normalize_qk = true});
  return {y.out, mixed.state, y.state};
}

}  // namespace

TEST_CASE("causal_conv1d_gated_delta_rule and its gradients are those of JAX") {
  tk::test::check_golden(
      "causal_conv1d_gated_delta_rule",
      [](const tk::arrays& x) -> tk::arrays {
        const tk::packed_sequences s{numbers({0, 9}), numbers({0})};
        return tk::causal_conv1d_gated_delta_rule(x[0], x[1], x[2], {x[3], x[4]}, {x[5], x[6], x[7], x[8]}, s).out;
      },
      9, 1e-5, "linear_attention.txt");
}

TEST_CASE("prefill, decoding, both, and padded slots give what each sequence gives alone") {
  const sizes s;
  for (const tk::test::packed& p : tk::test::packed_cases()) {
    CAPTURE(p.lengths.size(), p.tokens);
    const problem x(p.tokens, p.pool, s, 1);
    const auto found = x.run(p.sequences());
    array conv = x.pools.conv, recurrent = x.pools.recurrent;
    for (std::size_t r = 0; r < p.lengths.size(); ++r) {
      const std::int64_t from = p.starts[r], to = from + p.lengths[r], slot = p.slots[r];
      const float has = p.continues[r] ? 1.0f : 0.0f;
      const auto [out, c, state] = alone(x, s, from, to, squeeze(part(x.pools.conv, slot, slot + 1), 0) * has,
                                         squeeze(part(x.pools.recurrent, slot, slot + 1), 0) * has);
      CHECK(tk::test::distance(part(found.out, from, to), out) < 3e-6);
      CHECK(tk::test::distance(squeeze(part(found.pools.conv, slot, slot + 1), 0), c) == 0);
      CHECK(tk::test::distance(squeeze(part(found.pools.recurrent, slot, slot + 1), 0), state) < 3e-6);
    }
    for (const std::int64_t slot : {std::int64_t{0}, p.pool - 1}) {  // those of nobody
      CHECK(tk::test::bit_difference({part(found.pools.conv, slot, slot + 1)}, {part(conv, slot, slot + 1)}) == "");
      CHECK(tk::test::bit_difference({part(found.pools.recurrent, slot, slot + 1)},
                                     {part(recurrent, slot, slot + 1)}) == "");
    }
  }
}

TEST_CASE("the same bits for any number of threads, in one program and op by op") {
  const sizes s{1, 2, 32, 32, 4};
  const tk::test::packed p({70, 1, 9, 1}, 3, 2);
  const problem x(p.tokens, p.pool, s, 1);
  tk::test::check_same_bits(
      [&](const tk::arrays& in) -> tk::arrays {
        problem mine = x;
        mine.qkv = in[0], mine.pools = {in[1], in[2]};
        const auto y = mine.run(p.sequences());
        return {y.out, y.pools.conv, y.pools.recurrent};
      },
      {x.qkv, x.pools.conv, x.pools.recurrent});
}

TEST_CASE("a split sequence is the whole one, in f32 and bf16, and a new one forgets what its slot held") {
  const sizes s;
  for (const tk::dtype t : {tk::f32, tk::bf16}) {
    problem x(64, 2, s, 3, t);
    const array begins = array::from<bool>({false}, {1});
    const auto whole = x.run({numbers({0, 64}), numbers({1}), begins});
    CHECK(whole.out.dtype() == t);
    problem first = x, second = x;
    first.qkv = part(x.qkv, 0, 32), first.b = part(x.b, 0, 32), first.a = part(x.a, 0, 32);
    second.qkv = part(x.qkv, 32, 64), second.b = part(x.b, 32, 64), second.a = part(x.a, 32, 64);
    const auto one = first.run({numbers({0, 32}), numbers({1}), begins});
    second.pools = one.pools;
    const auto two = second.run({numbers({0, 32}), numbers({1})});
    const auto wide = [](const array& v) { return array(astype(v, tk::f32)); };
    const double bound = t == tk::f32 ? 1e-5 : 2e-2;
    CHECK(tk::test::distance(wide(tk::concatenate({one.out, two.out})), wide(whole.out)) < bound);
    CHECK(tk::test::distance(two.pools.recurrent, whole.pools.recurrent) < bound);
    problem fresh = x;
    fresh.pools = {tk::zeros_like(x.pools.conv), tk::zeros_like(x.pools.recurrent)};
    CHECK(tk::test::bit_difference({fresh.run({numbers({0, 64}), numbers({1}), begins}).out}, {whole.out}) == "");
  }
}

TEST_CASE("a step of decoding writes into the memory of both pools") {
  const sizes s{1, 2, 8, 8, 4};
  const problem x(3, 5, s, 4);
  const auto step = tk::jit(
      [](const std::vector<array>& v, tk::gated_delta_pools pools, const tk::gated_delta_weights& w, const array& start,
         const array& slots) { return tk::causal_conv1d_gated_delta_rule(v[0], v[1], v[2], pools, w, {start, slots}); },
      tk::cpu, tk::at_run_time);
  const array start = numbers({0, 1, 2, 3}), slots = numbers({4, 0, 2});
  const auto expected = x.run({start, slots});
  tk::gated_delta_pools mine{x.pools.conv + 0.0f, x.pools.recurrent + 0.0f};
  const void *const conv = mine.conv.data<float>(), *const recurrent = mine.recurrent.data<float>();
  const auto found = step(std::vector<array>{x.qkv, x.b, x.a}, std::move(mine), x.weights, start, slots);
  CHECK(tk::test::distance(found.out, expected.out) < 1e-6);
  CHECK(static_cast<const void*>(found.pools.conv.data<float>()) == conv);
  CHECK(static_cast<const void*>(found.pools.recurrent.data<float>()) == recurrent);
}

TEST_CASE("causal_conv1d_gated_delta_rule says what is wrong with its operands") {
  const sizes s{1, 2, 4, 4, 4};
  const problem x(3, 2, s, 5);
  const tk::packed_sequences ok{numbers({0, 3}), numbers({1})};
  const auto refused = [&](const char* what, auto change) {
    problem y = x;
    change(y);
    CHECK_THROWS_WITH(y.run(ok), contains(what));
  };
  refused("causal_conv1d_gated_delta_rule: operands", [](problem& y) { y.qkv = part(y.qkv, 0, 15, 1); });
  refused("causal_conv1d_gated_delta_rule: operands", [](problem& y) { y.b = part(y.b, 0, 2); });
  refused("causal_conv1d_gated_delta_rule: operands", [](problem& y) { y.weights.a_log = y.b; });
  refused("causal_conv1d_gated_delta_rule: operands", [](problem& y) { y.pools.conv = part(y.pools.conv, 0, 1); });
  refused("causal_conv1d: weights", [](problem& y) { y.weights.conv = part(y.weights.conv, 0, 3); });
  refused("causal_conv1d: state", [](problem& y) { y.weights.conv = part(y.weights.conv, 0, 3, 1); });
  CHECK_THROWS_WITH(x.run({numbers({0, 3}), numbers({1, 2})}), contains("causal_conv1d: sequences"));
}
