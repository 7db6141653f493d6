// tests/lax/stop_gradient.cpp: markers leave values alone.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/arithmetic.hpp>
#include <tokamax/lax/stop_gradient.hpp>

#include "support/check_op.hpp"

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("variable and optimization_barrier are identities with identity derivatives") {
  check_op(variable_p, {{{noise({2, 3}, 1)}}});
  check_op(optimization_barrier_p, {{{noise({2, 3}, 1)}}});
  check_function([](const arrays& x) -> arrays { return optimization_barrier(x[0] * x[0]) * x[0]; }, {noise({4}, 1)});
}

TEST_CASE("stop_gradient keeps the value and drops the derivative") {
  const function f = [](const arrays& x) -> arrays { return x[0] * stop_gradient(x[0] * x[0]); };
  const array x = noise({4}, 1), ct = noise({4}, 2);
  check_values(f, {x});
  const arrays in{x, ct};
  const arrays g = execute_graph(trace(vjp_of(f, 1), types_of({x, ct})), in);
  CHECK(difference(to_values(g), to_values(arrays{ct * x * x}), 1e-6) == "");
  const arrays t = execute_graph(trace(jvp_of(f, 1), types_of({x, ct})), in);
  CHECK(difference(to_values(t), to_values(arrays{ct * x * x}), 1e-6) == "");
  CHECK(stop_gradient(x).storage().get() == x.storage().get());
}
