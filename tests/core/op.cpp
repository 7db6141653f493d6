// tests/core/op.cpp: calls of ops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/op.hpp>

#include "support/contains.hpp"

using namespace tokamax;

TEST_CASE("a call rejects with its op, what it found and expected, and the line") {
  const array x(array_type{f32, false, {2}});
  const call c{.inputs = &x, .count = 1, .where = std::source_location::current()};
  CHECK_THROWS_WITH(c.fail("some op: shape", x.type(), "f32[3]"),
                    contains("some op: shape: found f32[2], expected f32[3]") && contains("op.cpp"));
  CHECK(c.needs(0));
  CHECK(c.batched(0));
}
