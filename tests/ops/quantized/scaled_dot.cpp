// tests/ops/quantized/scaled_dot.cpp: integers from end to end, and special values among the scales of their sums.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/ops/quantized/scaled_dot.hpp>

#include "support/adversarial.hpp"

namespace tk = tokamax;

TEST_CASE("scaled_dot carries special values of scales, on odd and empty extents") {
  const struct {
    std::int64_t m, k, n, tiles;
  } sizes[] = {{83, 38, 29, 1}, {83, 38, 29, 2}, {1, 257, 61, 1}, {300, 64, 17, 4}, {0, 8, 3, 2}, {3, 8, 0, 1}};
  for (const auto& s : sizes)
    tk::test::check_adversarial(
        [](const tk::arrays& x) -> tk::arrays {
          return bind(tk::scaled_dot_p, {x[0], x[1], x[2], x[3]}, tk::words{}, tk::location{});
        },
        {tk::test::adversarial({2, s.m, s.k}, 1, tk::i8), tk::test::adversarial({2, s.k, s.n}, 2, tk::i8),
         tk::test::sprinkled({2, s.m, s.tiles}, 3, tk::f32, 1e4), tk::test::noise({2, s.tiles, s.n}, 4)},
        {.tolerance = 5e-6, .floor = 1000});  // tiles of sums to 2.6e5 may cancel
}
