// tests/transforms/eval_shape.cpp: types and graphs of functions, without their values.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/eval_shape.hpp>
#include <tokamax/transforms/grad.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
constexpr auto layer = [](const array& x, const array& w) { return std::pair{tanh(matmul(x, w)), argmax(x)}; };
constexpr array like(const shape& s, dtype t = f32) { return array(array_type{t, false, s}); }
static_assert(eval_shape(layer, like({2, 3}), like({3, 4})).first.shape() == shape{2, 4});
static_assert(eval_shape(layer, tensor<f32, 2, 3>{}, tensor<f32, 3, 4>{}).second.dtype() == i32);
static_assert(make_graph([](const array& x) { return x + x; }, like({3})).count() == 2);
}  // namespace

TEST_CASE("types of a result, of data and of arrays that no memory could hold") {
  const auto [y, at] = eval_shape(layer, noise({2, 3}, 1), noise({3, 4}, 2));
  CHECK(y.type() == array_type{f32, false, {2, 4}});
  CHECK(y.is_abstract());
  CHECK(at.type() == argmax(noise({2, 3}, 1)).type());
  const array huge = like({std::int64_t{1} << 30, std::int64_t{1} << 20});
  CHECK(eval_shape([](const array& x) { return sum(x * 2.0f, {{0}}); }, huge).shape() == shape{1 << 20});
  CHECK(eval_shape(grad([](const array& x) { return sum(x * x); }), huge).shape() == huge.shape());
  CHECK(eval_shape([](const array& x) { return x; }, like({0, 3}, bf16)).type() == array_type{bf16, false, {0, 3}});
}

TEST_CASE("eval_shape inside of traced functions may see their values") {
  using numbers = tensor<f32, 3>;
  constexpr auto f = [](const numbers& x, const numbers& y) {
    const array type = eval_shape([&](const array& a) { return sum(a * y); }, x);
    return ones(type.shape()) + sum(x);
  };
  const numbers x = noise({3}, 1), y = noise({3}, 2);
  const array known = jit(f, cpu, while_compiling)(x, y), late = jit(f, cpu, at_run_time)(x, y);
  CHECK(bit_difference({known}, {late}).empty());
  CHECK(bit_difference({known}, {f(x, y)}).empty());
}

TEST_CASE("a graph has the leaves of arguments and results as inputs and outputs") {
  const graph g = make_graph(layer, noise({2, 3}, 1), noise({3, 4}, 2));
  CHECK(g.inputs.count() == 2);
  CHECK(g.outputs.count() == 2);
  CHECK(g[g.outputs[0]].type == array_type{f32, false, {2, 4}});
}

TEST_CASE("wrong functions are refused as when they run") {
  CHECK_THROWS_WITH(eval_shape(layer, noise({2, 3}, 1), noise({4, 4}, 2)), contains("matmul"));
  CHECK_THROWS_WITH(make_graph(layer, like({2, 3}), like({4, 4})), contains("matmul"));
}
