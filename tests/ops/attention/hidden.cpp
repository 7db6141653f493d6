// tests/ops/attention/hidden.cpp: what is not finite reaches the results and gradients of what sees it, and no others.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/attention.hpp>
#include <tokamax/ops/paged_attention.hpp>
#include <tokamax/transforms/vjp.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array, tk::attention_mask, tk::attention_options;
using tk::test::noise;

namespace {

constexpr float undefined = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();

using inputs = std::array<array, 4>;  // q, k, v and the cotangent of the result, [1, T, N, H]

/// The results and cotangents of self-attention of them.
struct results {
  array out, dq, dk, dv;
};
results attend(const inputs& x, const attention_options& o) {
  using heads = std::array<array, 3>;
  const auto [y, pullback] =
      tk::vjp([&](const heads& a) { return tk::dot_product_attention(a[0], a[1], a[2], o); }, heads{x[0], x[1], x[2]});
  const heads g = pullback(x[3]);
  return {y, g[0], g[1], g[2]};
}

using positions = std::vector<bool>;  // of [T]

/// Which positions are not finite after attention, where those in `wrong` were not before: `queries` in results and dq, `keys` in
/// dk and dv. A query that sees such a key passes it to its own cotangents, and these to all keys that it sees.
struct reach {
  positions queries, keys, seeing, seen_by_wrong;
  reach(const positions& wrong, const std::vector<bool>& seen)
      : queries(wrong), keys(wrong), seeing(wrong.size()), seen_by_wrong(wrong.size()) {
    const auto for_seen = [&](auto f) {
      for (std::size_t i = 0; i < wrong.size(); ++i)
        for (std::size_t j = 0; j < wrong.size(); ++j)
          if (seen[i * wrong.size() + j]) f(i, j);
    };
    for_seen([&](std::size_t i, std::size_t j) {
      seeing[i] = true;
      if (wrong[j]) queries[i] = true;
      if (wrong[i]) seen_by_wrong[j] = true;
    });
    for_seen([&](std::size_t i, std::size_t j) {
      if (queries[i]) keys[j] = true;
    });
  }
};
positions both(positions a, const positions& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] && b[i];
  return a;
}

/// The rows that were not reached have the same bits as without anything wrong.
void check_rows(const array& found, const array& clean, const std::vector<bool>& reached) {
  const auto x = tk::test::to_value(found), y = tk::test::to_value(clean);
  const std::size_t n = reached.size(), row = x.data.size() / n;  // one entry
  std::size_t different = 0;
  for (std::size_t i = 0; i < x.data.size(); ++i)
    if (!reached[i / row] && !(x.data[i] == y.data[i])) ++different;
  CHECK(different == 0);
}

/// Are the rows that hold it, and the queries that see it, not finite?
void check_reached(const array& found, const std::vector<bool>& reached) {
  const auto x = tk::test::to_value(found);
  const std::size_t n = reached.size(), row = x.data.size() / n;
  std::size_t lost = 0;
  for (std::size_t i = 0; i < x.data.size(); ++i)
    if (reached[i / row] && std::isfinite(x.data[i])) ++lost;
  CHECK(lost == 0);
}

array with_rows(const array& x, const std::vector<bool>& wrong, float what) {
  array rows = tk::zeros({1, x.extent(1), 1, 1}, tk::bool_);
  for (std::size_t i = 0; i < wrong.size(); ++i) rows.mutable_data<bool>()[i] = wrong[i];
  return select(rows, astype(array(what), x.dtype()), x);
}

void check_mask(const std::string& name, std::int64_t n, tk::dtype type, const attention_options& o,
                const positions& wrong, bool cotangents = true) {
  CAPTURE(name, n, static_cast<int>(type));
  const tk::shape s{1, n, 2, 16};
  const auto make = [&](const tk::shape& e, std::uint32_t seed) { return astype(noise(e, seed), type); };
  const inputs x{make(s, 1), make({1, n, 1, 16}, 2), make({1, n, 1, 16}, 3), make(s, 4)};
  attention_mask mask = o.mask;
  mask = mask & attention_mask{.is_causal = o.is_causal, .window = o.local_window_size};
  const auto pairs = tk::test::to_value(mask.as_array(n, n));
  std::vector<bool> seen;
  for (const double e : pairs.data) seen.push_back(e != 0);
  const reach to(wrong, seen);
  const results clean = attend(x, o);
  for (const float what : {undefined, infinite, -infinite}) {
    const auto spoiled = [&](std::initializer_list<std::size_t> which) {
      inputs y = x;
      for (const std::size_t i : which) y[i] = with_rows(y[i], wrong, what);
      return attend(y, o);
    };
    const results all = cotangents ? spoiled({0, 1, 2, 3}) : spoiled({0, 1, 2});
    check_rows(all.out, clean.out, to.queries);
    check_rows(all.dq, clean.dq, to.queries);
    check_rows(all.dk, clean.dk, to.keys);
    check_rows(all.dv, clean.dv, to.keys);
    if (what == what) continue;
    check_reached(all.out, both(to.queries, to.seeing));
    check_reached(all.dq, both(to.queries, to.seeing));
    if (!cotangents) continue;
    check_reached(all.dk, to.keys);
    check_reached(all.dv, to.keys);
    check_reached(spoiled({3}).dv, to.seen_by_wrong);
  }
}

}  // namespace

TEST_CASE("what is not finite stays with what sees it, in results and gradients of all masks") {
  std::mt19937 engine(5);
  for (const std::int64_t n : {20, 90, 300})
    for (const tk::dtype type : {tk::f32, tk::bf16}) {
      const auto from = [&](std::int64_t first, std::int64_t end) {
        positions wrong(static_cast<std::size_t>(n), false);
        std::fill(wrong.begin() + first, wrong.begin() + end, true);
        return wrong;
      };
      const array at = tk::iota(tk::i32, {n}, 0), segments = quotient(at, static_cast<int>(n / 3));
      check_mask("causal", n, type, {.is_causal = true}, from(n - 4, n));
      check_mask("causal and window", n, type, {.is_causal = true, .local_window_size = {5, 0}},
                 from(n / 2, n / 2 + 1));
      check_mask("window", n, type, {.local_window_size = {4, 3}}, from(n / 2, n));
      check_mask("chunks", n, type, {.mask = tk::chunked_mask(7)}, from(3, 9));
      check_mask("segments", n, type, {.mask = tk::segment_mask(segments)}, from(n / 3, n / 3 + 2));
      check_mask("soft cap and segments", n, type, {.mask = tk::segment_mask(segments), .logits_soft_cap = 5},
                 from(n / 3, n / 3 + 2));
      check_mask(
          "padding", n, type,
          {.mask = attention_mask{.q_end = array(static_cast<int>(n - 3)), .k_end = array(static_cast<int>(n - 3))}},
          from(n - 3, n), false);  // a query that sees no key passes its cotangent to all values
      positions some(static_cast<std::size_t>(n));
      array seen = tk::zeros({n, n}, tk::bool_);
      for (std::int64_t i = 0; i < n * n; ++i) seen.mutable_data<bool>()[i] = i / n % 5 == i % n % 5;
      for (std::int64_t i = 0; i < n; ++i) some[static_cast<std::size_t>(i)] = i % 5 == 2 && engine() % 3 == 0;
      check_mask("booleans", n, type, {.mask = seen}, some);
    }
}

TEST_CASE("the gradient of a bias is not reached by what its pairs hide") {
  constexpr std::int64_t n = 70;
  const array q = noise({1, n, 2, 8}, 1), k = noise({1, n, 2, 8}, 2), bias = noise({1, 2, n, n}, 3);
  const array segments = quotient(tk::iota(tk::i32, {n}, 0), 23);
  const std::vector<bool> wrong = [] {
    std::vector<bool> w(n, false);
    w[30] = true;
    return w;
  }();
  const auto gradient = [&](const array& rows) {
    const auto [y, pullback] = tk::vjp(
        [&](const array& b) {
          return tk::dot_product_attention(rows, k, rows, {.bias = b, .mask = tk::segment_mask(segments)});
        },
        bias);
    return pullback(noise({1, n, 2, 8}, 4));
  };
  const auto clean = tk::test::to_value(gradient(q)),
             found = tk::test::to_value(gradient(with_rows(q, wrong, undefined)));
  std::size_t different = 0;
  for (std::int64_t i = 0; i < 2 * n * n; ++i) {
    const bool together = i / n % n / 23 == i % n / 23 && i % n / 23 == 1;
    if (!together && !(clean.data[static_cast<std::size_t>(i)] == found.data[static_cast<std::size_t>(i)])) ++different;
  }
  CHECK(different == 0);
}

TEST_CASE("tokens of paged attention are not reached by later keys of their own pages") {
  constexpr std::int64_t page = 8, pages = 20;
  for (const std::int64_t tokens : {3, 90}) {  // row by row, and in blocks
    array k = noise({pages, page, 1, 12}, 1), v = noise({pages, page, 1, 12}, 2);
    const array q = noise({tokens, 2, 12}, 3);
    const int length = 100, last = length - static_cast<int>(tokens) + 2;  // token 2 is there
    const tk::paged_batch batch{tk::full({1}, length, tk::i32), reshape(tk::iota(tk::i32, {pages}, 0), {1, pages}),
                                array{0, static_cast<int>(tokens)}, tk::full({1}, 1, tk::i32)};
    const array clean = tk::ragged_paged_attention(q, {k, v}, batch);
    const array at = tk::iota(tk::i32, {pages * page}, 0);
    for (const float what : {undefined, infinite}) {
      const array later = reshape(at >= last, {pages, page, 1, 1});
      const array y = tk::ragged_paged_attention(q, {select(later, what, k), select(later, what, v)}, batch);
      CHECK(tk::test::distance(slice_in_dim(y, 0, 2, 0), slice_in_dim(clean, 0, 2, 0)) == 0);
    }
  }
}
