// tests/backend/cpu/kernels/pad.cpp: padding around, between and below zero.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/pad.hpp>

#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("amounts of every sign") {
  const struct {
    shape s;
    pad_options o;
  } cases[] = {{{4, 3}, {{-1, 0}, {2, -1}, {0, 1}}},
               {{4, 3}, {{1, 2}, {0, 1}, {2, 1}}},
               {{4, 3}, {{-2, 1}, {1, -2}, {1, 2}}},
               {{2, 5, 6, 3}, {{0, 1, 2, 0}, {0, 1, -1, 0}, {0, 0, 0, 0}}},
               {{5}, {{-3}, {-1}, {1}}},
               {{3, 4}, {{2, 0}, {1, 0}, {0, 0}}},
               {{200, 300}, {{1, 2}, {3, 4}, {1, 0}}},
               {{0, 3}, {{2, 0}, {1, 0}, {0, 0}}},
               {{4}, {{-9}, {8}, {0}}}};
  for (const auto& c : cases)
    for (dtype t : {f32, bf16})
      check_threads([&](const arrays& x) -> arrays { return pad(x[0], 9.0, c.o.low, c.o.high, c.o.interior); },
                    {noise(c.s, 1, t)});
}
