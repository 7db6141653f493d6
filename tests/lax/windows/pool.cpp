// tests/lax/windows/pool.cpp: pooling and its gradients against JAX.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/lax/windows/pool.hpp>
#include <tokamax/transforms/vjp.hpp>

#include "support/contains.hpp"
#include "support/golden.hpp"
#include "support/threads.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

array row(const std::string& name) { return tk::test::golden("ops.txt", name); }

template <class F>
void check_case(const std::string& name, F f) {
  CAPTURE(name);
  const auto [y, pullback] = tk::vjp(f, row(name + ".in0"));
  const auto g = pullback(row(name + ".ct"));
  CHECK(tk::test::distance(y, row(name + ".out")) < 1e-6);
  CHECK(tk::test::distance(g, row(name + ".grad0")) < 1e-6);
}

}  // namespace

TEST_CASE("pooling agrees with JAX") {
  check_case("max_pool", [](array x) { return tk::max_pool(x, {2, 2}); });
  check_case("max_pool_tie", [](array x) { return tk::max_pool(x, {2, 2}); });
  check_case("sum_pool", [](array x) { return tk::sum_pool(x, {2, 2}); });
}

TEST_CASE("pooling pads with what does not count") {
  const array x = array::from<float>({-1, -2, -3, -4, -5, -6, -7, -8, -9}, {1, 3, 3, 1});
  const array m = tk::max_pool(x, {2, 2}, {.padding = tk::padding::same});
  const array a = tk::avg_pool(x, {3, 3}, {.strides = {1, 1}, .padding = tk::padding::same});
  CHECK(m.shape() == tk::shape{1, 2, 2, 1});
  CHECK(tk::test::distance(m, array::from<float>({-1, -3, -7, -9}, {1, 2, 2, 1})) == 0);
  CHECK(a.shape() == x.shape());
  const array small = tk::max_pool(tk::astype(x, tk::i8) - 100, {2, 2}, {.padding = tk::padding::same});
  CHECK(small.values<std::int8_t>()[3] == -109);
  CHECK(a.values<float>()[4] == Approx(-5.0f));
  CHECK(a.values<float>()[0] == Approx(-12.0f / 9));
}

TEST_CASE("max_pool and its gradient keep the contract of ops") {
  using tk::test::noise;
  const tk::max_pool_attributes apart{{2, 2}, {2, 2}, {0, 0}, {0, 0}}, over{{3, 2}, {2, 1}, {1, 0}, {0, 1}};
  for (const tk::dtype t : {tk::f32, tk::bf16})
    for (const auto& a : {apart, over}) {
      const array x = noise({2, 4, 6, 3}, 1, t);
      const array y = bind(tk::max_pool_p, {x}, a, {});
      tk::test::check_op(tk::max_pool_p, {{{x}, tk::pack(a)}});
      tk::test::check_op(tk::max_pool_vjp_p, {{{x, noise(y.shape(), 2, t)}, tk::pack(a)}});
    }
}

TEST_CASE("max_pool of all shapes, the same bits on any number of threads") {
  struct example {
    tk::shape image, window;
    tk::pool_options options;
  };
  const auto same = tk::padding::same;
  for (const example& e : std::vector<example>{{{3, 14, 10, 32}, {2, 2}, {}},
                                               {{3, 7, 9, 13}, {2, 2}, {}},
                                               {{1, 9, 11, 37}, {3, 3}, {{2, 2}, same}},
                                               {{2, 6, 5, 1}, {3, 3}, {{1, 1}, same}},
                                               {{2, 30, 19}, {4}, {{3}}},
                                               {{2, 4, 5, 6, 3}, {2, 2, 2}, {}},
                                               {{2, 7, 7, 20}, {7, 7}, {}}}) {
    const tk::test::function f = [&](const tk::arrays& a) -> tk::arrays {
      return tk::max_pool(a[0], e.window, e.options);
    };
    const array x = tk::test::noise(e.image, 1);
    tk::test::check_threads(f, {x});
    tk::test::check_threads(tk::test::vjp_of(f, 1), {x, tk::test::noise(f({x})[0].shape(), 2)});
  }
}

TEST_CASE("max_pool of integers, and of numbers that are not") {
  const array x = array::from<std::int32_t>({-5, -7, -2147483647, -9}, {1, 2, 2, 1});
  CHECK(tk::max_pool(x, {2, 2}, {.strides = {1, 1}, .padding = tk::padding::same}).values<std::int32_t>()[0] == -5);
  CHECK(tk::max_pool(x, {1, 2}).values<std::int32_t>()[1] == -9);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const array y = tk::max_pool(array::from<float>({1, nan, 2, 3}, {1, 2, 2, 1}), {2, 2});
  CHECK(std::isnan(y.values<float>()[0]));
}

TEST_CASE("windows that do not fit are rejected") {
  CHECK_THROWS_WITH(tk::max_pool(tk::test::noise({1, 2, 2, 1}, 1), {3, 3}), contains("max_pool: window"));
}

TEST_CASE("avg_pool of bf16 rounds once") {
  for (const std::int64_t n : {3, 41, 61, 130})
    CHECK(static_cast<float>(tk::avg_pool(tk::ones({1, n, 1}, tk::bf16), {n}).values<tk::bfloat16>()[0]) == 1);
  CHECK(tk::avg_pool(tk::ones({1, 4, 1}, tk::i32), {2}).dtype() == tk::f32);
}
