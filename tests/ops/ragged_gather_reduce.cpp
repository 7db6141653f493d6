// tests/ops/ragged_gather_reduce.cpp: sums of weighted rows by index, and their gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/ragged_gather_reduce.hpp>

#include "support/adversarial.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

namespace {
constexpr tk::array_type floats(const tk::shape& s) { return {tk::f32, false, s}; }
array permutation(std::int64_t n, std::int64_t rows) {
  array a = array::uninitialized({tk::i32, false, {n}});
  for (std::int64_t i = 0; i < n; ++i) a.mutable_data<std::int32_t>()[i] = static_cast<std::int32_t>(i * 37 % rows);
  return a;
}
tk::test::function reduced(std::int64_t group) {
  return [group](const tk::arrays& v) -> tk::arrays { return tk::ragged_gather_reduce(v[0], v[1], v[2], v[3], group); };
}
}  // namespace

TEST_CASE("ragged_gather_reduce sums weighted rows, without those that do not count") {
  for (const std::int64_t group : {1, 4, 16, 32}) {
    const array x = noise({20, 6}, 1), at = permutation(64, 20), weights = noise({64}, 2);
    const array valid = weights > -0.5f;
    const array found = tk::ragged_gather_reduce(x, at, weights, valid, group);
    std::vector<float> expected(static_cast<std::size_t>(64 / group * 6));
    for (std::int64_t i = 0; i < 64; ++i)
      for (std::int64_t j = 0; j < 6; ++j) {
        const float w = weights.values<float>()[static_cast<std::size_t>(i)];
        if (w > -0.5f)
          expected[static_cast<std::size_t>(i / group * 6 + j)] +=
              w * x.values<float>()[static_cast<std::size_t>(i * 37 % 20 * 6 + j)];
      }
    CHECK(tk::test::distance(found, array::from<float>(expected, {64 / group, 6})) < 4e-6);
  }
}

TEST_CASE("ragged_gather_reduce keeps the contract of functions") {
  const array x = noise({6, 3}, 1), at = permutation(6, 6), w = noise({6}, 2), valid = w > 0.0f;
  const tk::test::check_options o{.order = 1};
  tk::test::check_function(reduced(3), {x, at, w, valid}, o);
  tk::test::check_function(reduced(1), {noise({4}, 1), permutation(6, 4), w, valid}, o);
  tk::test::check_function(reduced(2), {noise({3, 2, 2}, 1), permutation(6, 2), w, valid}, o);
}

TEST_CASE("ragged_gather_reduce and its gradients are right on special values, extents and indices") {
  const array far =
      array::from<std::int32_t>({0, 6, -1, 99, 3, 5, 5, 2, 6, 1, 0, 0x7fffffff, -0x7fffffff - 1, 1, 1, 1, 4, 4, 2, 3});
  const array same = array::from<std::int32_t>(std::vector<std::int32_t>(20, 3), {20});
  for (const tk::dtype t : {tk::f32, tk::bf16, tk::f16})
    for (const std::int64_t columns : {0, 1, 13, 77, 1000})
      for (const std::int64_t group : {1, 4, 20}) {
        const tk::test::adversarial_options o{.tolerance = t == tk::f32 ? 4e-6 : 1e-2, .floor = 4};
        const array valid = noise({20}, 5) > -0.5f;
        for (const array& at : {far, permutation(20, 7), same}) {
          const array x = at.values<std::int32_t>()[1] == 6 ? noise({7, columns}, 1, t)
                                                            : tk::test::sprinkled({7, columns}, 1, t, 1e4);
          tk::test::check_adversarial(reduced(group), {x, at, noise({20}, 2), valid}, o);
          tk::test::check_adversarial(
              [group](const tk::arrays& v) -> tk::arrays {
                return tk::ragged_gather_reduce_vjp(v[0], v[1], v[2], v[3], v[4], group);
              },
              {x, at, noise({20}, 2), valid, noise({20 / group, columns}, 3, t)}, o);
        }
      }
}

TEST_CASE("ragged_gather_reduce of no terms, no rows and many rows") {
  const array none = array::uninitialized({tk::i32, false, {0}}), nothing = noise({0}, 1);
  CHECK(tk::ragged_gather_reduce(noise({3, 5}, 1), none, nothing, nothing > 0.0f, 4).shape() == tk::shape{0, 5});
  CHECK(tk::ragged_gather_reduce(noise({0, 5}, 1), none, nothing, nothing > 0.0f, 1).shape() == tk::shape{0, 5});
  const array w = noise({4096}, 2);
  tk::test::check_adversarial(reduced(4), {noise({1024, 64}, 1), permutation(4096, 1024), w, array(w > -0.9f)},
                              {.tolerance = 4e-6, .floor = 1, .views = false});
}

TEST_CASE("ragged_gather_reduce says what is wrong with its operands") {
  const array x(floats({6, 3})), at({tk::i32, false, {6}}), w(floats({6})), valid({tk::bool_, false, {6}});
  CHECK_THROWS_WITH(tk::ragged_gather_reduce(x, at, w, valid, 4), contains("ragged_gather_reduce: group"));
  CHECK_THROWS_WITH(tk::ragged_gather_reduce(x, at, at, valid, 3), contains("ragged_gather_reduce: weights"));
  CHECK_THROWS_WITH(tk::ragged_gather_reduce(x, at, w, w, 3), contains("ragged_gather_reduce: valid"));
}
