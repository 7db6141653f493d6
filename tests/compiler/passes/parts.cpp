// tests/compiler/passes/parts.cpp: loops write their results side by side into the array of which these are parts.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/passes/parts.hpp>

#include <tokamax/profile.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

using namespace tokamax;

namespace {

using many = std::vector<array>;

array numbers(const shape& s, int seed) { return random::normal(random::key(seed), s); }
bool same(const array& a, const array& b) {
  const auto x = a.values<float>(), y = b.values<float>();
  return a.shape() == b.shape() && std::equal(x.begin(), x.end(), y.begin(), y.end());
}

struct outcome {
  bool right = true;       ///< the results are those of calling op by op, whether operands are given away or not
  int concatenations = 0;  ///< the steps that are left of them
};
/// f(x) -> list, called with x kept and with x moved in.
template <class F>
outcome run(const F& f, const many& x) {
  const auto jitted = jit(f, cpu, at_run_time);
  const many expected = f(x), kept = jitted(x);
  many given;
  for (const array& a : x) given.push_back(array::from<float>(a.values<float>(), a.shape()));
  const many moved = jitted(std::move(given));
  outcome o;
  for (std::size_t k = 0; k < expected.size(); ++k)
    o.right = o.right && same(kept[k], expected[k]) && same(moved[k], expected[k]);
  const auto p = detail::owned_program::make(make_graph(f, x), kernel_table_of<cpu_tag>());
  const plan_view v = p->code.plan();
  for (int i = 0; i < v.step_count; ++i)
    o.concatenations += v.steps[i].kind == step_kind::kernel && v.ops[v.steps[i].function] == &concatenate_p;
  return o;
}

}  // namespace

TEST_CASE("results of loops that lie side by side are written where a concatenation wants them") {
  const many x{numbers({40, 64}, 1), numbers({30, 64}, 2)};
  const outcome rows = run([](const many& a) { return many{concatenate({a[0] * 2.0f, tanh(a[1])}, 0)}; }, x);
  CHECK(rows.right);
  CHECK(rows.concatenations == 0);
  // it is read by another loop, and its parts are reshaped
  const outcome read = run(
      [](const many& a) {
        return many{exp(concatenate({reshape(a[0] + 1.0f, {1, 40, 8, 8}), reshape(-a[1], {1, 30, 8, 8})}, 1))};
      },
      x);
  CHECK(read.right);
  CHECK(read.concatenations == 0);
  // parts of bodies of loops
  const outcome carried = run(
      [](const many& a) {
        const auto step = [](const array&, const array& c) {
          return concatenate({slice_in_dim(c, 20, 40, 0) * 0.5f, slice_in_dim(c, 0, 20, 0) + 1.0f}, 0);
        };
        return many{fori_loop(0, 3, step, a[0])};
      },
      x);
  CHECK(carried.right);
  CHECK(carried.concatenations == 0);
}

TEST_CASE("an array that its parts are made of is not written over before it is read") {
  const many x{numbers({640, 64}, 3)};
  const auto parts = [](std::int64_t cut, bool turned) {
    return [=](const many& a) {
      const array low = slice_in_dim(a[0], 0, cut, 0) * 3.0f, high = slice_in_dim(a[0], cut, 640, 0) - 1.0f;
      return many{concatenate(turned ? arrays{high, low} : arrays{low, high}, 0)};
    };
  };
  for (const std::int64_t cut : {160, 320, 480})
    for (const bool turned : {false, true}) {
      CAPTURE(cut, turned);
      const outcome o = run(parts(cut, turned), x);
      CHECK(o.right);
      CHECK(o.concatenations == 0);
    }
  // the loop that runs first reads rows that lie before its place; the other one waits for a kernel
  const auto shifted = [](bool computed) {
    return [=](const many& a) {
      const array from = computed ? tanh(cumsum(a[0], 1)) : a[0];
      const array y = concatenate({cumsum(cumsum(a[1], 0), 0) * 0.5f, slice_in_dim(from, 0, 623, 0) + 2.0f}, 0);
      return many{computed ? cumsum(y, 1) : y};
    };
  };
  for (const bool computed : {true, false}) {
    CAPTURE(computed);
    const outcome o = run(shifted(computed), {x[0], numbers({17, 64}, 4)});
    CHECK(o.right);
    CHECK(o.concatenations == 0);
  }
}

TEST_CASE("parts that are read elsewhere, small, or apart in memory stay arrays of their own") {
  const many x{numbers({40, 64}, 1), numbers({30, 64}, 2)};
  const auto concatenations = [&](auto f) {
    const outcome o = run(f, x);
    CHECK(o.right);
    return o.concatenations;
  };
  CHECK(concatenations([](const many& a) {
          const array y = a[0] * 2.0f;
          return many{concatenate({y, tanh(a[1])}, 0), y};
        }) == 1);
  CHECK(concatenations([](const many& a) {
          const array y = a[0] * 2.0f;
          return many{concatenate({y, y}, 0)};
        }) == 1);
  CHECK(concatenations([](const many& a) { return many{concatenate({a[0] * 2.0f, a[1]}, 0)}; }) == 1);
  CHECK(concatenations(
            [](const many& a) { return many{concatenate({slice_in_dim(a[0], 0, 2, 0) * 2.0f, tanh(a[1])}, 0)}; }) == 1);
  CHECK(concatenations([](const many& a) {
          return many{concatenate({slice_in_dim(a[0], 0, 30, 0) * 2.0f, tanh(a[1])}, 1)};
        }) == 1);
}
