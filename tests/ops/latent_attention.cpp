// tests/ops/latent_attention.cpp: multi-head latent attention against loops over doubles, in steps and in loops that decode.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/ops/latent_attention.hpp>

#include <tokamax/tokamax.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"
#include "support/paged_problem.hpp"

#include <cmath>

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {
/// How far a result is from that in f64.
double apart(const array& found, const array& exact) {
  return tk::test::distance(astype(found, tk::f32), astype(exact, tk::f32));
}

struct latent_problem {
  std::vector<std::int32_t> q_lens, kv_lens;
  std::int64_t heads = 4, latent = 20, rope = 6;
  tk::dtype type = tk::f32, cache_type = tk::f32;
  array q = {}, q_rope = {}, rows = {}, rope_rows = {}, cache = {};
  tk::paged_batch batch = {};

  void make(unsigned seed) {
    tk::test::paged_problem p{q_lens, kv_lens, heads, 1, latent + rope, 1};
    p.cache_type = cache_type == tk::i8 ? tk::i8 : tk::f32;
    p.make(seed);
    const std::int64_t tokens = p.tokens();
    batch = p.batch;
    cache = astype(reshape(p.cache.keys, {p.cache.keys.extent(0), p.page, latent + rope}), cache_type);
    q = astype(noise({tokens, heads, latent}, seed + 10), type),
    q_rope = astype(noise({tokens, heads, rope}, seed + 11), type);
    rows = astype(noise({tokens, latent}, seed + 12), type), rope_rows = astype(noise({tokens, rope}, seed + 13), type);
  }
  tk::latent_attention_result operator()(const tk::latent_attention_options& o = {}) const {
    return tk::multi_head_latent_attention(q, q_rope, rows, rope_rows, cache, batch, o);
  }
};

/// The results in double for a cache that has the new rows, token after token.
std::vector<double> plain(const latent_problem& p, const array& updated, const tk::latent_attention_options& o) {
  const auto q = tk::test::to_value(p.q).data, r = tk::test::to_value(p.q_rope).data,
             cache = tk::test::to_value(updated).data;
  const auto table = p.batch.page_indices.values<std::int32_t>(), ends = p.batch.cu_q_lens.values<std::int32_t>();
  const std::int64_t columns = p.batch.page_indices.extent(1), wide = p.latent + p.rope, page = updated.extent(1);
  std::vector<double> out(static_cast<std::size_t>(p.q.size()));
  for (std::size_t s = 0; s < p.kv_lens.size(); ++s)
    for (std::int64_t t = ends[s]; t < ends[s + 1]; ++t)
      for (std::int64_t n = 0; n < p.heads; ++n) {
        const std::int64_t at = p.kv_lens[s] - ends[s + 1] + t, head = t * p.heads + n;
        double sum = 0;
        std::vector<double> weighted(static_cast<std::size_t>(p.latent));
        for (std::int64_t j = o.sliding_window > 0 ? std::max<std::int64_t>(0, at + 1 - o.sliding_window) : 0; j <= at;
             ++j) {
          const auto entry = static_cast<std::size_t>(static_cast<std::int64_t>(s) * columns + j / page);
          const std::int64_t row = table[entry] * page + j % page;
          const double factor =
              o.scales.exists() ? static_cast<double>(o.scales.values<float>()[static_cast<std::size_t>(row)]) : 1;
          const auto key = [&](std::int64_t i) { return factor * cache[static_cast<std::size_t>(row * wide + i)]; };
          double x = 0;
          for (std::int64_t i = 0; i < p.latent; ++i) x += q[static_cast<std::size_t>(head * p.latent + i)] * key(i);
          for (std::int64_t i = 0; i < p.rope; ++i)
            x += r[static_cast<std::size_t>(head * p.rope + i)] * key(p.latent + i);
          x *= o.scale;
          if (o.logits_soft_cap > 0) x = o.logits_soft_cap * std::tanh(x / o.logits_soft_cap);
          sum += x = std::exp(x);
          for (std::int64_t i = 0; i < p.latent; ++i) weighted[static_cast<std::size_t>(i)] += x * key(i);
        }
        for (std::int64_t i = 0; i < p.latent && sum > 0; ++i)
          out[static_cast<std::size_t>(head * p.latent + i)] = weighted[static_cast<std::size_t>(i)] / sum;
      }
  return out;
}

void check(const latent_problem& p, const tk::latent_attention_options& o, double bound) {
  const tk::latent_attention_result y = p(o);
  CHECK(y.out.dtype() == p.type);
  CHECK(y.cache.type() == p.cache.type());
  const auto found = tk::test::to_value(y.out).data, expected = plain(p, y.cache, o);
  double most = 1e-30, wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    most = std::fmax(most, std::fabs(expected[i]));
    if (const double d = std::fabs(found[i] - expected[i]); !(d <= wrong)) wrong = d;
  }
  CHECK(wrong / most < bound);
  for (const int threads : {1, 3}) {
    tk::cpu_backend::set_num_threads(threads);
    CHECK(tk::test::bit_difference({y.out, y.cache}, {p(o).out, y.cache}) == "");
  }
  tk::cpu_backend::set_num_threads(0);
}

}  // namespace

TEST_CASE("latent attention is that of loops over doubles: decoding, prefill, and any sizes") {
  unsigned seed = 1;
  for (const auto& [q_lens, kv_lens] :
       {std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>{{1, 1, 1}, {1, 70, 700}},
        {{33, 1, 5}, {33, 9, 300}},
        {{0, 2}, {3, 2}},
        {{}, {}}})
    for (const auto& [heads, latent, rope] :
         {std::array<std::int64_t, 3>{1, 1, 1}, {4, 20, 6}, {40, 50, 8}, {2, 16, 0}}) {
      latent_problem p{q_lens, kv_lens, heads, latent, rope};
      p.make(++seed);
      CAPTURE(heads, latent, rope, q_lens.size());
      check(p, {.scale = 0.2}, 3e-6);
      check(p, {.scale = 0.5, .logits_soft_cap = 2, .sliding_window = 7}, 3e-6);
    }
}

TEST_CASE("latent attention of the sizes that it is used with") {
  latent_problem decoding{{1, 1, 1}, {8192, 8192, 8192}, 16, 500, 64};
  decoding.make(1);
  check(decoding, {.scale = 0.05}, 5e-6);
  latent_problem prefill{{300, 300}, {300, 300}, 4, 512, 64};
  prefill.make(2);
  check(prefill, {.scale = 0.05}, 5e-6);
}

TEST_CASE("latent caches of narrow dtypes, with and without scales") {
  for (const tk::dtype type : {tk::f32, tk::bf16})
    for (const tk::dtype cached : {tk::f32, tk::bf16, tk::f8e4m3fn, tk::f8e5m2, tk::i8})
      for (const std::int64_t heads : {4, 32}) {
        latent_problem p{{1, 5, 2}, {70, 5, 9}, heads, 20, 6, type, cached};
        p.make(3);
        CAPTURE(tk::name(type), tk::name(cached), heads);
        const double bound = type == tk::f32 ? 5e-6 : 1e-2;
        check(p, {.scale = cached == tk::i8 ? 1e-3 : 0.2}, bound);
        check(p, {.scale = 0.2, .scales = noise({p.cache.extent(0), p.cache.extent(1)}, 4) * 0.01f + 0.02f}, bound);
      }
}

TEST_CASE("new latent rows are written to their places, into the memory of a cache that is given away") {
  latent_problem p{{1, 6}, {18, 6}};
  p.make(5);
  const array row = tk::reshape(tk::concatenate({p.rows, p.rope_rows}, 1), {p.rows.extent(0), 1, 26});
  const tk::paged_cache both{reshape(p.cache, {p.cache.extent(0), p.cache.extent(1), 1, 26}),
                             tk::zeros({p.cache.extent(0), p.cache.extent(1), 1, 1})};
  const array expected =
      reshape(tk::update_paged_cache(both, row, tk::zeros({row.extent(0), 1, 1}), p.batch).keys, p.cache.shape());
  const auto step = jit(
      [](const array& q, const array& q_rope, const array& rows, const array& rope_rows, const array& cache,
         const tk::paged_batch& batch) {
        const auto y = tk::multi_head_latent_attention(q, q_rope, rows, rope_rows, cache, batch, {.scale = 0.2});
        return std::pair{y.out, y.cache};
      },
      tk::cpu, tk::at_run_time);
  array mine = p.cache + 0.0f;
  const void* const memory = mine.data<float>();
  const auto [out, cache] = step(p.q, p.q_rope, p.rows, p.rope_rows, std::move(mine), p.batch);
  CHECK(tk::test::bit_difference({cache}, {expected}) == "");
  CHECK(tk::test::bit_difference({out}, {p({.scale = 0.2}).out}) == "");
  CHECK(static_cast<const void*>(cache.data<float>()) == memory);
}

TEST_CASE("a loop that decodes latent rows is its steps one by one") {
  latent_problem p{{1, 1}, {9, 14}};
  p.make(6);
  struct rows_of_steps {
    array q, q_rope, rows, rope_rows;
  };
  struct state {
    array cache, lens;
  };
  const rows_of_steps all{noise({3, 2, 4, 20}, 1), noise({3, 2, 4, 6}, 2), noise({3, 2, 20}, 3), noise({3, 2, 6}, 4)};
  const auto step = [&](const state& s, const rows_of_steps& x) {
    const array lens = s.lens + 1;
    const tk::paged_batch batch{lens, p.batch.page_indices, tk::iota(tk::i32, {3}, 0), tk::full({1}, 2, tk::i32)};
    const auto y = tk::multi_head_latent_attention(x.q, x.q_rope, x.rows, x.rope_rows, s.cache, batch);
    return std::pair{state{y.cache, lens}, y.out};
  };
  const array lens = tk::test::numbers_of({6, 9});
  const auto [end, outs] = tk::scan(step, state{p.cache, lens}, all);
  state now{p.cache, lens};
  for (int i = 0; i < 3; ++i) {
    const auto one = [&](const array& x) {
      tk::shape s;
      for (int k = 1; k < x.rank(); ++k) s.push_back(x.extent(k));
      return reshape(slice_in_dim(x, i, i + 1, 0), s);
    };
    const auto y = step(now, {one(all.q), one(all.q_rope), one(all.rows), one(all.rope_rows)});
    now = y.first;
    CHECK(tk::test::bit_difference({one(outs)}, {y.second}) == "");
  }
  CHECK(tk::test::bit_difference({end.cache}, {now.cache}) == "");
}

TEST_CASE("gradients of latent attention are those of its plain meaning in f64") {
  latent_problem p{{1, 2}, {3, 4}, 2, 4, 2};
  p.make(7);
  const auto loss = [&](const array& q, const array& cache) {
    return sum(square(tk::multi_head_latent_attention(q, astype(p.q_rope, q.dtype()), astype(p.rows, q.dtype()),
                                                      astype(p.rope_rows, q.dtype()), cache, p.batch)
                          .out));
  };
  const auto in = [&](tk::dtype t) {
    return std::pair{tk::grad([&](const array& q) { return loss(q, astype(p.cache, t)); })(astype(p.q, t)),
                     tk::grad([&](const array& c) { return loss(astype(p.q, t), c); })(astype(p.cache, t))};
  };
  const auto found = in(tk::f32), exact = in(tk::f64);
  CHECK(apart(found.first, exact.first) < 1e-5);
  CHECK(apart(found.second, exact.second) < 1e-5);
}

TEST_CASE("latent attention says what is wrong with its operands") {
  latent_problem p{{1, 2}, {3, 4}};
  p.make(8);
  latent_problem wrong = p;
  wrong.q = p.rows;
  CHECK_THROWS_WITH(wrong(), contains("latent_attention: q"));
  wrong = p, wrong.q_rope = p.rows;
  CHECK_THROWS_WITH(wrong(), contains("latent_attention: q_rope"));
  wrong = p, wrong.rows = p.rope_rows;
  CHECK_THROWS_WITH(wrong(), contains("latent_attention: new_latent") && contains("[T,L]"));
  wrong = p, wrong.rope_rows = p.rows;
  CHECK_THROWS_WITH(wrong(), contains("latent_attention: new_rope"));
  wrong = p, wrong.cache = slice_in_dim(p.cache, 0, 25, 2);
  CHECK_THROWS_WITH(wrong(), contains("latent_attention: cache") && contains("[P,page,26]"));
  CHECK_THROWS_WITH(p({.scales = p.rows}), contains("latent_attention: scales"));
  CHECK_THROWS_WITH(p({.sliding_window = -1}), contains("paged_attention: sliding_window"));
}
