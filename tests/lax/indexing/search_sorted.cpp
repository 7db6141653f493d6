// tests/lax/indexing/search_sorted.cpp: the places of numbers in a sorted line are those that the standard library finds.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/search_sorted.hpp>
#include <tokamax/lax/sort.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/contains.hpp"

#include <algorithm>
#include <limits>
#include <vector>

using namespace tokamax;
using namespace tokamax::test;

namespace {
const words left = pack(search_sorted_options{}), right = pack(search_sorted_options{true});
}  // namespace

TEST_CASE("search_sorted keeps the contract") {
  const array line = sort(noise({13}, 1)), x = noise({4, 5}, 2);
  check_op(search_sorted_p, {{{line, x}, left}, {{line, x}, right}, {{zeros({0}), x}, left}, {{zeros({1}), x}, right}});
}

TEST_CASE("the places of numbers of every kind do not depend on threads, addresses or strides") {
  for (const bool behind : {false, true})
    for (const dtype t : {f32, f64, bf16, f16, i32, i8, u8, bool_})
      check_adversarial([=](const arrays& x) -> arrays { return search_sorted(x[0], x[1], {behind}); },
                        {sort(astype(noise({37}, 3) * 9.0f, t)), astype(noise({3, 50}, 4) * 9.0f, t)});
}

TEST_CASE("numbers are found in lines of all lengths") {
  for (const std::int64_t n : {1, 2, 3, 4, 7, 8, 9, 63, 64, 65, 1000})
    for (const bool behind : {false, true}) {
      array line = sort(astype(noise({n}, 5) * 8.0f, i32)), x = astype(noise({20001}, 6) * 12.0f, i32);
      const auto* const begin = line.data<std::int32_t>();
      const array found = search_sorted(line, x, {behind});
      for (std::int64_t i = 0; i < x.size(); ++i) {
        const std::int32_t v = x.data<std::int32_t>()[i];
        const auto* const at = behind ? std::upper_bound(begin, begin + n, v) : std::lower_bound(begin, begin + n, v);
        if (found.data<std::int32_t>()[i] != at - begin) FAIL(n << " elements, " << v);
      }
    }
}

TEST_CASE("NaN stands behind all numbers, and infinities at the ends") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const array line = array::from<float>({-inf, -0.0f, 0.0f, 1, inf, nan, nan});
  const array x = array::from<float>({-inf, 0.0f, -0.0f, 0.5f, inf, nan});
  const auto places = [&](bool behind) {
    const array found = search_sorted(line, x, {behind});
    const auto numbers = found.values<std::int32_t>();
    return std::vector(numbers.begin(), numbers.end());
  };
  CHECK(places(false) == std::vector<std::int32_t>{0, 1, 1, 3, 4, 5});
  CHECK(places(true) == std::vector<std::int32_t>{1, 3, 3, 3, 5, 7});
}

TEST_CASE("search_sorted takes a line of numbers like those it searches for") {
  CHECK_THROWS_WITH(search_sorted(zeros({2, 2}), zeros({3})), contains("search_sorted: sorted"));
  CHECK_THROWS_WITH(search_sorted(zeros({2}, i32), zeros({3})), contains("search_sorted: operand"));
}
