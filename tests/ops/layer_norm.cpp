// tests/ops/layer_norm.cpp: types, values, gradients and batches of layer_norm.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/layer_norm.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

struct norm_arguments {
  array x, scale, offset;
};
constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
constexpr norm_arguments abstract(const tk::shape& x, const tk::shape& parameter) {
  return {array(floats(x)), array(floats(parameter)), array(floats(parameter))};
}
constexpr bool has_types(const norm_arguments& a, const tk::shape& x, const tk::shape& parameter) {
  return a.x.type() == floats(x) && a.scale.type() == floats(parameter) && a.offset.type() == floats(parameter);
}

constexpr auto norm = [](const norm_arguments& a) { return tk::layer_norm(a.x, a.scale, a.offset, {.epsilon = 1e-5}); };
constexpr auto total = [](const norm_arguments& a) { return sum(norm(a)); };
constexpr auto squared_gradient = [](const norm_arguments& a) {
  const norm_arguments g = tk::grad(total)(a);
  return sum(g.x * g.x) + sum(g.scale * g.scale);
};

static_assert(tk::layer_norm(array(floats({2, 5})), array(floats({5})), array(floats({5}))).type() == floats({2, 5}));
static_assert(has_types(tk::grad(total)(abstract({2, 3, 5}, {5})), {2, 3, 5}, {5}));
static_assert(has_types(tk::grad(squared_gradient)(abstract({3, 5}, {5})), {3, 5}, {5}));
static_assert(has_types(tk::vmap(tk::grad(total))(abstract({7, 3, 5}, {7, 5})), {7, 3, 5}, {7, 5}));

// bf16 rows keep f32 parameters; results have the dtype of x
constexpr tk::array_type half{tk::bf16, false, tk::shape{2, 5}};
static_assert(tk::layer_norm(array(half), array(floats({5})), array(floats({5}))).type() == half);

array row(const std::string& name) { return tk::test::golden("ops.txt", "layer_norm." + name); }

}  // namespace

TEST_CASE("layer_norm rejects parameters of another length") {
  const array x(floats({2, 5})), ok(floats({5})), wrong(floats({4}));
  CHECK_THROWS_WITH(tk::layer_norm(x, wrong, ok),
                    contains("layer_norm: scale") && contains("f32[4]") && contains("f32[5]"));
  CHECK_THROWS_WITH(tk::layer_norm(x, ok, wrong), contains("layer_norm: offset"));
}

TEST_CASE("layer_norm and its gradients are those of JAX") {
  const norm_arguments a{row("in0"), row("in1"), row("in2")};
  CHECK(tk::test::distance(norm(a), row("out")) < 1e-6);
  const auto [y, pullback] = tk::vjp(norm, a);
  const auto g = pullback(row("ct"));
  CHECK(tk::test::distance(y, row("out")) < 1e-6);
  CHECK(tk::test::distance(g.x, row("grad0")) < 2e-6);
  CHECK(tk::test::distance(g.scale, row("grad1")) < 2e-6);
  CHECK(tk::test::distance(g.offset, row("grad2")) < 2e-6);
}

TEST_CASE("layer_norm of a batch is the batch of layer_norms") {
  const array x = row("in0");  // [2, 3, 6]
  const std::initializer_list<float> scales{1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1},
      offsets{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  const array found = tk::vmap(norm)(norm_arguments{x, array::from(scales, {2, 6}), array::from(offsets, {2, 6})});
  const array plain = norm({x, tk::ones({6}), tk::zeros({6})});
  CHECK(tk::test::distance(found, plain * array::from(scales, {2, 1, 6}) + array::from(offsets, {2, 1, 6})) < 1e-6);
}

TEST_CASE("layer_norm in bf16 rounds the result of f32 arithmetic") {
  const norm_arguments a{row("in0"), row("in1"), row("in2")};
  const array rounded = astype(a.x, tk::bf16);
  const array y = norm({rounded, a.scale, a.offset});
  REQUIRE(y.dtype() == tk::bf16);
  CHECK(tk::test::distance(astype(y, tk::f32), norm({astype(rounded, tk::f32), a.scale, a.offset})) < 4e-3);
}

TEST_CASE("layer_norm keeps the contract of ops") {
  using tk::test::noise;
  for (const tk::dtype t : {tk::f32, tk::bf16})
    tk::test::check_op(tk::layer_norm_p,
                       {{{noise({3, 5}, 1, t), noise({5}, 2), noise({5}, 3)}, pack(tk::layer_norm_options{})}});
  tk::test::check_op(tk::layer_norm_p,
                     {{{noise({2, 2, 19}, 1), noise({19}, 2), noise({19}, 3)}, pack(tk::layer_norm_options{1e-3})}});
  tk::test::check_op(tk::layer_norm_vjp_p,
                     {{{noise({3, 5}, 1), noise({5}, 2), noise({3, 5}, 3)}, pack(tk::layer_norm_options{})}});
}
