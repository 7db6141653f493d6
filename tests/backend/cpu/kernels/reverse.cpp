// tests/backend/cpu/kernels/reverse.cpp: rows and columns in opposite order.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/reverse.hpp>

#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("reverse: the same bits on any number of threads") {
  check_same_bits([](const arrays& x) -> arrays { return {reverse(x[0], {0, 2}), reverse(x[0], {1})}; },
                  {noise({40, 30, 50}, 1)});
}
