// tests/random/randint.cpp: random integers and orders, bit for bit as in JAX.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy/arange.hpp>
#include <tokamax/random/randint.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
void check_bits(const array& found, const std::string& name) {
  CAPTURE(name);
  CHECK(bit_difference({found}, {golden("random.txt", name)}) == "");
}
const random::key k(42);
}  // namespace

TEST_CASE("integers in a range") {
  check_bits(random::randint(k, {8}, 0, 10), "randint_0_10");
  check_bits(random::randint(k, {8}, -5, 1000), "randint_minus5_1000");
  check_bits(random::randint(k, {8}, 0, 50304), "randint_0_50304");
  check_bits(random::randint(k, {4}, 3, 3), "randint_empty_range_3_3");
  check_bits(random::randint(k, {8}, array::from<std::int32_t>({-5}, {}), array::from<std::int32_t>({1000}, {})),
             "randint_minus5_1000");
}

TEST_CASE("orders") {
  for (int n : {1, 2, 10}) check_bits(random::permutation(k, n), "permutation_" + std::to_string(n));
  for (int n : {1000, 1625, 1626, 2000, 100000})
    check_bits(slice_in_dim(random::permutation(k, n), 0, 16, 0), "permutation_" + std::to_string(n) + "_first16");
  check_bits(random::permutation(k, reshape(arange(10), {5, 2})), "permutation_rows_5x2");
  check_bits(random::permutation(k, reshape(arange(12), {3, 4}), 1, true), "permutation_independent_3x4");
}

TEST_CASE("bounds of integers broadcast to the shape or are refused") {
  const random::key k(7);
  const array low = array::from<std::int32_t>({0, 10, 100});
  const array x = random::randint(k, {2, 3}, low, low + 5);
  CHECK(all(logical_and(x >= low, x < low + 5)).item<bool>());
  CHECK_THROWS_WITH(random::randint(k, {}, low, low + 5), contains("randint: bounds: found i32[3], i32[3], expected"));
  CHECK_THROWS_WITH(random::randint(k, {2}, 0, low, i8), contains("randint: bounds"));
}
