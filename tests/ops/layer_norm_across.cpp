// tests/ops/layer_norm_across.cpp: layer_norm of axes with long rows after them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/layer_norm.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {

array across(const tk::arrays& v) {
  return bind(tk::layer_norm_across_p, {v[0], v[1], v[2]}, tk::norm_attributes{1e-5}, tk::location{});
}

}  // namespace

TEST_CASE("layer_norm_across keeps the contract of ops") {
  tk::test::check_op(tk::layer_norm_across_p,
                     {{{noise({2, 5, 7}, 1), noise({5}, 2), noise({5}, 3)}, pack(tk::norm_attributes{1e-5})}});
}

TEST_CASE("layer_norm_across of special values, odd and empty extents, is the meaning of the op") {
  for (const tk::dtype t : {tk::f32, tk::bf16, tk::f16})
    for (const tk::shape& s : {tk::shape{2, 5, 77}, {1, 1, 3}, {3, 300, 64}, {2, 3, 1000}, {0, 4, 9}, {2, 4, 0}})
      tk::test::check_adversarial([](const tk::arrays& v) -> tk::arrays { return {across(v)}; },
                                  {tk::test::sprinkled(s, 1, t, 1e4), noise({s[1]}, 2), noise({s[1]}, 3)},
                                  {.tolerance = t == tk::f32 ? 2e-5 : 1e-2, .floor = 1});
}

TEST_CASE("sums of an axis of many terms far from zero keep their digits") {
  const array x = noise({100000, 64}, 1) + 100.0f;
  const array y = tk::layer_norm(x, {}, {}, {.axis = 0});
  CHECK(tk::test::distance(array(tk::mean(y, {{0}}) + 1.0f), tk::ones({64})) < 2e-4);
  CHECK(tk::test::distance(tk::mean(tk::square(y), {{0}}), tk::ones({64})) < 2e-4);
}
