// tests/backend/cpu/kernels/cumulative.cpp: running sums along long and wide axes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/cumulative.hpp>

#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("cumulative: the same bits on any number of threads") {
  check_same_bits([](const arrays& x) -> arrays { return {cumsum(x[0], 0), cumsum(x[0], 1), cumsum(x[0], 2, true)}; },
                  {noise({10, 300, 20}, 1)});
}
