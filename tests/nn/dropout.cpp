// tests/nn/dropout.cpp: how many elements are dropped, and what the others become.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/nn/dropout.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

using tokamax::array;
using tokamax::nn::dropout;

TEST_CASE("dropout zeroes a share of the elements and scales the others") {
  const array y = dropout{0.25}(tokamax::ones({100, 100}), tokamax::random::key(9));
  int zeros = 0;
  for (float v : y.values<float>()) {
    zeros += v == 0;
    CHECK((v == 0 || v == 1.0f / 0.75f));
  }
  CHECK(std::abs(zeros - 2500) < 150);
}

TEST_CASE("dropout does nothing without a key, and everything at rate 1") {
  const array x = array::from<float>({1, 2, 3});
  CHECK(tokamax::test::distance(dropout{0.5}(x), x) == 0);
  CHECK(tokamax::test::distance(dropout{0}(x, tokamax::random::key(9)), x) == 0);
  CHECK(tokamax::test::distance(dropout{1}(x, tokamax::random::key(9)), tokamax::zeros({3})) == 0);
}
