// tests/backend/cpu/kernels/sort.cpp: short and long lines.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/sort.hpp>

#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("sort: the same bits on any number of threads") {
  check_same_bits([](const arrays& x) -> arrays { return {sort(x[0]), argsort(x[0], 0), argsort(x[1])}; },
                  {noise({50, 40}, 1), noise({3, 2000}, 2)});
}
