// tests/backend/cpu/kernels/dynamic_slice.cpp: boxes of every place, alone and in batches.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/kernels/dynamic_slice.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("boxes in batches have a place each") {
  const array x = noise({3, 40, 50}, 1), rows = array::from<std::int32_t>({0, 17, -1}),
              columns = array::from<std::int32_t>({45, 3, 99});
  const function read =
      vmap_of([](const arrays& a) -> arrays { return dynamic_slice(a[0], {a[1], a[2]}, {4, 7}); }, 3, 7u);
  const array y = read({x, rows, columns})[0];
  const std::int64_t at[3][2] = {{0, 43}, {17, 3}, {36, 43}};
  for (int b = 0; b < 3; ++b) {
    const array box = slice(x, {b, at[b][0], at[b][1]}, {b + 1, at[b][0] + 4, at[b][1] + 7});
    CHECK(bit_difference({slice_in_dim(y, b, b + 1, 0)}, {box}) == "");
  }
  const function write =
      vmap_of([](const arrays& a) -> arrays { return dynamic_update_slice(a[0], a[1], {a[2], a[3]}); }, 3, 15u);
  CHECK(bit_difference({write({x, y, rows, columns})[0]}, {x}) == "");
  CHECK(bit_difference({read({write({zeros_like(x), y, rows, columns})[0], rows, columns})[0]}, {y}) == "");
}
