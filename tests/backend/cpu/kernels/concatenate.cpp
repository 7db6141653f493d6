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

TEST_CASE("single elements of several operands are dealt out in turns") {
  for (const dtype t : {i8, bf16, f32, f64})
    for (const std::int64_t n : {1, 3, 4, 5, 40003}) {
      const array x = astype(noise({n, 1}, 1) * 50, t), y = astype(noise({n, 1}, 2) * 50, t);
      check_threads([](const arrays& v) -> arrays { return concatenate({v[0], v[1], v[0], v[0]}, 1); }, {x, y});
      check_threads([](const arrays& v) -> arrays { return concatenate({v[1], v[0], v[1], v[1], v[0], v[0]}, 1); },
                    {x, y});
    }
}
