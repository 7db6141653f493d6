// tests/ops/piecewise_activations.cpp: activations and their gradients are those of jax.nn.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/ops/piecewise_activations.hpp>
#include <tokamax/ops/standardize.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;

case_functions activations() {
  case_functions table;
  using activation = array (*)(const array&, source_line);
  const std::pair<const char*, activation> functions[] = {
      {"identity", identity},
      {"hard_tanh", hard_tanh},
      {"hard_sigmoid", hard_sigmoid},
      {"hard_silu", hard_silu},
      {"mish", mish},
      {"hard_swish", hard_swish},
      {"swish", swish},
      {"relu", relu},
      {"soft_sign", soft_sign},
      {"sparse_plus", sparse_plus},
      {"relu6", relu6},
      {"silu", silu},
      {"sparse_sigmoid", sparse_sigmoid},
      {"selu", selu},
      {"softplus", softplus},
      {"log_sigmoid", log_sigmoid},
      {"sigmoid", sigmoid},
      {"log1mexp", log1mexp},
  };
  for (const auto& [name, f] : functions)
    table[name] = [f = f](const arrays& x, options) -> arrays { return f(x[0], source_line::current()); };
  table["celu"] = [](const arrays& x, options) -> arrays { return celu(x[0]); };
  table["squareplus"] = [](const arrays& x, options) -> arrays { return squareplus(x[0]); };
  table["gelu"] = [](const arrays& x, options) -> arrays { return gelu(x[0]); };
  table["elu"] = [](const arrays& x, options) -> arrays { return elu(x[0]); };
  table["leaky_relu"] = [](const arrays& x, options) -> arrays { return leaky_relu(x[0]); };
  table["glu"] = [](const arrays& x, options o) -> arrays { return glu(x[0], o.axis(-1)); };
  table["logmeanexp"] = [](const arrays& x, options o) -> arrays { return logmeanexp(x[0], o.reduction()); };
  table["standardize"] = [](const arrays& x, options o) -> arrays {
    const standardize_options how{o.flag("all")   ? every_axis
                                  : o.has("axis") ? axes(o.list("axis"))
                                                  : axes{-1},
                                  o.number("epsilon", 1e-5)};
    if (x.count() == 3) return standardize(x[0], x[1], x[2], how.epsilon);
    return x.count() == 2 ? standardize(x[0], x[1], how) : standardize(x[0], how);
  };
  return table;
}
}  // namespace

TEST_CASE("activations are those of jax.nn") { check_cases("ops/activations.txt", activations()); }

TEST_CASE("logmeanexp of many f16 is their mean") {
  const tokamax::array y = tokamax::logmeanexp(tokamax::full({100000}, 2.0f, tokamax::f16));
  CHECK(y.dtype() == tokamax::f16);
  CHECK(tokamax::astype(y, tokamax::f32).item() == 2);
}
