// tests/backend/cpu/kernels/argmax.cpp: first extremes along rows and columns.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/argmax.hpp>

#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("argmax and argmin along every axis") {
  for (int axis : {0, 1, 2})
    check_threads([=](const arrays& x) -> arrays { return {argmax(x[0], axis), argmin(x[0], axis)}; },
                  {noise({5, 37, 6}, 1)});
  check_threads([](const arrays& x) -> arrays { return {argmax(x[0]), argmin(x[0])}; }, {noise({3, 40000}, 2)});
  check_threads([](const arrays& x) -> arrays { return {argmax(x[0]), argmin(x[0])}; },
                {astype(noise({6, 500}, 3) * 5.0f, i32)});
  check_threads([](const arrays& x) -> arrays { return argmax(x[0]); }, {noise({4, 33}, 3, bf16)});
}
