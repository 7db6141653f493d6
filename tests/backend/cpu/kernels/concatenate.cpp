// tests/backend/cpu/kernels/concatenate.cpp: operands of any length, copied by several threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/concatenate.hpp>

#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("concatenate: the same bits on any number of threads") {
  check_same_bits([](const arrays& x) -> arrays { return concatenate({x[0], x[1], x[0]}, 1); },
                  {noise({300, 70, 3}, 1), noise({300, 1, 3}, 2)});
}
