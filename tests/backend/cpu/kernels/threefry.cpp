// tests/backend/cpu/kernels/threefry.cpp: hashes on several threads.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/threefry.hpp>

#include "support/threads.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("threefry: the same bits on any number of threads") {
  check_threads(
      [](const arrays& x) -> arrays {
        return {threefry2x32(x[0], zeros({}, u32), {30000}, false), threefry2x32(x[0], zeros({}, u32), {9000}, true)};
      },
      {array::from<std::uint32_t>({3u, 4u})});
}
