// tests/backend/cpu/reduce/plan.cpp: axes of one kind that touch become one loop.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/reduce/plan.hpp>

#include "support/catch.hpp"

using tokamax::cpu_backend::detail::reduce_plan;

TEST_CASE("a plan merges axes") {
  const reduce_plan last({2, 3, 4}, {2});
  CHECK(last.inner == 4);
  CHECK(last.inner_reduced);
  CHECK(last.kept.total == 6);
  CHECK(last.kept.count == 1);
  CHECK(last.reduced.total == 1);

  const reduce_plan first({2, 3, 4}, {0});
  CHECK(first.inner == 12);
  CHECK_FALSE(first.inner_reduced);
  CHECK(first.reduced.total == 2);
  CHECK(first.reduced.offset(1) == 12);

  const reduce_plan mixed({5, 1, 6, 7, 3}, {1, 2, 4});
  CHECK(mixed.inner == 3);
  CHECK(mixed.inner_reduced);
  CHECK(mixed.reduced.total == 6);
  CHECK(mixed.kept.total == 35);
  CHECK(mixed.kept.offset(8) == 3 * (1 + 7 * 6));
}

TEST_CASE("values are combined by halves") {
  double v[5] = {1, 10, 100, 1000, 10000};
  tokamax::cpu_backend::detail::combine<tokamax::cpu_backend::detail::sum_of>(v, 5, 1);
  CHECK(v[0] == 11111);
}
