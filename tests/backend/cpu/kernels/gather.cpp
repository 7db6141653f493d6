// tests/backend/cpu/kernels/gather.cpp: wide and narrow rows by index, on any number of threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/gather.hpp>

#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("rows of any width") {
  for (std::int64_t m : {1, 5, 768}) {
    const array i = astype(noise({333}, 1) * 30.0f + 25.0f, i32);  // some outside of the 50 rows
    check_threads([](const arrays& x) -> arrays { return scatter_add(x[0], x[1], 50); }, {i, noise({333, m}, 2)});
    check_threads([](const arrays& x) -> arrays { return scatter_add(x[0], x[1], 50); }, {i, noise({333, m}, 2, bf16)});
    check_threads([](const arrays& x) -> arrays { return scatter_add(x[2], x[0], x[1]); },
                  {i, noise({333, m}, 2), noise({50, m}, 4)});
    const array inside = astype(noise({333}, 1) * 24.0f + 25.0f, i32);
    check_threads([](const arrays& x) -> arrays { return gather(x[0], x[1]); }, {noise({50, m}, 3), inside});
  }
}

TEST_CASE("what lies outside is filled by dtype") {
  const array i = array::from<std::int32_t>({7});
  CHECK(gather(zeros({2}, i32), i).item<int>() == std::numeric_limits<int>::lowest());
  CHECK(gather(zeros({2}, u32), i).item<std::uint32_t>() == 0xffffffffu);
  CHECK(gather(zeros({2}, bool_), i).item<bool>());
}
