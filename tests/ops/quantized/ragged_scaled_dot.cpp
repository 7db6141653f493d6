// tests/ops/quantized/ragged_scaled_dot.cpp: the op behind ragged dots of integers, in itself.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/ops/quantized/ragged_scaled_dot.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using tk::array;
using tk::test::noise;

TEST_CASE("ragged_scaled_dot keeps the contract of ops") {
  const auto integers = [](const tk::shape& s, unsigned seed) { return array(astype(noise(s, seed) * 40.0f, tk::i8)); };
  const array sizes = array::from<std::int32_t>({2, 0, 2, 0, 4, 0}, {2, 3}), first = array::from<std::int32_t>({0, 1});
  for (const std::int64_t tiles : {1, 2})
    tk::test::check_op(tk::ragged_scaled_dot_p, {{{integers({2, 5, 8}, 1), integers({2, 3, 8, 4}, 2), sizes, first,
                                                   noise({2, 5, tiles}, 3), noise({2, 3, tiles, 4}, 4)}}});
}

TEST_CASE("ragged_scaled_dot carries special values of scales, on odd and empty extents") {
  const struct {
    std::int64_t m, k, n, tiles;
  } cases[] = {{83, 38, 29, 2}, {1, 257, 61, 1}, {300, 64, 17, 4}, {0, 8, 3, 2}, {3, 8, 0, 1}};
  for (const auto& s : cases) {
    const array sizes = array::from<std::int32_t>({static_cast<std::int32_t>(s.m / 2), 0, 1}, {1, 3});
    tk::test::check_adversarial(
        [&](const tk::arrays& x) -> tk::arrays {
          return bind(tk::ragged_scaled_dot_p, {x[0], x[1], sizes, array::from<std::int32_t>({0}), x[2], x[3]},
                      tk::words{}, tk::location{});
        },
        {tk::test::adversarial({1, s.m, s.k}, 1, tk::i8), tk::test::adversarial({1, 3, s.k, s.n}, 2, tk::i8),
         tk::test::sprinkled({1, s.m, s.tiles}, 3, tk::f32, 1e4), tk::test::noise({1, 3, s.tiles, s.n}, 4)},
        {.tolerance = 5e-6, .floor = 1000});  // tiles of sums to 2.6e5 may cancel
  }
}

TEST_CASE("ragged_scaled_dot refuses operands that do not fit") {
  const array x = noise({6, 32}, 1);
  CHECK_THROWS_WITH(bind(tk::ragged_scaled_dot_p, {x, x, x, x, x, x}, tk::words{}, tk::location{}),
                    contains("ragged_scaled_dot: operands"));
}
