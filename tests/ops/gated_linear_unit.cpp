// tests/ops/gated_linear_unit.cpp: gated linear units are those of JAX, with any activation and layout of weights.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/ops/gated_linear_unit.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {
constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
constexpr auto silu = [](const array& x) { return tk::silu(x); };
static_assert(tk::gated_linear_unit(array(floats({2, 3, 4})), array(floats({4, 2, 5}))).type() == floats({2, 3, 5}));

array half(const array& w, int i) { return squeeze(slice_in_dim(w, i, i + 1, 1), 1); }
}  // namespace

TEST_CASE("gated_linear_unit and its gradients are those of JAX") {
  tk::test::check_golden(
      "gated_linear_unit", [](const tk::arrays& x) -> tk::arrays { return tk::gated_linear_unit(x[0], x[1], silu); }, 2,
      2e-6, "model_ops.txt");
}

TEST_CASE("gated_linear_unit of both layouts, with residuals, of any extents") {
  for (const auto& [x_shape, n] :
       {std::pair<tk::shape, std::int64_t>{{7}, 5}, {{0, 7}, 5}, {{2, 3, 1}, 1}, {{9, 33}, 0}}) {
    const array x = noise(x_shape, 1), w = noise({x_shape[-1], 2, n}, 2);
    const auto [out, pre] = tk::gated_linear_unit_with_residuals(x, w, silu);
    const array gate = matmul(x, half(w, 0)), up = matmul(x, half(w, 1));
    CHECK(tk::test::distance(out, tk::silu(gate) * up) < 1e-6);
    CHECK(pre.extent(-2) == 2);
    CHECK(tk::test::distance(pre, tk::stack({gate, up}, gate.rank() - 1)) < 1e-6);
    CHECK(tk::test::distance(tk::gated_linear_unit(x, std::pair{half(w, 0), half(w, 1)}, silu), out) < 1e-6);
    CHECK(tk::test::distance(tk::gated_linear_unit(x, w), gate * up) < 1e-6);
  }
}

TEST_CASE("gated_linear_unit in bf16 rounds once, and keeps the contract of functions") {
  const auto both = [](const tk::arrays& v) -> tk::arrays {
    const auto r = tk::gated_linear_unit_with_residuals(v[0], v[1], [](const array& x) { return tanh(x); });
    return {r.out, r.pre_activation};
  };
  for (const tk::dtype t : {tk::f32, tk::bf16})
    tk::test::check_function(both, {noise({2, 3}, 1, t), noise({3, 2, 4}, 2, t)}, {.order = 1});
  const array x = noise({8, 16}, 1, tk::bf16), w = noise({16, 2, 8}, 2, tk::bf16);
  const auto wide = [](const array& v) { return array(astype(v, tk::f32)); };
  const array found = tk::gated_linear_unit(x, w, silu);
  CHECK(found.dtype() == tk::bf16);
  CHECK(tk::test::distance(wide(found), wide(array(astype(tk::gated_linear_unit(wide(x), wide(w), silu), tk::bf16)))) <
        8e-3);
}

TEST_CASE("gated_linear_unit says what is wrong with its operands") {
  const array x(floats({2, 4})), w(floats({4, 2, 5})), flat(floats({4, 5}));
  CHECK_THROWS_WITH(tk::gated_linear_unit(x, flat), contains("gated_linear_unit: weights") && contains("[K,2,N]"));
  CHECK_THROWS_WITH(tk::gated_linear_unit(x, array(floats({4, 3, 5}))), contains("gated_linear_unit: weights"));
  CHECK_THROWS_WITH(tk::gated_linear_unit(array({tk::i32, false, {2, 4}}), w), contains("gated_linear_unit: x"));
  CHECK_THROWS_WITH(tk::gated_linear_unit(x, std::pair{flat, array(floats({4, 6}))}), contains("f32[4,6]"));
  CHECK_THROWS_WITH(tk::gated_linear_unit(x, array({tk::bf16, false, {4, 2, 5}})), contains("of the dtype"));
}
