// tests/lax/shapes/split.cpp: arrays cut along an axis.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/shapes/split.hpp>
#include <tokamax/transforms/passes/backward.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
const bool known = (reference_rules()[&split_p] = [](const asked& a) -> values {
  const auto [of, sizes] = a.attrs<tokamax::detail::split_attributes>();
  const int axis = of;
  values out;
  std::int64_t first = 0;
  for (const std::int64_t extent : sizes) {
    array_type t = a.in[0].type;
    t.shape[axis] = extent;
    value part = zeros_of(t);
    for_each_place(t.shape, [&](shape at, std::size_t i) {
      at[axis] += first;
      part.data[i] = a.in[0].data[place(a.in[0].type.shape, at)];
    });
    first += extent;
    out.push_back(part);
  }
  return out;
}, true);
}  // namespace

TEST_CASE("split keeps the contract") {
  const auto at = [](int axis, const words& sizes) { return pack(tokamax::detail::split_attributes{axis, sizes}); };
  check_op(split_p, {{{noise({2, 8}, 1)}, at(1, {3, 1, 4})},
                     {{noise({6}, 1)}, at(0, {6})},
                     {{noise({3, 2, 2}, 1, bf16)}, at(0, {2, 1})},
                     {{noise({4, 2}, 1)}, at(0, {0, 4})}});
}

TEST_CASE("special values keep their bits in the parts, and in the gradient of the whole") {
  const function f = [](const arrays& x) -> arrays { return split(x[0], words{2, 0, 3}, 0); };
  for (const dtype t : every_dtype) check_adversarial(f, {adversarial({5, 11}, 1, t)});
  for (const dtype t : {bf16, f32})
    check_adversarial(vjp_of(f, 1), {noise({5, 11}, 1, t), adversarial({2, 11}, 1, t), adversarial({0, 11}, 1, t),
                                     adversarial({3, 11}, 2, t)});
}

TEST_CASE("equal parts, as many as there are elements") {
  check_function(
      [](const arrays& x) -> arrays {
        const arrays p = split(x[0], 3);
        return p[0] * p[2] - p[1];
      },
      {noise({2, 6}, 1)});
  const arrays p = split(array::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), 10);
  REQUIRE(p.count() == 10);
  CHECK(p[9].values<float>()[0] == 9);
}

TEST_CASE("the gradient of parts that stay side by side is one concatenation") {
  graph g;
  auto input = [&](const shape& extents) {
    const array_type t{f32, false, extents};
    return array(&g, g.input(t), t);
  };
  const array x = input({2, 6});
  backward(g, split(x, {2, 4}), {input({2, 2}), input({2, 4})}, {x});
  int joins = 0;
  for (const node& n : g.nodes) {
    joins += n.op == &concatenate_p;
    CHECK(n.op != &pad_p);
  }
  CHECK(joins == 1);
}

TEST_CASE("split rejects sizes that do not fill the axis") {
  const array x = zeros({2, 3});
  CHECK_THROWS_WITH(split(x, 2), contains("split: extent: found f32[2,3], expected a multiple of 2"));
  CHECK_THROWS_WITH(split(x, {1, 1}), contains("split: sizes: found a sum of 2, expected that of axis 1 of f32[2,3]") &&
                                          contains("split.cpp"));
  CHECK_THROWS_WITH(split(x, {4, -1}), contains("split: sizes"));
  CHECK_THROWS_WITH(split(x, {1, 2}, 2), contains("split: axis: found 2"));
}
