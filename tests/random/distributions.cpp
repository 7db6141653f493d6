// tests/random/distributions.cpp: samples have JAX's random bits.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/random/distributions.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;
using random::key;

namespace {
using options = const case_options&;

case_functions samplers() {
  case_functions table;
  using plain = array (*)(const key&, const shape&, dtype, source_line);
  using with_parameter = array (*)(const key&, const array&, const shape&, dtype, source_line);
  const std::pair<const char*, plain> functions[] = {{"cauchy", random::cauchy},
                                                     {"laplace", random::laplace},
                                                     {"logistic", random::logistic},
                                                     {"maxwell", random::maxwell}};
  for (const auto& [name, f] : functions)
    table[name] = [f = f](const arrays& x, options o) -> arrays {
      return f(key(x[0]), o.list("shape"), o.type("dtype", f32), source_line::current());
    };
  const std::pair<const char*, with_parameter> others[] = {{"lognormal", random::lognormal},
                                                           {"pareto", random::pareto},
                                                           {"rayleigh", random::rayleigh},
                                                           {"wald", random::wald}};
  for (const auto& [name, f] : others)
    table[name] = [f = f](const arrays& x, options o) -> arrays {
      return f(key(x[0]), x[1], o.list("shape"), f32, source_line::current());
    };
  table["rademacher"] = [](const arrays& x, options o) -> arrays {
    return random::rademacher(key(x[0]), o.list("shape"));
  };
  table["geometric"] = [](const arrays& x, options o) -> arrays {
    return random::geometric(key(x[0]), x[1], o.list("shape"));
  };
  table["weibull_min"] = [](const arrays& x, options o) -> arrays {
    return random::weibull_min(key(x[0]), x[1], x[2], o.list("shape"));
  };
  table["double_sided_maxwell"] = [](const arrays& x, options o) -> arrays {
    return random::double_sided_maxwell(key(x[0]), x[1], x[2], o.list("shape"));
  };
  table["triangular"] = [](const arrays& x, options o) -> arrays {
    return random::triangular(key(x[0]), x[1], x[2], x[3], o.list("shape"));
  };
  table["choice"] = [](const arrays& x, options o) -> arrays {
    return random::choice(key(x[0]), x[1], o.list("shape"), o.flag("replace", true), o.axis(0));
  };
  return table;
}
}  // namespace

TEST_CASE("samples of distributions are those of jax.random") { check_cases("random/samples.txt", samplers()); }

TEST_CASE("a Rayleigh sample is finite where the uniform one is 0") {
  const array x = random::rayleigh(random::key(1), array(2.0f), {1 << 12}, bf16);  // u has 128 values
  CHECK(min(random::uniform(random::key(1), {1 << 12}, bf16)).item<bfloat16>() == bfloat16(0.0f));
  CHECK(all(isfinite(x)).item<bool>());
}

TEST_CASE("double_sided_maxwell takes parameters that broadcast to its shape") {
  const random::key one(1);
  const array loc = zeros({3}), scale = ones({2, 1});
  CHECK(random::double_sided_maxwell(one, loc, scale).shape() == shape{2, 3});
  CHECK(random::double_sided_maxwell(one, loc, scale, {4, 2, 3}).shape() == shape{4, 2, 3});
  CHECK_THROWS_WITH(random::double_sided_maxwell(one, loc, scale, {2, 2}), contains("double_sided_maxwell: shape"));
}
