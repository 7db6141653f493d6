// tests/ops/low_rank_update.cpp: values of low_rank_update, and its products in every position.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/low_rank_update.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/remat.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/golden.hpp"
#include "support/largest_value.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {

struct parts {
  array w, a, b;
};
parts some(const tk::shape& lead, std::int64_t in, std::int64_t out, std::int64_t rank, tk::dtype t = tk::f32) {
  const auto of = [&](std::int64_t m, std::int64_t n, unsigned seed) {
    tk::shape s = lead;
    s.push_back(m);
    s.push_back(n);
    return noise(s, seed, t);
  };
  return {of(in, out, 1), of(in, rank, 2), of(rank, out, 3)};
}
constexpr double scale = 0.75;
array updated(const parts& p) { return tk::low_rank_update(p.w, p.a, p.b, scale); }
array summed(const parts& p) { return p.w + scale * tk::matmul(p.a, p.b); }

/// Does the program compute a value of n floats or more?
bool has_large(const tk::graph& g, std::int64_t n) { return tk::test::largest_value(g) >= 4 * n; }

constexpr auto while_compiling = [](const tk::tensor<tk::f32, 3, 16>& x, const tk::tensor<tk::f32, 16, 12>& w,
                                    const tk::tensor<tk::f32, 16, 2>& a, const tk::tensor<tk::f32, 2, 12>& b) {
  return tk::sum(tk::square(tk::matmul(x, tk::low_rank_update(w, a, b, 0.5))));
};

}  // namespace

TEST_CASE("a product with an updated matrix is that with the sum, wherever the matrix stands, and makes no sum") {
  struct row {
    const char* name;
    tk::shape lead, x;
    tk::dot_dimensions d;
    bool first;  // is the matrix the first operand?
  };
  const row rows[] = {
      {"x w", {}, {5, 16}, {.lhs_contracting = {1}, .rhs_contracting = {0}}, false},
      {"x w, x of three axes", {}, {2, 3, 16}, {.lhs_contracting = {2}, .rhs_contracting = {0}}, false},
      {"x^T w", {}, {16, 5}, {.lhs_contracting = {0}, .rhs_contracting = {0}}, false},
      {"x w^T", {}, {5, 12}, {.lhs_contracting = {1}, .rhs_contracting = {1}}, false},
      {"w x", {}, {12, 5}, {.lhs_contracting = {1}, .rhs_contracting = {0}}, true},
      {"w^T x", {}, {16}, {.lhs_contracting = {0}, .rhs_contracting = {0}}, true},
      {"stack", {3}, {3, 5, 16}, {{2}, {1}, {0}, {0}}, false},
      {"stack, its second axis first", {2}, {16, 2, 5}, {{0}, {1}, {1}, {0}}, false},
      {"stack, w x", {2}, {2, 12, 1}, {{2}, {1}, {0}, {0}}, true},
      {"stack of stacks", {2, 2}, {2, 2, 3, 12}, {{3}, {3}, {0, 1}, {0, 1}}, false},
  };
  for (const row& r : rows) {
    CAPTURE(r.name);
    const parts p = some(r.lead, 16, 12, 2);
    const array x = noise(r.x, 4);
    const auto by = [&](const auto& matrix) {
      return [&r, matrix](const parts& q, const array& y) {
        const array w = matrix(q);
        return r.first ? tk::dot_general(w, y, r.d) : tk::dot_general(y, w, r.d);
      };
    };
    const auto found = by(updated), expected = by(summed);
    CHECK(tk::test::distance(tk::jit(found, tk::cpu)(p, x), expected(p, x)) < 1e-6);
    const auto loss = [](const auto& f) {
      return [f](const parts& q, const array& y) { return tk::sum(tk::square(f(q, y))); };
    };
    const auto g = tk::grad<0, 1>(loss(found)), h = tk::grad<0, 1>(loss(expected));
    const auto [found_p, found_x] = g(p, x);
    const auto [expected_p, expected_x] = h(p, x);
    CHECK(tk::test::distance(found_p.a, expected_p.a) < 2e-6);
    CHECK(tk::test::distance(found_p.b, expected_p.b) < 2e-6);
    CHECK(tk::test::distance(found_p.w, expected_p.w) < 2e-6);
    CHECK(tk::test::distance(found_x, expected_x) < 2e-6);
    const auto of_factors = [&](const array& a, const array& b) { return loss(found)(parts{p.w, a, b}, x); };
    CHECK_FALSE(has_large(tk::make_graph(tk::grad<0, 1>(of_factors), p.a, p.b), 16 * 12 * tk::size(r.lead)));
  }
}

TEST_CASE("a matrix is summed where that costs less, where a stack is contracted, and for other uses") {
  const array x = noise({5, 16}, 4);
  const auto product = [&](const parts& p) { return tk::matmul(x, updated(p)); };
  CHECK_FALSE(has_large(tk::make_graph(product, some({}, 16, 12, 6)), 16 * 12));
  CHECK(has_large(tk::make_graph(product, some({}, 16, 12, 7)), 16 * 12));  // 7 * 28 >= 16 * 12
  const parts p = some({}, 16, 12, 2), stack = some({3}, 16, 12, 2);
  CHECK(tk::test::distance(updated(p), summed(p)) < 1e-6);
  CHECK(tk::test::distance(tk::jit([](const parts& q) { return tk::exp(updated(q)); }, tk::cpu)(p),
                           tk::exp(summed(p))) < 1e-6);
  const array y = noise({3, 5}, 5);
  const auto along_stack = [&](const parts& q) { return tk::dot_general(y, updated(q), {{0}, {0}, {}, {}}); };
  CHECK(tk::test::distance(tk::jit(along_stack, tk::cpu)(stack),
                           tk::dot_general(y, summed(stack), {{0}, {0}, {}, {}})) < 1e-6);
  const parts none = some({}, 16, 12, 0);
  CHECK(tk::test::distance(product(none), tk::matmul(x, none.w)) == 0);
  const parts half = some({}, 16, 12, 2, tk::bf16);
  const array small = tk::jit(product, tk::cpu)(parts{half.w, p.a, p.b});
  CHECK(small.dtype() == tk::f32);
  const array narrow = tk::jit([](const parts& q, const array& in) { return tk::matmul(in, updated(q)); }, tk::cpu)(
      parts{half.w, p.a, p.b}, tk::astype(x, tk::bf16));
  CHECK(narrow.dtype() == tk::bf16);
  CHECK(tk::test::distance(tk::astype(narrow, tk::f32),
                           tk::matmul(x, summed({tk::astype(half.w, tk::f32), p.a, p.b}))) < 0.02);
}

TEST_CASE("a loop or a recomputed function that closes over an updated matrix makes no sum either") {
  const parts p = some({}, 32, 32, 2);
  const array x = noise({5, 32}, 4);
  const auto repeated = [&](const auto& matrix) {
    return [&x, matrix](const array& a, const array& b, const array& w) {
      const array m = matrix(parts{w, a, b});
      const array y = tk::scan([&](const array& h,
                                   const tk::nothing&) { return std::pair{tk::tanh(tk::matmul(h, m)), tk::nothing{}}; },
                               x, tk::nothing{}, {.length = 3})
                          .first;
      return tk::sum(tk::remat([&](const array& h) { return tk::square(tk::matmul(h, m)); })(y));
    };
  };
  const auto found = tk::grad<0, 1>(repeated(updated)), expected = tk::grad<0, 1>(repeated(summed));
  CHECK_FALSE(has_large(tk::make_graph(found, p.a, p.b, p.w), 32 * 32));
  CHECK(has_large(tk::make_graph(expected, p.a, p.b, p.w), 32 * 32));
  const auto [a, b] = tk::jit(found, tk::cpu)(p.a, p.b, p.w);
  const auto [of_a, of_b] = expected(p.a, p.b, p.w);
  CHECK(tk::test::distance(a, of_a) < 2e-6);
  CHECK(tk::test::distance(b, of_b) < 2e-6);
}

TEST_CASE("programs known while compiling have the bits of those traced at run time") {
  const parts p = some({}, 16, 12, 2);
  const array x = noise({3, 16}, 4);
  const auto g = tk::grad<2, 3>(while_compiling);
  using x_type = tk::tensor<tk::f32, 3, 16>;
  const auto call = [&](const auto& f) {
    const auto [a, b] = f(x_type(x), tk::tensor<tk::f32, 16, 12>(p.w), tk::tensor<tk::f32, 16, 2>(p.a),
                          tk::tensor<tk::f32, 2, 12>(p.b));
    return std::vector<array>{a, b};
  };
  const auto early = call(tk::jit(g, tk::cpu, tk::while_compiling)), late = call(tk::jit(g, tk::cpu, tk::at_run_time));
  CHECK(tk::test::bit_difference(early, late).empty());
  CHECK(tk::test::bit_difference(early, call(g)).empty());
}

TEST_CASE("dropout zeroes what the first factor reads, by the key, and gradients see the same zeros") {
  const parts p = some({}, 16, 12, 2), stack = some({3}, 16, 12, 2);
  const array x = noise({64, 16}, 4), y = noise({3, 64, 16}, 5);
  const tk::random::key key(7);
  const array keys = tk::random::split(key, {3});
  const auto loss = [&](const parts& q, const array& in, const array& k, double rate) {
    return tk::sum(tk::square(tk::matmul(in, tk::low_rank_update(q.w, q.a, q.b, scale, rate, k))));
  };
  const auto expected = [&](const parts& q, const array& in, const tk::random::key& k, double rate) {
    const array kept = tk::random::bernoulli(k, 1 - rate, in.shape());
    const array less = tk::select(kept, in / (1 - rate), tk::zeros_like(in));
    return tk::sum(tk::square(tk::matmul(in, q.w) + scale * tk::matmul(tk::matmul(less, q.a), q.b)));
  };
  for (const double rate : {0.0, 0.25, 0.9}) {
    const auto found = tk::jit(tk::value_and_grad([&](const parts& q, const array& k) { return loss(q, x, k, rate); }),
                               tk::cpu)(p, key);
    const auto wanted = tk::value_and_grad([&](const parts& q) { return expected(q, x, key, rate); })(p);
    CHECK(tk::test::distance(found.first, wanted.first) < 2e-6);
    CHECK(tk::test::distance(found.second.a, wanted.second.a) < 3e-6);
    CHECK(tk::test::distance(found.second.b, wanted.second.b) < 3e-6);
    CHECK(tk::test::distance(found.second.w, wanted.second.w) < 3e-6);
  }
  const auto all = [&](double rate) {
    return tk::jit([&, rate](const parts& q, const array& k) { return loss(q, y, k, rate); }, tk::cpu)(stack, keys);
  };
  const tk::random::key first(tk::squeeze(tk::slice_in_dim(keys, 0, 1, 0), 0));
  CHECK(tk::test::distance(all(0.5), expected(stack, y, first, 0.5)) < 2e-6);
  CHECK(tk::test::distance(all(1), tk::sum(tk::square(tk::matmul(y, stack.w)))) < 2e-6);
  CHECK(tk::test::distance(tk::low_rank_update(p.w, p.a, p.b, scale, 0.5, key), updated(p)) == 0);  // no product
  CHECK_THROWS_WITH(tk::low_rank_update(stack.w, stack.a, stack.b, 1, 0.5, key),
                    contains("low_rank_update: keys") && contains("u32[3,2]"));
}

TEST_CASE("low_rank_update says what does not fit") {
  const auto of = [](const tk::shape& s) { return array({tk::f32, false, s}); };
  CHECK_THROWS_WITH(tk::low_rank_update(of({4}), of({4, 1}), of({1, 4})),
                    contains("low_rank_update: w") && contains("f32[4]"));
  for (const auto& [a, b] : {std::pair{tk::shape{4, 2}, tk::shape{3, 5}}, std::pair{tk::shape{5, 2}, tk::shape{2, 5}},
                             std::pair{tk::shape{4, 2}, tk::shape{2, 4}}, std::pair{tk::shape{4}, tk::shape{2, 5}},
                             std::pair{tk::shape{1, 4, 2}, tk::shape{1, 2, 5}}})
    CHECK_THROWS_WITH(tk::low_rank_update(of({4, 5}), of(a), of(b)),
                      contains("low_rank_update: factors") && contains("f32[4,5]"));
}

TEST_CASE("low_rank_update keeps the contract of ops") {
  for (const tk::dtype t : {tk::f32, tk::bf16}) {
    const parts p = some({}, 5, 4, 2, t);
    tk::test::check_op(tk::low_rank_update_p, {{{p.w, p.a, p.b}, pack(tk::low_rank_attributes{0.5})}});
  }
  const parts stack = some({2}, 3, 4, 1);
  tk::test::check_op(tk::low_rank_update_p, {{{stack.w, stack.a, stack.b}, pack(tk::low_rank_attributes{2})}});
  const tk::test::function f = [](const tk::arrays& v) -> tk::arrays {
    return {tk::low_rank_update(v[0], v[1], v[2], 0.5)};
  };
  for (const tk::dtype t : {tk::f32, tk::bf16}) {
    const parts p = some({}, 23, 17, 3, t);
    const tk::test::adversarial_options o{.tolerance = t == tk::f32 ? 5e-6 : 8e-3, .floor = 10};
    const auto special = [&](const array& x) { return tk::test::sprinkled(x.shape(), 3, t, 1e4); };
    tk::test::check_adversarial(f, {special(p.w), p.a, p.b}, o);
    tk::test::check_adversarial(f, {p.w, special(p.a), p.b}, o);
    tk::test::check_adversarial(f, {p.w, p.a, special(p.b)}, o);
  }
}
