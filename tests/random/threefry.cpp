// tests/random/threefry.cpp: the generator's known answers, and its kernel against its meaning in smaller ops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/random/threefry.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("threefry2x32 hashes as published") {
  for (int i = 0; i < 5; ++i) {
    const std::string name = "threefry" + std::to_string(i);
    const array key = golden("random.txt", name + ".in0"), counter = golden("random.txt", name + ".in1"),
                out = golden("random.txt", name + ".out");
    auto word = [](const array& a, std::size_t k) {
      return array::from<std::uint32_t>({a.values<std::uint32_t>()[k]}, {});
    };
    const auto [high, low] =
        tokamax::detail::threefry_rounds(word(key, 0), word(key, 1), word(counter, 0), word(counter, 1));
    CHECK(high.item<std::uint32_t>() == out.values<std::uint32_t>()[0]);
    CHECK(low.item<std::uint32_t>() == out.values<std::uint32_t>()[1]);
  }
}

TEST_CASE("the kernel hashes as the smaller ops do, also over the end of 32 bits") {
  const array keys = array::from<std::uint32_t>({0u, 42u, 5u, 0xfffffff0u}, {2, 2}),
              first = array::from<std::uint32_t>({0xffffffe0u, 7u});
  for (const shape& s : {shape{}, shape{3}, shape{5, 40}})
    for (bool pairs : {false, true}) {
      check_values([&](const arrays& x) -> arrays { return threefry2x32(x[0], x[1], s, pairs); }, {keys, first});
      check_values([&](const arrays& x) -> arrays { return threefry2x32(x[0], zeros({}, u32), s, pairs); },
                   {array::from<std::uint32_t>({1u, 2u})});
    }
}

TEST_CASE("keys of another form are rejected") {
  CHECK_THROWS_WITH(threefry2x32(zeros({3}, u32), zeros({}, u32), {4}, false),
                    contains("random: key: found u32[3], expected u32[2]"));
  CHECK_THROWS_WITH(threefry2x32(zeros({2}), zeros({}, u32), {4}, false), contains("random: key"));
}
