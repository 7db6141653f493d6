// tests/transforms/control_flow/fori_loop.cpp: loops over integers.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/transforms/control_flow/fori_loop.hpp>
#include <tokamax/transforms/vmap.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
arrays powers(const arrays& a, std::int64_t lower, std::int64_t upper) {
  return fori_loop(
      lower, upper, [](const array& i, const array& c) { return c * 1.5f + astype(i, f32) * sin(c); }, a[0]);
}
}  // namespace

TEST_CASE("a loop with known bounds keeps the contract, with derivatives; one without steps is the identity") {
  for (const auto& [lower, upper] : {std::pair{-1, 3}, std::pair{2, 2}, std::pair{3, -1}})
    check_function([=](const arrays& a) { return powers(a, lower, upper); }, {noise({3}, 1)}, {.tolerance = 1e-5});
  const auto add = [](const array& i, const array& c) { return c + astype(i, f32); };
  CHECK(fori_loop(2, 6, add, array(0.0f)).item() == 14.0f);
  CHECK(fori_loop(-3, 1, add, array(0.0f)).item() == -6.0f);
}

TEST_CASE("bounds may be arrays, one for each example") {
  const auto f = [](const arrays& a) -> arrays {
    return fori_loop(a[0], a[1], [](const array& i, const array& c) { return c + astype(i, f32); }, a[2]);
  };
  check_function(f, {array(2), array(6), noise({3}, 1)}, {.differentiate = false});
  check_function(f, {array(6), array(2), noise({3}, 1)}, {.differentiate = false});
  CHECK(f({array(2), array(6), array(0.0f)})[0].item() == 14.0f);
}

TEST_CASE("bounds that are no integers are rejected") {
  const auto same = [](const array&, const array& c) { return c; };
  CHECK_THROWS_WITH(fori_loop(array(0.5f), array(3), same, noise({3}, 1)),
                    contains("fori_loop: bound: found f32[], expected an integer scalar"));
  CHECK_THROWS_WITH(fori_loop(array(0), array::from<std::int32_t>({1, 2}), same, noise({3}, 1)),
                    contains("fori_loop: bound: found i32[2]"));
  CHECK_THROWS_WITH(fori_loop(0, std::int64_t{1} << 31, same, noise({3}, 1)), contains("fori_loop: bound"));
}
