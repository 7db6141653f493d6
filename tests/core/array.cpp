// tests/core/array.cpp: abstract, traced, literal and concrete arrays.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/array.hpp>
#include <tokamax/lax/arithmetic.hpp>

#include "support/contains.hpp"

using namespace tokamax;

namespace {
static_assert(!array().exists());
static_assert(array(array_type{f32, false, {2}}).is_abstract());
static_assert(array(2.5f).is_literal() && array(2.5f).type().weak && array(2.5f).dtype() == f32);
static_assert(array(2).dtype() == i32 && array(2).type().weak);
static_assert(array(true).dtype() == bool_ && !array(true).type().weak);
static_assert(array(array_type{f32, false, {2, 3}}).extent(-1) == 3);
}  // namespace

TEST_CASE("an array holds a copy of the values it is made from") {
  const array a = array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(a.is_concrete());
  CHECK(a.size() == 6);
  CHECK(a.values<float>()[4] == 5);
  CHECK(array::from<std::int32_t>({7}, {}).item<int>() == 7);
  CHECK(array::from<bool>({true}).item<bool>());
  CHECK(array::from<std::int8_t>({-128}).item<int>() == -128);
  CHECK(astype(array::from<float>({1.5f}), bf16).item() == 1.5f);
  CHECK(array::from<float>({}, {0, 3}).values<float>().empty());
}

TEST_CASE("copies share data, and operations make new arrays") {
  const array a = array::from<float>({1, 2});
  const array b = a;  // NOLINT: the copy is what is tested
  CHECK(a.storage().get() == b.storage().get());
  const array c = a + 1.0f;
  CHECK(a.values<float>()[0] == 1);
  CHECK(c.values<float>()[0] == 2);
}

TEST_CASE("a literal gets data when it is asked for") {
  for (const dtype t : {bool_, i8, i32, u32, bf16, f32}) {
    array a(1.0, {t, false, {3}});
    CHECK(a.is_literal());
    a.materialize();
    CHECK(!a.is_literal());
    CHECK(a.is_concrete());
  }
  CHECK(array(0.25, {f32, false, {2}}).values<float>()[1] == 0.25f);
  CHECK(array(4294967295.0, {u32, false, {}}).item<std::uint32_t>() == 4294967295u);
}

TEST_CASE("wrong uses are refused with what was found and expected") {
  CHECK_THROWS_WITH(array::from<float>({1, 2, 3}, {2, 2}),
                    contains("array::from: number of values: found 3, expected f32[2,2]"));
  CHECK_THROWS_WITH(array::from<float>({1, 2}).item(), contains("item: number of elements: found f32[2]"));
  CHECK_THROWS_WITH(array::from<float>({1}).values<std::int32_t>(),
                    contains("data: element type: found i32, expected f32"));
  CHECK_THROWS_WITH(array(array_type{f32, false, {2}}).values<float>(),
                    contains("data: array without data: found f32[2] (abstract)"));
  graph g;
  const array traced(&g, g.input({f32, false, {2}}), {f32, false, {2}});
  CHECK_THROWS_WITH(traced.values<float>(), contains("(traced)"));
}
