// tests/backend/eigen/gemm.cpp: Eigen's products against sums in double, chosen like others, and named by calls of dot_general.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/eigen/gemm.hpp>

#include <tokamax/benchmarking/autotune.hpp>
#include <tokamax/tokamax.hpp>

#include "support/check_gemm.hpp"
#include "support/check_op.hpp"
#include "support/contains.hpp"
#include "support/golden.hpp"
#include "support/steps_of.hpp"

#include <atomic>

TEST_CASE("eigen::gemm: products of f32") {
  check_gemm<float>(tokamax::eigen::gemm, tokamax::cpu_backend::gemm_precision::f32);
}

TEST_CASE("eigen::gemm: leaves other dtypes alone") {
  using tokamax::cpu_backend::gemm_element, tokamax::cpu_backend::gemm_precision;
  CHECK(!takes(tokamax::eigen::gemm, gemm_element::f32, gemm_element::f32, gemm_precision::bfloat16));
  CHECK(!takes(tokamax::eigen::gemm, gemm_element::bfloat16, gemm_element::f32, gemm_precision::f32));
  CHECK(!takes(tokamax::eigen::gemm, gemm_element::bfloat16, gemm_element::bfloat16, gemm_precision::bfloat16));
  CHECK(!takes(tokamax::eigen::gemm, gemm_element::int8, gemm_element::int8, gemm_precision::f32));
}

namespace {

namespace cpu_backend = tokamax::cpu_backend;
namespace tk = tokamax;
using tk::array;
using tk::test::noise;

/// Counts its products, and gives them to Eigen.
std::atomic<int> products = 0;
constexpr cpu_backend::gemm_implementation counted{"counted", tokamax::eigen::detail::can,
                                                   [](const cpu_backend::gemm_product& p) {
                                                     ++products;
                                                     tokamax::eigen::detail::run(p);
                                                   }};
array by(const tk::implementation_names& names, const array& x, const array& w) {
  const tk::use_implementation named("dot_general", names, x, w);
  return tk::matmul(x, w);
}

}  // namespace

TEST_CASE("eigen is an implementation of dot_general by name, in eager, traced and static programs") {
  struct {
    tk::shape x, w;
    bool turned;
  } const cases[] = {{{5, 64}, {64, 7}, false}, {{1, 64}, {64, 7}, true},          {{33, 130}, {130, 65}, true},
                     {{9, 1}, {1, 9}, false},   {{40, 6, 32}, {40, 32, 5}, false}, {{2, 3, 6, 32}, {32, 5}, true}};
  for (const auto& c : cases) {
    const array x = noise(c.x, 1), w = noise(c.w, 2);
    const auto f = [&](const array& a, const array& b) {
      return by("eigen", a, c.turned ? tk::swapaxes(tk::swapaxes(b, -1, -2) * 1.0f, -1, -2) : b);
    };
    CAPTURE(c.x, c.w);
    const array expected = tk::matmul(x, w);
    for (int run = 0; run < 2; ++run) {
      const auto traced = tk::jit(f, tk::cpu, tk::at_run_time);
      CHECK_THAT(tk::test::steps_of(f, x, w), contains("by eigen"));
      CHECK_THAT(tk::test::steps_of(traced, x, w), contains("by eigen"));
      CHECK(tk::test::distance(array(f(x, w)), expected) < 2e-6);
      CHECK(tk::test::distance(array(traced(x, w)), expected) < 2e-6);
    }
  }
  using matrix = tk::tensor<tk::f32, 16, 16>;
  const auto fixed = tk::jit(
      [](const matrix& x) {
        const tk::use_implementation named("dot_general", "eigen", x);
        return tk::matmul(x, x);
      },
      tk::cpu, tk::while_compiling);
  const matrix x = noise({16, 16}, 1);
  CHECK_THAT(tk::test::steps_of(fixed, x), contains("by eigen"));
  CHECK(tk::test::distance(array(fixed(x)), tk::matmul(x, x)) < 2e-6);
}

TEST_CASE("a chosen implementation computes all products of a batch, on all threads") {
  cpu_backend::offered().add(counted);
  CHECK_FALSE(cpu_backend::offered().add(counted));  // the name is taken
  const array x = noise({48, 6, 32}, 1), w = noise({48, 32, 5}, 2);
  for (const int threads : {1, 3}) {
    cpu_backend::set_num_threads(threads);
    products = 0;
    CHECK(tk::test::distance(by("counted", x, w), tk::matmul(x, w)) < 2e-6);
    CHECK(products == 48);
    cpu_backend::set_num_threads(0);
  }
}

TEST_CASE("eigen refuses what it cannot compute, and the next name of a list is taken") {
  const array x = noise({6, 8}, 1), wide = noise({6, 16}, 2);
  const auto narrow = [](const array& a, tk::dtype t) { return array(astype(a, t)); };
  CHECK(tk::test::distance(narrow(by("eigen", narrow(x, tk::f16), transpose(narrow(x, tk::f16))), tk::f32),
                           tk::matmul(x, transpose(x))) < 1e-2);
  const array half = narrow(x, tk::bf16);
  CHECK_THROWS_WITH(by("eigen", half, transpose(half)), contains("eigen: operands of these dtypes"));
  CHECK_THROWS_WITH(by("eigen", narrow(x, tk::f64), transpose(narrow(x, tk::f64))), contains("eigen: products of f64"));
  CHECK_THROWS_WITH(by("eigen", narrow(x, tk::i32), transpose(narrow(x, tk::i32))), contains("eigen: products of i32"));
  CHECK_THROWS_WITH(by("eigen", noise({0, 8}, 1), transpose(x)), contains("eigen: an empty product"));
  const auto either = [](const array& a, const array& b) { return by({"eigen", "kernel"}, a, b); };
  CHECK_THAT(tk::test::steps_of(either, half, array(transpose(half))), !contains("by eigen"));
  const auto apart = [](const array& a, const array& b) {  // every second column of every second row
    const tk::use_implementation named("dot_general", {"eigen", "kernel"}, a, b);
    return tk::matmul(tk::slice(a, {0, 0}, {6, 16}, {2, 2}), b);
  };
  const array b = noise({8, 4}, 3);
  const auto traced = tk::jit(apart, tk::cpu, tk::at_run_time);
  CHECK(tk::test::distance(array(traced(wide, b)), tk::matmul(tk::slice(wide, {0, 0}, {6, 16}, {2, 2}), b)) < 2e-6);
}

TEST_CASE("autotune measures the products of other libraries") {
  const auto r =
      tk::autotune([](const array& a, const array& b) { return tk::matmul(a, b); },
                   tk::autotune_options{.iterations = 1, .sample_ms = 0}, noise({6, 8}, 1), noise({8, 5}, 2));
  REQUIRE(r.calls.size() == 1);
  CHECK_THAT(r.calls[0].call, contains("dot_general(f32[6,8], f32[8,5]"));
  REQUIRE(r.calls[0].implementations.size() >= 2);
  CHECK(r.calls[0].implementations[1].name == "eigen");
  CHECK(r.calls[0].implementations[1].evaluation_times_ms.size() == 1);
}
