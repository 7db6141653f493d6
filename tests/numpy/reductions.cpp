// tests/numpy/reductions.cpp: reductions give what jax.numpy gives.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;

case_functions reductions() {
  return {
      {"sum", [](const arrays& x, options o) -> arrays { return sum(x[0], o.reduction()); }},
      {"max", [](const arrays& x, options o) -> arrays { return max(x[0], o.reduction()); }},
      {"min", [](const arrays& x, options o) -> arrays { return min(x[0], o.reduction()); }},
      {"mean", [](const arrays& x, options o) -> arrays { return mean(x[0], o.reduction()); }},
      {"var", [](const arrays& x, options o) -> arrays { return var(x[0], o.reduction()); }},
      {"all", [](const arrays& x, options o) -> arrays { return all(x[0], o.reduction()); }},
      {"any", [](const arrays& x, options o) -> arrays { return any(x[0], o.reduction()); }},
      {"argmax", [](const arrays& x, options o) -> arrays { return argmax(x[0], o.axis(-1)); }},
      {"argmin", [](const arrays& x, options o) -> arrays { return argmin(x[0], o.axis(-1)); }},
  };
}
}  // namespace

TEST_CASE("reductions are those of jax.numpy") { check_cases("numpy/reductions.txt", reductions()); }
