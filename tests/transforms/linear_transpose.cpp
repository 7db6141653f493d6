// tests/transforms/linear_transpose.cpp: transposes of linear functions.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/cumulative.hpp>
#include <tokamax/lax/dot_general.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/numpy/matmul.hpp>
#include <tokamax/runtime/jit.hpp>
#include <tokamax/transforms/control_flow/scan.hpp>
#include <tokamax/transforms/grad.hpp>
#include <tokamax/transforms/linear_transpose.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// <f(x), y> = <x, f^T(y)>
void check_transpose(const auto& f, const array& x) {
  const array y = noise(f(x).shape(), 7), z = linear_transpose(f, array(x.type()))(y);
  CHECK(sum(f(x) * y).item() == Approx(sum(x * z).item()).epsilon(1e-5));
}
}  // namespace

TEST_CASE("the transpose has the inner products of the function") {
  const array a = noise({3, 4}, 1);
  check_transpose([&](const array& x) { return matmul(a, x); }, noise({4}, 2));
  check_transpose([](const array& x) { return cumsum(reshape(x, {6})) * 2.0f; }, noise({2, 3}, 3));
  check_transpose([&](const array& x) { return slice_in_dim(x, 1, 3, 0) * sin(a[0][0]); }, noise({4}, 4));
  check_transpose(
      [&](const array& x) {
        return scan([](const array& c, const array& v) { return std::pair{c * 0.5f + v, c}; }, x[0], x).second;
      },
      noise({4}, 5));
}

TEST_CASE("several arguments, in a trace, and differentiated by what the function closes over") {
  const array a = noise({3, 3}, 1), x = noise({3}, 2);
  const auto [p, q] =
      linear_transpose([&](const array& u, const array& v) { return matmul(a, u) - 3.0f * v; }, x, x)(x);
  CHECK(difference({to_value(p), to_value(q)}, {to_value(matmul(transpose(a), x)), to_value(-3.0f * x)}, 1e-6) == "");
  const auto loss = [&](const array& m) {
    return sum(sin(linear_transpose([&](const array& u) { return matmul(m, u); }, x)(x)));
  };
  const auto same = [&](const array& m) { return sum(sin(matmul(transpose(m), x))); };
  CHECK(difference({to_value(jit(grad(loss), cpu, at_run_time)(a))}, {to_value(grad(same)(a))}, 1e-6) == "");
}

TEST_CASE("linear_transpose: errors") {
  const array x = noise({3}, 1);
  CHECK_THROWS_WITH(linear_transpose([](const array& v) { return v * v; }, x), contains("linear_transpose: function"));
  const auto transposed = linear_transpose([](const array& v) { return 2.0f * v; }, x);
  CHECK_THROWS_WITH(transposed(noise({4}, 1)), contains("linear_transpose: cotangents"));
}
