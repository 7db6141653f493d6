// tests/random/distributions.cpp: samples have JAX's random bits.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/indexing/index.hpp>
#include <tokamax/numpy/indexing/at.hpp>
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
    return random::choice(key(x[0]), x[1], o.list("shape"), {.replace = o.flag("replace", true), .axis = o.axis(0)});
  };
  return table;
}
}  // namespace

TEST_CASE("samples of distributions are those of jax.random") { check_cases("random/samples.txt", samplers()); }

TEST_CASE("parameters that are arrays give each element a draw of its own") {
  const key k(3);
  const array p = full({200}, 0.5f);
  const auto differ = [](const array& x) {  // how many elements are unlike the first one
    const array y = astype(x, f32);
    return sum(astype(y != y[0], f32)).item();
  };
  CHECK(differ(random::lognormal(k, p)) > 150);
  CHECK(differ(random::pareto(k, p)) > 150);
  CHECK(differ(random::rayleigh(k, p)) > 150);
  CHECK(differ(random::wald(k, p)) > 150);
  CHECK(differ(random::weibull_min(k, p, 2.0)) > 150);
  CHECK(differ(random::triangular(k, 0.0, p, 1.0)) > 150);
  CHECK(differ(random::geometric(k, p)) > 50);
  CHECK(random::pareto(k, ones({3, 1}), {3, 2}).shape() == shape{3, 2});
  CHECK(random::pareto(k, 2.0).rank() == 0);
  CHECK_THROWS_WITH(random::pareto(k, p, {2}), contains("pareto: shape"));
}

TEST_CASE("choice follows its probabilities") {
  const key k(5);
  const array x = array::from<float>({10, 20, 30, 40, 50, 60, 70, 80}, {4, 2});
  const array p = array::from<float>({0, 3, 0, 1});
  const array drawn = random::choice(k, x, {4000}, {.p = p})(whole, 0);
  CHECK(all(logical_or(drawn == 30.0f, drawn == 70.0f)).item<bool>());
  CHECK(sum(astype(drawn == 30.0f, f32)).item() == Approx(3000).margin(120));
  const array twice = random::choice(k, x, {2}, {.p = p, .replace = false})(whole, 0);
  CHECK(sum(twice).item() == 100);  // each of the two with positive p once
  CHECK(random::choice(k, x, {3, 5}, {.p = ones({2}), .axis = 1}).shape() == shape{4, 3, 5});
  CHECK(random::choice(k, x, {0}, {.p = p}).shape() == shape{0, 2});
  CHECK(random::choice(k, zeros({0}), {0}, {.p = zeros({0})}).size() == 0);
  // the order without replacement prefers large p
  const array order =
      random::choice(k, arange(3), {3}, {.p = array::from<float>({1e-20f, 1, 1e-10f}), .replace = false});
  CHECK(bit_difference({order}, {array::from<std::int32_t>({1, 2, 0})}) == "");
  CHECK_THROWS_WITH(random::choice(k, x, {1}, {.p = ones({3})}),
                    contains("choice: p: found f32[3], expected floats [4]"));
  CHECK_THROWS_WITH(random::choice(k, x, {1}, {.p = ones({4}, i32)}), contains("choice: p"));
  CHECK_THROWS_WITH(random::choice(k, zeros({0}), {1}, {.p = zeros({0})}), contains("choice: number"));
}

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
