// tests/lax/elementwise/compare.cpp: comparisons, logic and select.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/compare.hpp>
#include <tokamax/lax/elementwise/unary.hpp>
#include <tokamax/numpy/where.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
array flags(std::initializer_list<bool> v, const shape& s) { return array::from<bool>(v, s); }
}  // namespace

TEST_CASE("comparisons keep the contract in every dtype") {
  for (const op* o : {&eq_p, &ne_p, &lt_p, &le_p, &gt_p, &ge_p}) {
    check_op(*o, {{{array::from<float>({1, 2, 3, -1}), array::from<float>({1, 3, 2, -1})}},
                  {{array::from<std::int32_t>({1, -2, 3}), array::from<std::int32_t>({1, 2, -3})}},
                  {{astype(array::from<float>({1, 2, 3}), bf16), astype(array::from<float>({1, 3, 2}), bf16)}},
                  {{array::from<std::uint32_t>({1, 4000000000u}), array::from<std::uint32_t>({2, 1})}}});
  }
}

TEST_CASE("every comparison with NaN but != is false") {
  check_golden("eq", [](const arrays& x) -> arrays { return x[0] == x[1]; }, 2);
  check_golden("ne", [](const arrays& x) -> arrays { return x[0] != x[1]; }, 2);
  check_golden("lt", [](const arrays& x) -> arrays { return x[0] < x[1]; }, 2);
  check_golden("le", [](const arrays& x) -> arrays { return x[0] <= x[1]; }, 2);
  check_golden("gt", [](const arrays& x) -> arrays { return x[0] > x[1]; }, 2);
  check_golden("ge", [](const arrays& x) -> arrays { return x[0] >= x[1]; }, 2);
}

TEST_CASE("logic works on truth values and takes numbers as such") {
  const array a = flags({true, true, false, false}, {4}), b = flags({true, false, true, false}, {4});
  check_op(logical_and_p, {{{a, b}}});
  check_op(logical_or_p, {{{a, b}}});
  check_op(logical_not_p, {{{a}}});
  const array numbers = array::from<float>({0, 0.5f, -3});
  check_values([](const arrays& x) -> arrays { return logical_and(x[0], logical_not(x[0] < 0)); }, {numbers});
  check_values([](const arrays& x) -> arrays { return logical_or(x[0] == x[1], x[0] < x[1]); }, {a, b});  // bool orders
}

TEST_CASE("select keeps the contract, broadcasts and promotes") {
  const array c = flags({true, false, false, true, true, false}, {2, 3});
  check_op(select_p,
           {{{c, noise({2, 3}, 1), noise({2, 3}, 5)}}, {{c, noise({2, 3}, 1, bf16), noise({2, 3}, 5, bf16)}}});
  check_function([](const arrays& x) -> arrays { return where(x[0], x[1], x[2]); },
                 {c, noise({3}, 1), noise({2, 1}, 2)});
  static_assert(select(array(array_type{bool_, false, {2}}), 1, array(array_type{bf16, false, {3, 1}})).type() ==
                array_type{bf16, false, {3, 2}});
}

TEST_CASE("a select of two branches of which one is NaN has a gradient of the other only where it is taken") {
  check_golden("where_nan", [](const arrays& x) -> arrays { return select(x[0] > 0.0f, sqrt(x[0]), 0.0f); });
}

TEST_CASE("wrong conditions and branches are rejected") {
  const array x = zeros({2}), y = zeros({3});
  CHECK_THROWS_WITH(bind(select_p, {x, x, x}, words{}, location{}),
                    contains("select: condition: found f32[2], expected bool[2]"));
  CHECK_THROWS_WITH(select(flags({true, false}, {2}), x, y), contains("select: shapes"));
  CHECK_THROWS_WITH(bind(logical_not_p, {x}, words{}, location{}), contains("logical_not: dtype"));
}
