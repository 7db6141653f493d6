// tests/compiler/passes/views.cpp: strides under which memory is seen without moving it.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/compiler/passes/views.hpp>
#include <tokamax/lax/shapes/reshape.hpp>

#include "support/catch.hpp"
#include "support/reference.hpp"

using namespace tokamax;

namespace {
constexpr bool becomes(const shape& from, const shape& strides, const shape& to, const shape& expected) {
  shape s;
  return reshape_strides(from, strides, to, s) && s == expected;
}
constexpr bool must_move(const shape& from, const shape& strides, const shape& to) {
  shape s;
  return !reshape_strides(from, strides, to, s);
}
static_assert(is_row_major({2, 1, 4}, {4, 77, 1}));
static_assert(!is_row_major({2, 4}, {1, 2}));
static_assert(becomes({6}, {1}, {2, 3}, {3, 1}));
static_assert(becomes({2, 3}, {3, 1}, {6}, {1}));
static_assert(becomes({6}, {2}, {2, 3}, {6, 2}));  // every other element, split
static_assert(becomes({2, 3, 4}, {12, 4, 1}, {6, 4}, {4, 1}));
static_assert(becomes({4, 6}, {1, 4}, {4, 2, 3}, {1, 12, 4}));  // a transposed array, its second axis split
static_assert(becomes({2, 3}, {3, 1}, {1, 2, 1, 3}, {0, 3, 0, 1}));
static_assert(becomes({1, 3}, {9, 1}, {3}, {1}));
static_assert(becomes({3, 4}, {0, 1}, {3, 2, 2}, {0, 2, 1}));  // a broadcast axis stays one
static_assert(becomes({}, {}, {1, 1}, {0, 0}));
static_assert(must_move({4, 6}, {1, 4}, {24}));   // a transposed array, flat
static_assert(must_move({3, 4}, {0, 1}, {12}));   // repeated rows, flat
static_assert(must_move({4, 6}, {12, 1}, {24}));  // a slice of wider rows, flat
static_assert(must_move({4, 6}, {1, 4}, {6, 4}));
}  // namespace

TEST_CASE("a reshape that need not move reaches the same elements in the same order") {
  const shape shapes[] = {{24}, {4, 6}, {6, 4}, {2, 12}, {2, 3, 4}, {3, 8}, {2, 2, 6}, {1, 24}, {2, 2, 2, 3}};
  const auto walk = [](const shape& extents, const shape& strides) {
    std::vector<std::int64_t> offsets;
    test::for_each_place(extents, [&](const shape& at, std::size_t) {
      std::int64_t o = 0;
      for (int i = 0; i < at.rank(); ++i) o += at[i] * strides[i];
      offsets.push_back(o);
    });
    return offsets;
  };
  int possible = 0;
  for (const shape& from : shapes)
    for (const shape& to : shapes)
      for (int kind = 0; kind < 3; ++kind) {
        shape strides = row_major(from);
        if (kind == 1)
          for (int i = 0; i < from.rank(); ++i) strides[i] *= 2;
        if (kind == 2) strides[0] = 100;
        shape s;
        if (!reshape_strides(from, strides, to, s)) {
          CHECK(kind == 2);
          continue;
        }
        ++possible;
        CHECK(walk(from, strides) == walk(to, s));
      }
  CHECK(possible > 150);
}

inline constexpr op blind_view_p{.name = "blind_view",
                                 .memory = {.kind = op_kind::view},
                                 .infer = [](const call& c) -> array_type { return c[0].type(); }};

TEST_CASE("a view without a rule is refused") {
  graph g;
  const array_type t{f32, false, {3}};
  const array x(&g, g.input(t), t);
  g.outputs.push_back(bind(blind_view_p, {x}, words{}, location{}).id());
  CHECK_THROWS_WITH(view_table(g), "blind_view: strides: found a view without a rule, expected memory.strides");
}
