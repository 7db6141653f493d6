// tests/ops/attention/paged.cpp: attention to pages against loops over doubles, for sequences of all lengths.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/paged_attention.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/paged_problem.hpp"
#include "support/reference.hpp"

#include <cmath>

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {

using problem = tk::test::paged_problem;
using tk::test::numbers_of;

/// The results in double, token after token.
std::vector<double> plain(const problem& p, const tk::paged_cache& cache, const tk::paged_attention_options& o) {
  const auto q = tk::test::to_value(p.q), keys = tk::test::to_value(cache.keys),
             values = tk::test::to_value(cache.values);
  const auto ends = p.batch.cu_q_lens.values<std::int32_t>(), lens = p.batch.kv_lens.values<std::int32_t>();
  const auto table = p.batch.page_indices.values<std::int32_t>();
  const std::int64_t columns = p.batch.page_indices.extent(1), pages = keys.extent(0);
  const std::int32_t sequences = p.batch.num_seqs.values<std::int32_t>()[0];
  const double scale = o.scale == 0 ? 1 / std::sqrt(static_cast<double>(p.head_size)) : o.scale;
  std::vector<double> out(static_cast<std::size_t>(p.tokens() * p.heads * p.value_size));
  for (std::int32_t r = 0; r < sequences; ++r) {
    const auto s = static_cast<std::size_t>(r);
    for (std::int64_t t = ends[s]; t < ends[s + 1]; ++t)
      for (std::int64_t n = 0; n < p.heads; ++n) {
        const std::int64_t kv = n / (p.heads / p.kv_heads), at = lens[s] - ends[s + 1] + t;
        std::vector<double> score;
        std::vector<std::int64_t> row;
        for (std::int64_t j = o.sliding_window > 0 ? std::max<std::int64_t>(0, at + 1 - o.sliding_window) : 0;
             j <= at && j < columns * p.page; ++j) {
          const std::int64_t page = table[static_cast<std::size_t>(r * columns + j / p.page)];
          if (page < 0 || page >= pages) continue;
          row.push_back((page * p.page + j % p.page) * p.kv_heads + kv);
          double x = 0;
          for (std::int64_t i = 0; i < p.head_size; ++i)
            x += q.data[static_cast<std::size_t>((t * p.heads + n) * p.head_size + i)] *
                 keys.data[static_cast<std::size_t>(row.back() * p.head_size + i)];
          if (o.key_scales.exists())
            x *= static_cast<double>(o.key_scales.values<float>()[static_cast<std::size_t>(row.back())]);
          x *= scale;
          if (o.logits_soft_cap > 0) x = o.logits_soft_cap * std::tanh(x / o.logits_soft_cap);
          score.push_back(x);
        }
        double top = -1e300, sum = 0;
        for (const double x : score) top = std::fmax(top, x);
        const double sink =
            o.sinks.exists() ? static_cast<double>(o.sinks.values<float>()[static_cast<std::size_t>(n)]) : -1e300;
        top = std::fmax(top, sink);
        for (double& x : score) sum += x = std::exp(x - top);
        if (o.sinks.exists()) sum += std::exp(sink - top);
        for (std::size_t j = 0; j < score.size(); ++j)
          for (std::int64_t i = 0; i < p.value_size; ++i) {
            double x = values.data[static_cast<std::size_t>(row[j] * p.value_size + i)];
            if (o.value_scales.exists())
              x *= static_cast<double>(o.value_scales.values<float>()[static_cast<std::size_t>(row[j])]);
            out[static_cast<std::size_t>((t * p.heads + n) * p.value_size + i)] += score[j] / sum * x;
          }
      }
  }
  return out;
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
  return most < 1e-20 ? wrong : wrong / most;
}

void check(const problem& p, const tk::paged_attention_options& o, double bound) {
  const array y = tk::ragged_paged_attention(p.q, p.cache, p.batch, o);
  CHECK(y.dtype() == p.type);
  CHECK(apart(y, plain(p, p.cache, o)) < bound);
  for (const int threads : {1, 2, 3}) {
    tk::cpu_backend::set_num_threads(threads);
    CHECK(tk::test::bit_difference({y}, {tk::ragged_paged_attention(p.q, p.cache, p.batch, o)}) == "");
  }
  tk::cpu_backend::set_num_threads(0);
}

}  // namespace

TEST_CASE("ragged_paged_attention is that of loops over doubles") {
  const std::vector<std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>> lengths{
      {{1, 1, 1}, {1, 7, 600}},           // decoding
      {{5, 17, 1, 40}, {5, 30, 9, 300}},  // prefill, a chunk of it, decoding
      {{0, 3, 2, 0}, {4, 3, 0, 0}},       // sequences without tokens or keys
      {{}, {}}};
  unsigned seed = 1;
  for (const auto& [q_lens, kv_lens] : lengths)
    for (const auto& [heads, kv_heads] : {std::pair{4, 2}, {3, 3}, {5, 1}, {16, 2}})
      for (const auto& [size, value] : {std::pair{24, 24}, {64, 64}, {17, 9}}) {
        problem p{q_lens, kv_lens, heads, kv_heads, size, value, seed % 3 == 0 ? 16 : 3};
        p.make(++seed);
        CAPTURE(heads, kv_heads, size, value, q_lens.size());
        check(p, {}, 2e-6);
        check(p, {.logits_soft_cap = 3, .sliding_window = 5}, 2e-6);
        check(p, {.scale = 0.3, .sliding_window = 128, .sinks = noise({heads}, seed)}, 2e-6);
      }
}

TEST_CASE("many queries of a sequence are those of loops over doubles, beside few of others") {
  unsigned seed = 100;
  for (const auto& [heads, kv_heads, size, value] :
       {std::array<std::int64_t, 4>{4, 2, 24, 24}, {1, 1, 16, 40}, {24, 1, 17, 9}}) {
    problem p{{1, 150, 24, 290}, {40, 150, 300, 400}, heads, kv_heads, size, value, 16};
    p.make(++seed);
    CAPTURE(heads, kv_heads, size, value);
    check(p, {}, 2e-6);
    check(p, {.logits_soft_cap = 3, .sliding_window = 37}, 2e-6);
    check(p, {.scale = 0.3, .sinks = noise({heads}, seed)}, 2e-6);
    p.batch.kv_lens = numbers_of({40, 100, 300, 400});  // the first of 150 tokens have no key
    check(p, {}, 2e-6);
    p.batch.page_indices.mutable_data<std::int32_t>()[3 * p.batch.page_indices.extent(1) + 1] = -1;
    check(p, {}, 2e-6);
  }
  for (const tk::dtype cached : {tk::bf16, tk::f8e4m3fn, tk::i8}) {
    problem p{{60}, {200}, 4, 2, 20, 20, 4, 3, cached == tk::bf16 ? tk::bf16 : tk::f32, cached};
    p.make(7);
    CAPTURE(tk::name(cached));
    check(p, {.scale = cached == tk::i8 ? 1e-3 : 0}, cached == tk::bf16 ? 1e-2 : 2e-6);
    const tk::shape s{p.cache.keys.extent(0), p.page, p.kv_heads};
    check(p, {.key_scales = noise(s, 8) * 0.01f + 0.02f, .value_scales = noise(s, 9)},
          cached == tk::bf16 ? 1e-2 : 2e-6);
  }
}

TEST_CASE("pages of narrow dtypes, with scales, and queries of other dtypes") {
  for (const tk::dtype type : {tk::f32, tk::bf16, tk::f16})
    for (const tk::dtype cached : {tk::f32, tk::bf16, tk::f16, tk::f8e4m3fn, tk::f8e5m2, tk::i8}) {
      problem p{{1, 5, 2}, {70, 5, 9}, 4, 2, 20, 20, 4, 3, type, cached};
      p.make(7);
      CAPTURE(tk::name(type), tk::name(cached));
      const double bound = type == tk::f32 ? 2e-6 : 1e-2;
      check(p, {.scale = cached == tk::i8 ? 1e-4 : 0}, bound);
      const tk::shape s{p.cache.keys.extent(0), p.page, p.kv_heads};
      check(p, {.key_scales = noise(s, 8) * 0.01f + 0.02f, .value_scales = noise(s, 9)}, bound);
    }
}

TEST_CASE("pages outside of the cache, and lengths that do not fit, hide keys") {
  problem p{{1, 4, 2}, {30, 4, 7}};
  p.make(3);
  auto* const table = p.batch.page_indices.mutable_data<std::int32_t>();
  table[1] = -1, table[2] = 1 << 30;
  check(p, {}, 2e-6);
  p.batch.kv_lens = numbers_of({30, 500, -3});  // more than the table has, and fewer than none
  check(p, {}, 2e-6);
  p.batch.num_seqs = numbers_of({2});
  check(p, {}, 2e-6);
}

TEST_CASE("a cache that was never written is not read beyond the lengths") {
  problem p{{1, 2}, {5, 9}};
  p.make(4);
  const array expected = tk::ragged_paged_attention(p.q, p.cache, p.batch);
  const auto table = p.batch.page_indices.values<std::int32_t>();
  float* const keys = p.cache.keys.mutable_data<float>();
  float* const values = p.cache.values.mutable_data<float>();
  const std::int64_t row = p.kv_heads * p.head_size;
  for (std::int64_t slot = 1; slot < 4; ++slot)  // the second page of sequence 0 has one key
    for (std::int64_t i = 0; i < row; ++i)
      keys[(table[1] * 4 + slot) * row + i] = values[(table[1] * 4 + slot) * row + i] = NAN;
  CHECK(tk::test::bit_difference({expected}, {tk::ragged_paged_attention(p.q, p.cache, p.batch)}) == "");
}

TEST_CASE("the new keys and values are written to their places before they are seen") {
  problem p{{1, 6, 3}, {18, 6, 11}};
  p.make(5);
  tk::paged_cache expected = p.cache;
  const auto write = [&](array& cache, const array& rows) {
    cache = cache + 0.0f;
    const std::int64_t size = rows.extent(1) * rows.extent(2), columns = p.batch.page_indices.extent(1);
    std::int64_t t = 0;
    for (std::size_t r = 0; r < 3; ++r)
      for (std::int64_t at = p.kv_lens[r] - p.q_lens[r]; at < p.kv_lens[r]; ++at, ++t) {
        const std::size_t entry = r * static_cast<std::size_t>(columns) + static_cast<std::size_t>(at / 4);
        const std::int64_t page = p.batch.page_indices.values<std::int32_t>()[entry];
        for (std::int64_t i = 0; i < size; ++i)
          cache.mutable_data<float>()[(page * 4 + at % 4) * size + i] =
              rows.values<float>()[static_cast<std::size_t>(t * size + i)];
      }
  };
  write(expected.keys, p.k), write(expected.values, p.v);
  const auto found = tk::ragged_paged_attention(p.q, p.k, p.v, p.cache, p.batch);
  CHECK(tk::test::bit_difference({found.cache.keys, found.cache.values}, {expected.keys, expected.values}) == "");
  CHECK(apart(found.out, plain(p, expected, {})) < 2e-6);
}

TEST_CASE("a step that is given the cache writes into its memory") {
  problem p{{1, 1}, {9, 20}};
  p.make(6);
  const auto step =
      tk::jit([](const array& q, const array& k, const array& v, tk::paged_cache cache,
                 const tk::paged_batch& batch) { return tk::ragged_paged_attention(q, k, v, cache, batch); },
              tk::cpu, tk::at_run_time);
  const auto expected = tk::ragged_paged_attention(p.q, p.k, p.v, p.cache, p.batch);
  tk::paged_cache mine{p.cache.keys + 0.0f, p.cache.values + 0.0f};
  const void *const keys = mine.keys.data<float>(), *const values = mine.values.data<float>();
  const auto found = step(p.q, p.k, p.v, std::move(mine), p.batch);
  CHECK(apart(found.out, plain(p, expected.cache, {})) < 2e-6);
  CHECK(tk::test::bit_difference({found.cache.keys}, {expected.cache.keys}) == "");
  CHECK(static_cast<const void*>(found.cache.keys.data<float>()) == keys);
  CHECK(static_cast<const void*>(found.cache.values.data<float>()) == values);
}

TEST_CASE("paged_attention is one token of each sequence") {
  problem p{{1, 1, 1}, {9, 1, 20}};
  p.spare = 0;
  p.make(8);
  const array found = tk::paged_attention(p.q, p.cache, p.batch.kv_lens, p.batch.page_indices);
  CHECK(tk::test::bit_difference({found}, {tk::ragged_paged_attention(p.q, p.cache, p.batch)}) == "");
}

TEST_CASE("paged attention keeps the contract of ops") {
  problem p{{1, 2}, {3, 4}, 2, 1, 2, 3, 2, 1};
  p.make(9);
  const std::vector<array> in{
      p.q, p.cache.keys, p.cache.values, p.batch.kv_lens, p.batch.page_indices, p.batch.cu_q_lens, p.batch.num_seqs};
  std::vector<array> all = in;
  const tk::shape s{p.cache.keys.extent(0), 2, 1};
  all.insert(all.end(), {noise(s, 11), noise(s, 12), noise({2}, 13)});
  tk::test::check_op(tk::paged_attention_p,
                     {{in, pack(tk::paged_attention_attributes{.scale = 0.5})},
                      {all, pack(tk::paged_attention_attributes{
                                .scale = 0.5, .soft_cap = 2, .window = 2, .has_scales = true, .has_sinks = true})}},
                     {.order = 1});
}

TEST_CASE("paged_attention reads strided operands, and special values stay with the tokens that see them") {
  for (const tk::dtype t : {tk::f32, tk::bf16}) {
    problem p{.q_lens = {1, 3}, .kv_lens = {9, 6}, .type = t, .cache_type = t};
    p.make(7);
    const array q = tk::test::sprinkled(p.q.shape(), 8, t, 1e3);
    tk::test::check_adversarial(
        [&batch = p.batch](const tk::arrays& in) -> tk::arrays {
          return tk::ragged_paged_attention(in[0], {in[1], in[2]}, batch, {});
        },
        {q, p.cache.keys, p.cache.values}, {.tolerance = t == tk::f32 ? 1e-4 : 2e-2, .floor = 1});
  }
}

TEST_CASE("paged attention says what is wrong with its operands") {
  problem p{{1, 2}, {3, 4}};
  p.make(10);
  const auto run = [](const problem& x) { return tk::ragged_paged_attention(x.q, x.cache, x.batch); };
  problem wrong = p;
  wrong.q = p.batch.kv_lens;
  CHECK_THROWS_WITH(run(wrong), contains("paged_attention: q"));
  wrong = p, wrong.cache.values = p.q;
  CHECK_THROWS_WITH(run(wrong), contains("paged_attention: pages"));
  wrong = p, wrong.batch.kv_lens = p.batch.num_seqs;
  CHECK_THROWS_WITH(run(wrong), contains("paged_attention: kv_lens") && contains("i32[2]"));
  wrong = p, wrong.batch.cu_q_lens = p.batch.kv_lens;
  CHECK_THROWS_WITH(run(wrong), contains("paged_attention: cu_q_lens") && contains("i32[3]"));
  wrong = p, wrong.batch.page_indices = p.batch.kv_lens;
  CHECK_THROWS_WITH(run(wrong), contains("paged_attention: page_indices"));
  wrong = p, wrong.batch.num_seqs = p.batch.kv_lens;
  CHECK_THROWS_WITH(run(wrong), contains("paged_attention: num_seqs"));
  CHECK_THROWS_WITH(tk::ragged_paged_attention(p.q, p.cache, p.batch, {.sliding_window = -1}),
                    contains("paged_attention: sliding_window"));
  CHECK_THROWS_WITH(tk::ragged_paged_attention(p.q, p.cache, p.batch, {.key_scales = p.q}),
                    contains("paged_attention: scales"));
}

TEST_CASE("with same_bits a token has the bits that it has alone, however many come with it") {
  for (const tk::dtype cached : {tk::f32, tk::bf16})
    for (const std::int64_t window : {0, 37, 300}) {
      problem p{{1, 40, 9, 90}, {40, 300, 300, 700}, 6, 2, 24, 24, 16, 3, tk::f32, cached};
      p.make(11);
      const tk::paged_attention_options o{.sliding_window = window, .same_bits = true};
      CAPTURE(window, tk::name(cached));
      check(p, o, 2e-6);
      const array y = tk::ragged_paged_attention(p.q, p.cache, p.batch, o);
      std::int32_t at = 0;
      for (std::size_t r = 0; r < p.q_lens.size(); ++r)
        for (std::int32_t t = 0; t < p.q_lens[r]; ++t, ++at) {
          const auto row = static_cast<std::int64_t>(r);
          const tk::paged_batch alone{numbers_of({p.kv_lens[r] - p.q_lens[r] + t + 1}),
                                      tk::slice_in_dim(p.batch.page_indices, row, row + 1, 0), numbers_of({0, 1}),
                                      numbers_of({1})};
          const array one = tk::ragged_paged_attention(tk::slice_in_dim(p.q, at, at + 1, 0), p.cache, alone, o);
          CHECK(tk::test::bit_difference({tk::slice_in_dim(y, at, at + 1, 0)}, {one}) == "");
        }
    }
}
