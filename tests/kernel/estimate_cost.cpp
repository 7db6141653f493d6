// tests/kernel/estimate_cost.cpp: what functions cost as kernels, and what cost_analysis believes of a kernel.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/kernel.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/transforms/cost_analysis.hpp>
#include <tokamax/transforms/jvp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
constexpr array like(const shape& s, dtype t = f32) { return array(array_type{t, false, s}); }
constexpr auto layer = [](const array& x, const array& w) { return exp(matmul(x, w)); };
// JAX 0.10.2: pl.estimate_cost(lambda x, w: jnp.exp(x @ w), x, w)
static_assert(estimate_cost(layer, like({8, 16}), like({16, 32})).flops == 2 * 8 * 16 * 32);
static_assert(estimate_cost(layer, like({8, 16}), like({16, 32})).transcendentals == 8 * 32);
static_assert(estimate_cost(layer, like({8, 16}), like({16, 32})).bytes_accessed == 4 * (128 + 512 + 256));

array doubled_in_steps(const array& x, std::optional<op_cost> cost) {
  const block_spec rows{{4}, {0}};
  return kernel_call([](const auto&, const auto& in, const auto& out) { out.set(exp(in.get()) * 2.0f); },
                     {.grid = {x.extent(0) / 4},
                      .in = {rows},
                      .out = {{x.type(), rows}},
                      .semantics = {dimension_semantics::parallel},
                      .cost_estimate = cost})(x);
}
struct cost_row {
  const char* name;
  op_cost found;
  double flops, transcendentals, bytes;
};
}  // namespace

TEST_CASE("estimate_cost counts what JAX's does, and what JAX leaves out") {
  const array x = like({8, 16}), y = like({16, 8}), b = like({4, 8, 16}), c = like({4, 16, 8}), h = like({8, 16}, bf16);
  const auto sum_of = [](const array& p, const array& q) { return p + q; };
  const auto polynomial = [](const array& p) { return p * p * p - p / p; };
  const auto functions = [](const array& p) { return tanh(p) + sin(p) * log(p); };
  const auto product = [](const array& p, const array& q) { return matmul(p, q); };
  const auto nothing_done = [](const array& p) { return p; };
  for (const cost_row& r : std::vector<cost_row>{
           // JAX 0.10.2
           {"sum", estimate_cost(sum_of, x, x), 128, 0, 3 * 512},
           {"polynomial", estimate_cost(polynomial, x), 4 * 128, 0, 2 * 512},
           {"functions", estimate_cost(functions, x), 2 * 128, 3 * 128, 2 * 512},
           {"product", estimate_cost(product, x, y), 2 * 8 * 16 * 8, 0, 512 + 512 + 256},
           {"products of a batch", estimate_cost(product, b, c), 2 * 4 * 8 * 16 * 8, 0, 4 * 1280},
           {"bf16", estimate_cost(sum_of, h, h), 128, 0, 3 * 256},
           {"nothing", estimate_cost(nothing_done, x), 0, 0, 2 * 512},
           {"empty", estimate_cost(sum_of, like({0, 4}), like({0, 4})), 0, 0, 0},
           // a kernel in a function
           {"kernel", estimate_cost([](const array& p) { return doubled_in_steps(p, op_cost{7, 0, 5, 3}); }, like({8})),
            7, 5, 64}}) {
    INFO(r.name);
    CHECK(r.found.flops == r.flops);
    CHECK(r.found.transcendentals == r.transcendentals);
    CHECK(r.found.bytes_accessed == r.bytes);
  }
}
TEST_CASE("cost_analysis believes the estimate of a kernel, of each entry of a batch, and counts derivatives itself") {
  const op_cost said{.flops = 1000, .transcendentals = 20, .bytes_accessed = 300};
  const auto with = [&](const array& x) { return doubled_in_steps(x, said); };
  const auto without = [](const array& x) { return doubled_in_steps(x, {}); };
  const op_cost one = cost_analysis(with, like({8}));
  CHECK(one.flops == 1000);
  CHECK(one.transcendentals == 20);
  CHECK(one.bytes_accessed == 300);
  const op_cost three = cost_analysis(vmap(with), like({3, 8}));
  CHECK(three.flops == 3000);
  CHECK(three.transcendentals == 60);
  CHECK(three.bytes_accessed == 900);
  CHECK(cost_analysis(without, like({8})).transcendentals == 8);
  const auto slope = [](const auto& f) { return [=](const array& x) { return jvp(f, x, x).second; }; };
  CHECK(cost_analysis(slope(with), like({8})).flops == cost_analysis(slope(without), like({8})).flops);
  const op_cost both = cost_analysis([&](const array& x) { return with(x) + with(x); }, like({8}));
  CHECK(both.flops == 2008);
  const array x = noise({8}, 1);
  CHECK(bit_difference({with(x)}, {without(x)}) == "");
}
