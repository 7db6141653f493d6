// tests/core/type.cpp: types as text.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/type.hpp>

#include "support/catch.hpp"

using namespace tokamax;

namespace {
static_assert(message(array_type{f32, false, {2, 3}}).view() == "f32[2,3]");
static_assert(message(array_type{bool_, false, {}}).view() == "bool[]");
static_assert(message(array_type{bf16, false, {dyn(), dyn(1, 4)}}).view() == "bf16[n,4o]");
static_assert((message("rows ") << -12 << ' ' << 0).view() == "rows -12 0");
static_assert(array_type{f32, true, {2}} == array_type{f32, false, {2}});  // weakness is no part of equality
}  // namespace

TEST_CASE("a message that does not fit is cut") {
  message t;
  for (int i = 0; i < 100; ++i) t << "abc";
  CHECK(t.length == message::capacity);
  CHECK(message(std::int64_t{0} == 0 ? "x" : "y").view() == "x");
  CHECK((message() << (std::numeric_limits<std::int64_t>::min)()).view() == "-9223372036854775808");
}
