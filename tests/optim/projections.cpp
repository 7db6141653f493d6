// tests/optim/projections.cpp: the nearest points of sets.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/optim/projections.hpp>

#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;

case_functions projections() {
  case_functions table;
  table["projection_non_negative"] = [](const arrays& x, options) -> arrays {
    return optim::projection_non_negative(x[0]);
  };
  table["projection_box"] = [](const arrays& x, options o) -> arrays {
    return optim::projection_box(x[0], o.number("lower"), o.number("upper"));
  };
  const auto scaled = [&](const char* name, auto f) {
    table[name] = [f](const arrays& x, options o) -> arrays { return f(x[0], array(o.number("scale", 1))); };
  };
  scaled("projection_hypercube", [](const array& x, const array& s) { return optim::projection_hypercube(x, s); });
  scaled("projection_simplex", [](const array& x, const array& s) { return optim::projection_simplex(x, s); });
  scaled("projection_l1_sphere", [](const array& x, const array& s) { return optim::projection_l1_sphere(x, s); });
  scaled("projection_l1_ball", [](const array& x, const array& s) { return optim::projection_l1_ball(x, s); });
  scaled("projection_l2_sphere", [](const array& x, const array& s) { return optim::projection_l2_sphere(x, s); });
  scaled("projection_l2_ball", [](const array& x, const array& s) { return optim::projection_l2_ball(x, s); });
  scaled("projection_linf_ball", [](const array& x, const array& s) { return optim::projection_linf_ball(x, s); });
  table["projection_vector"] = [](const arrays& x, options) -> arrays { return optim::projection_vector(x[0], x[1]); };
  table["projection_hyperplane"] = [](const arrays& x, options o) -> arrays {
    return optim::projection_hyperplane(x[0], x[1], o.number("b"));
  };
  table["projection_halfspace"] = [](const arrays& x, options o) -> arrays {
    return optim::projection_halfspace(x[0], x[1], o.number("b"));
  };
  return table;
}
}  // namespace

TEST_CASE("projections and their gradients are those of Optax") { check_cases("optim/projections.txt", projections()); }

TEST_CASE("the elements of a tree are one vector") {
  const std::pair x{array::from<float>({3, 1}), array::from<float>({2.5f})};
  const auto [a, b] = optim::projection_simplex(x, 2.0);
  CHECK(distance(a, array::from<float>({1.25f, 0})) < 1e-6);
  CHECK(distance(b, array::from<float>({0.75f})) < 1e-6);
  const auto bounded =
      optim::projection_box(x, std::pair{zeros({2}), zeros({1})}, std::pair{ones({2}), full({1}, 2.0f)});
  CHECK(distance(bounded.second, full({1}, 2.0f)) == 0);
}
