// tests/optim/tree.cpp: arithmetic of trees.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/tree.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
namespace tree = tokamax::optim::tree;
using tk::array;

namespace {
struct leaves {
  array x, y, count;  // count holds integers, which no function touches
};
const leaves a{array::from<float>({1, -2, 3}), array::from<float>({4}), array::from<std::int32_t>({7})};
const leaves b{array::from<float>({2, 2, 5}), array::from<float>({8}), array::from<std::int32_t>({7})};
void check(const leaves& found, std::initializer_list<float> x, float y) {
  CHECK(tk::test::distance(found.x, array::from<float>(x)) < 1e-6);
  CHECK(found.y.values<float>()[0] == Approx(y));
  CHECK(found.count.values<std::int32_t>()[0] == 7);
}
}  // namespace

TEST_CASE("trees are added and multiplied leaf by leaf") {
  check(tree::add(a, b), {3, 0, 8}, 12);
  check(tree::add(a, b, b), {5, 2, 13}, 20);
  check(tree::sub(a, b), {-1, -4, -2}, -4);
  check(tree::mul(a, b), {2, -4, 15}, 32);
  check(tree::div(a, b), {0.5f, -1, 0.6f}, 0.5f);
  check(tree::scale(2.0, a), {2, -4, 6}, 8);
  check(tree::add_scale(a, 10.0, b), {21, 18, 53}, 84);
  check(tree::clip(a, -1, 2), {1, -1, 2}, 2);
  check(tree::where(array(true), a, b), {1, -2, 3}, 4);
  check(tree::where(array(false), a, b), {2, 2, 5}, 8);
  check(tree::ones_like(a), {1, 1, 1}, 1);
  check(tree::zeros_like(a), {0, 0, 0}, 0);
  check(tree::full_like(a, 3), {3, 3, 3}, 3);
}

TEST_CASE("reductions see all elements") {
  CHECK(tree::sum(a).item() == 6);
  CHECK(tree::vdot(a, b).item() == 45);
  CHECK(tree::max(a).item() == 4);
  CHECK(tree::min(a).item() == -2);
  CHECK(tree::size(a) == 4);
  CHECK(tree::norm(a).item() == Approx(std::sqrt(30.0)));
  CHECK(tree::norm(a, tree::order::one).item() == 10);
  CHECK(tree::norm(a, tree::order::infinity).item() == 4);
  CHECK(tree::allclose(a, a).item<bool>());
  CHECK_FALSE(tree::allclose(a, b).item<bool>());
  CHECK(tree::sum(tk::full({4096}, 1.0f, tk::bf16)).item() == 4096);
  CHECK(tree::max(tk::zeros({0})).item() < -1e38);
}

TEST_CASE("dtypes and shapes of trees") {
  const leaves half = tree::cast(a, tk::bf16);
  CHECK(half.x.dtype() == tk::bf16);
  CHECK(half.count.dtype() == tk::i32);
  CHECK(tree::cast_like(half, a).x.dtype() == tk::f32);
  const std::pair both{half.x, a.y};
  CHECK(tree::dtype(both) == tk::f32);
  CHECK(tree::dtype(both, tree::mixed::lowest) == tk::bf16);
  CHECK(tree::batch_shape(a, {2, 5}).x.shape() == tk::shape{2, 5, 3});
}

TEST_CASE("moments of trees") {
  check(tree::update_moment(a, b, 0.5), {1.5f, 0, 4}, 6);
  check(tree::update_moment(a, b, 0.5, 2), {1.5f, 3, 7}, 12);
  check(tree::update_infinity_moment(a, b, 0.25, 0), {1, 2, 3}, 4);
  check(tree::bias_correction(a, 0.5, array(2)), {4 / 3.0f, -8 / 3.0f, 4}, 16 / 3.0f);
}

TEST_CASE("each leaf has a key of its own") {
  const leaves drawn = tree::random_like(
      tk::random::key(3), a,
      [](const tk::random::key& k, const tk::shape& s, tk::dtype t) { return tk::random::normal(k, s, t); });
  const array keys = tk::random::split(tk::random::key(3), {3});
  CHECK(tk::to_string(tree::split_key_like(tk::random::key(3), a)) == tk::to_string(keys));
  const array second = tk::random::normal(tk::random::key(tk::squeeze(tk::slice_in_dim(keys, 1, 2, 0), 0)), {1});
  CHECK(tk::test::distance(drawn.y, second) == 0);
  CHECK(drawn.count.values<std::int32_t>()[0] == 7);
}
