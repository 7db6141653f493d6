// tests/lax/indexing/dynamic_slice.cpp: boxes whose place is a value.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/dynamic_slice.hpp>

#include "support/adversarial.hpp"
#include "support/check_op.hpp"
#include "support/golden.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
array number(int i) { return array::from<std::int32_t>({i}, {}); }
}  // namespace

TEST_CASE("dynamic slices keep the contract") {
  check_op(dynamic_slice_p, {{{noise({4, 5}, 1), number(1), number(2)}, pack(dynamic_slice_options{{2, 3}, 0})},
                             {{noise({4, 5}, 1), number(3), number(-2)}, pack(dynamic_slice_options{{2, 5}, 0})},
                             {{noise({6}, 1, bf16), number(9)}, pack(dynamic_slice_options{{2}, 0})}});
  check_op(dynamic_update_slice_p,
           {{{noise({4, 5}, 1), noise({2, 3}, 2), number(1), number(2)}, pack(dynamic_slice_options{{2, 3}, 0})},
            {{noise({4, 5}, 1), noise({1, 5}, 2), number(-1), number(0)}, pack(dynamic_slice_options{{1, 5}, 0})}});
}

TEST_CASE("starts are clamped as in JAX, literal or not") {
  const std::pair<const char*, int> cases[] = {{"minus7", -7}, {"minus1", -1}, {"0", 0}, {"2", 2}, {"3", 3}, {"9", 9}};
  for (const auto& [name, at] : cases) {
    const int start = at;
    check_golden(std::string("dynamic_slice_") + name,
                 [=](const arrays& x) -> arrays { return dynamic_slice(x[0], {start}, {3}); });
    check_golden(
        std::string("dynamic_update_slice_") + name,
        [=](const arrays& x) -> arrays { return dynamic_update_slice(x[0], x[1], {number(start)}); }, 2);
  }
}

TEST_CASE("one axis at a time") {
  check_function([](const arrays& x) -> arrays { return dynamic_index_in_dim(x[0], x[1], 1, false); },
                 {noise({2, 3, 4}, 1), number(2)});
  check_function([](const arrays& x) -> arrays { return dynamic_update_slice_in_dim(x[0], x[1], x[2], -1); },
                 {noise({2, 3}, 1), noise({2, 1}, 2), number(1)});
  CHECK(dynamic_slice_in_dim(zeros({4, 5}), 1, 2, 1).shape() == shape{4, 2});
}

TEST_CASE("boxes that do not fit are rejected") {
  CHECK_THROWS_WITH(dynamic_slice(zeros({2, 3}), {0, 0}, {2, 4}),
                    contains("dynamic_slice: sizes: found [2,4], expected inside f32[2,3]"));
  CHECK_THROWS_WITH(dynamic_slice(zeros({2, 3}), {0}, {2, 2}), contains("dynamic_slice: starts"));
  CHECK_THROWS_WITH(dynamic_update_slice(zeros({2, 3}), zeros({3, 3}), {0, 0}),
                    contains("dynamic_update_slice: update"));
}

TEST_CASE("special values keep their bits when cut out and put in") {
  for (const std::int32_t start : {-5, 1, 99, 0x7fffffff, -0x7fffffff - 1})
    for (const dtype t : every_dtype)
      check_adversarial(
          [](const arrays& x) -> arrays {
            return {dynamic_slice(x[0], {x[2], x[2]}, {7, 5}), dynamic_update_slice(x[0], x[1], {x[2], x[2]})};
          },
          {adversarial({83, 37}, 3, t), adversarial({7, 5}, 1, t), number(start)});
}
