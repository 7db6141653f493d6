// tests/ops/paged_attention.cpp: paged attention in programs: compiled, in loops that decode, computed again, in batches.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/tokamax.hpp>

#include "support/byte_count.hpp"
#include "support/check_op.hpp"
#include "support/golden.hpp"
#include "support/paged_problem.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;
using problem = tk::test::paged_problem;

namespace {

/// Queries, keys and values of new tokens.
struct new_tokens {
  array q, k, v;
};
struct decoding {
  tk::paged_cache cache;
  array kv_lens;
};

/// Attends to one more token of each sequence.
constexpr auto decode = [](const new_tokens& x, const decoding& at, const array& table) {
  const std::int64_t sequences = table.extent(0);
  const array lens = at.kv_lens + 1;
  const tk::paged_batch batch{lens, table, tk::iota(tk::i32, {sequences + 1}, 0),
                              tk::full({1}, static_cast<std::int32_t>(sequences), tk::i32)};
  const auto y = tk::ragged_paged_attention(x.q, x.k, x.v, at.cache, batch);
  return std::pair{decoding{y.cache, lens}, y.out};
};
/// Attends to as many tokens as x has on its first axis.
constexpr auto decode_all = [](const new_tokens& x, const decoding& at, const array& table) {
  return tk::scan([&](const decoding& now, const new_tokens& more) { return decode(more, now, table); }, at, x);
};

/// Sequences with room for more tokens, and these tokens [steps, R, N, H].
struct decoding_problem {
  problem p{{1, 1}, {9, 14}};
  decoding at;
  new_tokens x;

  explicit decoding_problem(std::int64_t more_pages = 1, std::int64_t steps = 3) {
    p.page = 8, p.head_size = 8, p.value_size = 8, p.more_pages = more_pages;
    p.make(1);
    at = {p.cache, p.batch.kv_lens};
    x = {noise({steps, 2, 4, 8}, 2), noise({steps, 2, 2, 8}, 3), noise({steps, 2, 2, 8}, 4)};
  }
};
std::vector<array> of(const std::pair<decoding, array>& y) {
  return {y.first.cache.keys, y.first.cache.values, y.first.kv_lens, y.second};
}

struct static_tokens {
  tk::tensor<tk::f32, 3, 2, 4, 8> q;
  tk::tensor<tk::f32, 3, 2, 2, 8> k, v;
};
struct static_decoding {
  tk::tensor<tk::f32, 5, 8, 2, 8> keys, values;
  tk::tensor<tk::i32, 2> kv_lens;
};

}  // namespace

TEST_CASE("a loop that decodes is its steps one by one, also when it is compiled") {
  const decoding_problem d;
  const array table = d.p.batch.page_indices;
  decoding at = d.at;
  tk::arrays expected;
  for (int i = 0; i < 3; ++i) {
    const auto one = [&](const array& x) { return reshape(slice_in_dim(x, i, i + 1, 0), {2, x.extent(2), 8}); };
    const auto y = decode({one(d.x.q), one(d.x.k), one(d.x.v)}, at, table);
    at = y.first;
    expected.push_back(y.second);
  }
  const std::vector<array> all{at.cache.keys, at.cache.values, at.kv_lens, stack(expected)};
  CHECK(tk::test::bit_difference(of(decode_all(d.x, d.at, table)), all) == "");
  CHECK(tk::test::bit_difference(of(jit(decode_all, tk::cpu, tk::at_run_time)(d.x, d.at, table)), all) == "");
  constexpr auto with_static_shapes = [](const static_tokens& x, const static_decoding& s,
                                         const tk::tensor<tk::i32, 2, 2>& pages) {
    return decode_all({x.q, x.k, x.v}, {{s.keys, s.values}, s.kv_lens}, pages);
  };
  const auto compiled = jit(with_static_shapes, tk::cpu, tk::while_compiling);
  CHECK(tk::test::bit_difference(of(compiled(static_tokens{d.x.q, d.x.k, d.x.v},
                                             static_decoding{d.at.cache.keys, d.at.cache.values, d.at.kv_lens},
                                             tk::tensor<tk::i32, 2, 2>(table))),
                                 all) == "");
}

TEST_CASE("a loop that decodes moves the pages of its sequences alone, and the cache stays where it is") {
  const decoding_problem d(1 << 12, 16);
  const auto run = jit(decode_all, tk::cpu, tk::at_run_time);
  const auto start = [&](tk::paged_cache c) { return decoding{std::move(c), tk::test::numbers_of({0, 0})}; };
  auto y = run(d.x, start({d.at.cache.keys + 0.0f, d.at.cache.values + 0.0f}), d.p.batch.page_indices);
  const void *const keys = y.first.cache.keys.data<float>(), *const values = y.first.cache.values.data<float>();
  tk::test::byte_count count;
  auto next = [&] {
    const tk::profile::observed_scope scope(&count);
    return run(d.x, start(std::move(y.first.cache)), d.p.batch.page_indices);
  }();
  CHECK(static_cast<const void*>(next.first.cache.keys.data<float>()) == keys);
  CHECK(static_cast<const void*>(next.first.cache.values.data<float>()) == values);
  const double named = 2.0 * 4 * 8 * 2 * 8 * 4;  // bytes of keys and values in four pages
  CHECK(count.bytes > 16 * named);
  CHECK(count.bytes < 3 * 16 * named);
}

TEST_CASE("gradients of paged attention are those of its plain meaning, also when it is computed again") {
  const decoding_problem d;
  const auto loss = [&](const new_tokens& x, const tk::paged_cache& cache) {
    return sum(square(tk::ragged_paged_attention(x.q, x.k, x.v, cache, d.p.batch).out));
  };
  const new_tokens x{d.p.q, d.p.k, d.p.v};
  const auto again = tk::remat(loss);
  const auto [value, gradient] = tk::value_and_grad(again)(x, d.p.cache);
  const auto [expected, expected_gradient] = tk::value_and_grad(loss)(x, d.p.cache);
  CHECK(tk::test::distance(value, expected) < 1e-6);
  CHECK(tk::test::distance(gradient.q, expected_gradient.q) < 1e-6);
  CHECK(tk::test::distance(gradient.k, expected_gradient.k) < 1e-6);
  CHECK(tk::test::distance(gradient.v, expected_gradient.v) < 1e-6);
  const array moved = x.q + 1e-2f * gradient.q, back = x.q - 1e-2f * gradient.q;
  const array slope = (loss({moved, x.k, x.v}, d.p.cache) - loss({back, x.k, x.v}, d.p.cache)) / 2e-2f;
  CHECK(tk::test::distance(slope, sum(square(gradient.q))) < 1e-2);
}

TEST_CASE("batches of paged attention are their members one by one") {
  const decoding_problem d;
  const array queries = noise({3, d.p.q.extent(0), 4, 8}, 5);
  const auto attend = [&](const array& q) { return tk::ragged_paged_attention(q, d.p.cache, d.p.batch); };
  const array together = tk::vmap(attend)(queries);  // one cache for all
  const tk::paged_cache caches{noise({3, 5, 8, 2, 8}, 6), noise({3, 5, 8, 2, 8}, 7)};
  const auto own = [&](const array& q, const tk::paged_cache& c) {
    return tk::ragged_paged_attention(q, c, d.p.batch);
  };
  const array each = tk::vmap(own)(queries, caches);
  for (int i = 0; i < 3; ++i) {
    const auto one = [&](const array& x) {
      tk::shape s;
      for (int k = 1; k < x.rank(); ++k) s.push_back(x.extent(k));
      return reshape(slice_in_dim(x, i, i + 1, 0), s);
    };
    CHECK(tk::test::distance(one(together), attend(one(queries))) < 1e-6);
    CHECK(tk::test::distance(one(each), own(one(queries), {one(caches.keys), one(caches.values)})) < 1e-6);
  }
}
