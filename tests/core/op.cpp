// tests/core/op.cpp: option records as attribute words.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/op.hpp>

#include "support/contains.hpp"

using namespace tokamax;

namespace {
enum class mode { slow, fast };
struct options {
  std::int64_t rows = 0;
  bool causal = false;
  mode how = mode::slow;
  double scale = 0;
  shape extents;
  axes empty;
  dtype type = dtype::none;
};
constexpr options sample{-7, true, mode::fast, -0.125, {2, dyn(), 3}, {}, bf16};

constexpr bool returns() {
  const words w = pack(sample);
  const options o = unpack<options>(w.data());
  return o.rows == -7 && o.causal && o.how == mode::fast && o.scale == -0.125 && o.extents == shape{2, dyn(), 3} &&
         o.empty.rank() == 0 && o.type == bf16;
}
static_assert(returns());
static_assert(pack(sample).count() == 6 + 3 + 1);
}  // namespace

TEST_CASE("a call rejects with its op, what it found and expected, and the line") {
  const array x(array_type{f32, false, {2}});
  const call c{.inputs = &x, .count = 1, .where = std::source_location::current()};
  CHECK_THROWS_WITH(c.fail("some op: shape", x.type(), "f32[3]"),
                    contains("some op: shape: found f32[2], expected f32[3]") && contains("op.cpp"));
  CHECK(c.needs(0));
  CHECK(c.batched(0));
}
