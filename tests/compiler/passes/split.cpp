// tests/compiler/passes/split.cpp: groups too large for one loop become several, which compute the same.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/passes/split.hpp>

#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/optim/transforms/clip.hpp>
#include <tokamax/runtime.hpp>
#include <tokamax/transforms/eval_shape.hpp>  // make_graph

#include "support/catch.hpp"
#include "support/random_program.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {

using many = std::vector<array>;

/// n arrays of `extents`, with other numbers in each.
many inputs(int n, const shape& extents) {
  const array noise = random::normal(random::key(3), {n, size(extents)});
  many x;
  for (int i = 0; i < n; ++i) x.push_back(reshape(slice_in_dim(noise, i, i + 1, 0), extents));
  return x;
}
bool same_bits(const array& a, const array& b) {
  const auto x = a.values<float>(), y = b.values<float>();
  return std::equal(x.begin(), x.end(), y.begin(), y.end());
}
/// Does f give the same numbers as one program and op by op?
template <class F>
bool holds(const F& f, const many& x) {
  const auto whole = jit(f, cpu, at_run_time)(x), parts = f(x);
  bool same = whole.size() == parts.size();
  for (std::size_t i = 0; same && i < whole.size(); ++i) same = same_bits(whole[i], parts[i]);
  return same;
}
template <class Trees>
constexpr array total(const Trees& x) {
  array s = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) s = s + x[i];
  return s;
}
plan planned(const auto& f, const many& x) { return planned_program(make_graph(f, x)); }
int steps(const auto& f, const many& x) { return planned(f, x).regions[0].step_count; }

}  // namespace

TEST_CASE("loops of any number of arrays") {
  const int n = GENERATE(126, 127, 128, 129, 130, 256, 1000);
  CAPTURE(n);
  const many x = inputs(n, {33});
  CHECK(holds([](const many& v) { return many{total(v)}; }, x));
  CHECK(holds([](const many& v) { return many{optim::global_norm(v)}; }, x));
  CHECK(holds([](const many& v) { return optim::clip_by_global_norm(0.5f).update(v, {}, v).first; }, x));
  CHECK(holds(
      [](const many& v) {  // as many results as operands
        many y;
        for (const array& a : v) y.push_back(a * v[0] + 1.0f);
        return y;
      },
      x));
  CHECK(holds(
      [](const many& v) {
        array s = broadcast_to(v[0], {3, 33});
        for (const array& a : v) s = s + broadcast_to(a, {3, 33});
        return many{sum(s, {.axis = {1}})};
      },
      x));
}

TEST_CASE("10,000 arrays") {
  const many x = inputs(10000, {2});
  const auto clipped = [](const many& v) { return optim::clip_by_global_norm(0.5f).update(v, {}, v).first; };
  CHECK(holds(clipped, x));
}

TEST_CASE("a group that fits is one loop, a larger one is cut where few values are alive") {
  const auto sum_of = [](const many& v) { return many{total(v)}; };
  CHECK(steps(sum_of, inputs(127, {3})) == 1);
  CHECK(steps(sum_of, inputs(128, {3})) == 2);
  CHECK(planned(sum_of, inputs(1000, {3})).loops.count() == 2);  // the parts are alike, but for the last one
  const auto by_levels = [](const many& v) {  // traced level by level, which holds all values at once
    many y = v;
    for (array& a : y) a = tanh(a);
    for (array& a : y) a = a * 2.0f;
    for (array& a : y) a = a + 1.0f;
    array s = y.back();
    for (std::size_t i = y.size() - 1; i-- > 0;) s = y[i] * s;
    return many{s};
  };
  const plan p = planned(by_levels, inputs(500, {16}));
  CHECK(p.regions[0].step_count <= 6);
  CHECK(p.regions[0].total_bytes <= 2 * 5 * 64);  // few values cross from a loop to the next
}

TEST_CASE("random expressions of many operands") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const auto f = [seed](const many& v) {
      std::uint32_t state = seed * 2654435761u;
      const auto pick = [&](std::size_t n) {
        return static_cast<std::size_t>((state = state * 1664525u + 1013904223u) >> 8) % n;
      };
      many y = v;
      for (int i = 0; i < 900; ++i) {
        const std::size_t reach = seed % 3 == 0 ? y.size() : std::min<std::size_t>(y.size(), 150);
        const array &a = y[y.size() - 1 - pick(reach)], &b = y[y.size() - 1 - pick(reach)];
        const std::size_t kind = pick(6);
        y.push_back(kind == 0   ? a + b
                    : kind == 1 ? a * 0.5f
                    : kind == 2 ? a - b
                    : kind == 3 ? tanh(a)
                    : kind == 4 ? maximum(a, b)
                                : tanh(b) * a + 1.0f);
      }
      many results(y.end() - 1 - static_cast<std::ptrdiff_t>(pick(200)), y.end());
      results.push_back(sum(y[y.size() / 2]) * y.back());
      return results;
    };
    CHECK(holds(f, inputs(200, {7})));
  }
}

TEST_CASE("300 operands, known while compiling") {
  using operands = std::array<tensor<f32, 4>, 300>;
  static constexpr auto sum_of = [](const operands& x) { return total(x); };
  operands x;
  for (int i = 0; i < 300; ++i) x[static_cast<std::size_t>(i)] = full({4}, 0.5f + static_cast<float>(i % 7));
  CHECK(same_bits(jit(sum_of, cpu, while_compiling)(x), total(x)));
}
