// tests/core/tensor.cpp: arrays whose type is known to the compiler.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/elementwise/arithmetic.hpp>

#include "support/contains.hpp"

using namespace tokamax;

namespace {
using matrix = tensor<f32, 2, 3>;
static_assert(matrix().is_abstract() && matrix().type() == array_type{f32, false, {2, 3}});
static_assert(matrix(matrix() + 1.0f).shape() == shape{2, 3});
static_assert(is_leaf<matrix>);
}  // namespace

TEST_CASE("a tensor takes an array of its type and no other") {
  const matrix m(array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  CHECK((m + m).values<float>()[5] == 12);
  CHECK_THROWS_WITH(matrix(array::from<float>({1, 2}, {2})),
                    contains("tensor: type: found f32[2], expected f32[2,3]") && contains("tensor.cpp"));
  CHECK_THROWS_WITH((tensor<i32, 1>(array::from<float>({1}))), contains("expected i32[1]"));
}
