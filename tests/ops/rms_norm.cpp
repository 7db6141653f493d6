// tests/ops/rms_norm.cpp: types, values, gradients and batches of rms_norm.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/rms_norm.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/vjp.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

struct norm_arguments {
  array x, scale;
};
constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
constexpr auto norm = [](const norm_arguments& a) { return tk::rms_norm(a.x, a.scale); };
constexpr auto total = [](const norm_arguments& a) { return sum(norm(a)); };
constexpr bool gradient_has_types() {
  const norm_arguments g = tk::grad(total)(norm_arguments{array(floats({2, 3, 5})), array(floats({5}))});
  return g.x.type() == floats({2, 3, 5}) && g.scale.type() == floats({5});
}
static_assert(gradient_has_types());

array row(const std::string& name) { return tk::test::golden("ops.txt", "rms_norm." + name); }

}  // namespace

TEST_CASE("rms_norm rejects a scale of another length") {
  CHECK_THROWS_WITH(tk::rms_norm(array(floats({2, 5})), array(floats({4}))),
                    contains("rms_norm: scale") && contains("f32[4]") && contains("f32[5]"));
}

TEST_CASE("rms_norm and its gradients are those of JAX") {
  const norm_arguments a{row("in0"), row("in1")};
  CHECK(tk::test::distance(norm(a), row("out")) < 1e-6);
  const auto [y, pullback] = tk::vjp(norm, a);
  const auto g = pullback(row("ct"));
  CHECK(tk::test::distance(y, row("out")) < 1e-6);
  CHECK(tk::test::distance(g.x, row("grad0")) < 2e-6);
  CHECK(tk::test::distance(g.scale, row("grad1")) < 2e-6);
}

TEST_CASE("rms_norm of a batch is the batch of rms_norms") {
  const array x = row("in0"), scales = array::from<float>({1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1}, {2, 6});  // x [2, 3, 6]
  const array found = tk::vmap(norm)(norm_arguments{x, scales});
  CHECK(tk::test::distance(found, norm({x, tk::ones({6})}) * reshape(scales, {2, 1, 6})) < 1e-6);
}

TEST_CASE("rms_norm keeps the contract of ops") {
  using tk::test::noise;
  for (const tk::dtype t : {tk::f32, tk::bf16})
    tk::test::check_op(tk::rms_norm_p, {{{noise({3, 5}, 1, t), noise({5}, 2)}, pack(tk::norm_attributes{})}});
  tk::test::check_op(tk::rms_norm_p, {{{noise({2, 2, 19}, 1), noise({19}, 2)}, pack(tk::norm_attributes{1e-3})}});
  tk::test::check_op(tk::rms_norm_vjp_p,
                     {{{noise({3, 5}, 1), noise({5}, 2), noise({3, 5}, 3)}, pack(tk::norm_attributes{})}});
}
