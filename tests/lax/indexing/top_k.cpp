// tests/lax/indexing/top_k.cpp: the largest values are those of a whole sort, in its order, and so are their gradients.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/lax/indexing/top_k.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"

#include <limits>

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// Numbers of which each is there many times, and some that are not numbers.
array few_values(const shape& s, unsigned seed, dtype t) {
  array x = noise(s, static_cast<int>(seed));
  float* const data = x.mutable_data<float>();
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (std::int64_t i = 0; i < x.size(); ++i) {
    data[i] = static_cast<float>(static_cast<int>(data[i] * 20));
    if (i % 97 == 5) data[i] = i % 2 ? inf : -inf;
    if (i % 311 == 7) data[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return astype(x, t);
}
top_k_result sorted_top_k(const array& x, std::int64_t k) {
  const arrays all = sort({x, iota(i32, x.shape(), x.rank() - 1)}, -1, true);
  return {slice_in_dim(all[0], 0, k, x.rank() - 1), slice_in_dim(all[1], 0, k, x.rank() - 1)};
}
}  // namespace

TEST_CASE("top_k agrees with JAX") {
  check_golden("top_k_values", [](const arrays& x) -> arrays { return top_k(x[0], 3).values; });
  check_golden("top_k_indices", [](const arrays& x) -> arrays { return top_k(x[0], 3).indices; });
}

TEST_CASE("top_k of the rows of openxla/tokamax's test") {
  const auto [values, indices] = top_k(array::from<float>({3, 1, 4, 2, 5, 9, 2, 6}, {2, 4}), 2);
  CHECK(bit_difference({values, indices}, {array::from<float>({4, 3, 9, 6}, {2, 2}),
                                           array::from<std::int32_t>({2, 0, 1, 3}, {2, 2})}) == "");
}

TEST_CASE("top_k of long rows is the beginning of all of them in order") {
  for (const dtype t : {f32, bf16, f16, f64, i32})
    for (const shape& s : {shape{3, 1024}, shape{2, 2, 1543}, shape{5000}, shape{0, 2000}})
      for (const std::int64_t k : {0, 1, 3, 17, 64, 500}) {
        const array x = few_values(s, 1, t);
        const auto [values, indices] = top_k(x, k);
        const top_k_result expected = sorted_top_k(x, k);
        CAPTURE(name(t), s, k);
        CHECK(bit_difference({indices}, {expected.indices}) == "");
        CHECK(bit_difference({values}, {expected.values}) == "");
      }
  for (const float only : {-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const array same = top_k(full({2, 1100}, only), 9).indices;
    CHECK(bit_difference({same}, {iota(i32, {2, 9}, 1)}) == "");
  }
}

TEST_CASE("gradients of top_k go to the places of the values") {
  const array x = noise({3, 1100}, 1), ct = noise({3, 8}, 2);
  const array found = grad([&](const array& v) { return sum(top_k(v, 8).values * ct); })(x);
  const array expected = grad([&](const array& v) { return sum(sorted_top_k(v, 8).values * ct); })(x);
  CHECK(bit_difference({found}, {expected}) == "");
}

TEST_CASE("top_k keeps the contract of ops") {
  for (const std::int64_t k : {1, 3, 7}) check_op(top_k_p, {{{noise({2, 3, 7}, 1)}, pack(top_k_options{k})}});
  check_op(top_k_p, {{{noise({2, 40}, 1)}, pack(top_k_options{5})}});
}

TEST_CASE("top_k of special values, few and many of them, is the meaning of the op") {
  for (const dtype t : {f32, bf16, f16, f64, i32, i8, u8, bool_, i64})
    for (const std::int64_t n : {1, 31, 33, 100, 300})
      for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, n / 3, n - 1, n}) {
        const array x = adversarial({5, n}, 1, t);
        CAPTURE(name(t), n, k);
        check_adversarial(
            [k](const arrays& v) -> arrays {
              const auto [values, indices] = top_k(v[0], k);
              return {values, indices};
            },
            {x}, {.tolerance = 0});
        CHECK(bit_difference({top_k(x, k).values}, {sorted_top_k(x, k).values}) == "");
      }
}

TEST_CASE("rows that rise, fall, are equal or have their largest values last") {
  constexpr std::int64_t n = 5000;
  std::vector<float> rows;
  for (int kind = 0; kind < 4; ++kind)
    for (std::int64_t i = 0; i < n; ++i)
      rows.push_back(kind == 0   ? static_cast<float>(i)
                     : kind == 1 ? static_cast<float>(-i)
                     : kind == 2 ? -0.0f
                                 : static_cast<float>(i == n - 1));
  const array x = array::from<float>(rows, {4, n});
  for (const std::int64_t k : {1, 8, 33, 4999}) {
    const auto [values, indices] = top_k(x, k);
    const top_k_result expected = sorted_top_k(x, k);
    CHECK(bit_difference({values, indices}, {expected.values, expected.indices}) == "");
  }
}

TEST_CASE("top_k says which k fit") {
  const array x = noise({2, 2000}, 1);
  CHECK_THROWS_WITH(top_k(x, 2001), contains("top_k: k") && contains("2001"));
  CHECK_THROWS_WITH(top_k(x, -1), contains("top_k: k"));
  CHECK_THROWS_WITH(top_k(array(1.0f), 1), contains("top_k: axis"));
}
