// tests/scipy/random/gamma.cpp: samples that draw until they accept have JAX's numbers, and those of decompositions, too.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/linalg/random.hpp>
#include <tokamax/nn/initializers/orthogonal_initializers.hpp>
#include <tokamax/scipy/random/binomial.hpp>
#include <tokamax/scipy/random/gamma_family.hpp>

#include "support/adversarial.hpp"
#include "support/golden_cases.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;
using random::key;

namespace {
using options = const case_options&;

case_functions samplers() {
  case_functions table;
  using one_parameter = array (*)(const key&, const array&, const shape&, dtype, source_line);
  using two_parameters = array (*)(const key&, const array&, const array&, const shape&, dtype, source_line);
  const std::pair<const char*, one_parameter> of_one[] = {
      {"gamma", random::gamma}, {"loggamma", random::loggamma},   {"chisquare", random::chisquare},
      {"t", random::t},         {"dirichlet", random::dirichlet}, {"poisson", random::poisson}};
  for (const auto& [name, f] : of_one)
    table[name] = [f = f, standard = f == random::poisson ? i32 : f32](const arrays& x, options o) -> arrays {
      return f(key(x[0]), x[1], o.list("shape"), o.type("dtype", standard), source_line::current());
    };
  const std::pair<const char*, two_parameters> of_two[] = {
      {"beta", random::beta}, {"f", random::f}, {"binomial", random::binomial}, {"multinomial", random::multinomial}};
  for (const auto& [name, f] : of_two)
    table[name] = [f = f](const arrays& x, options o) -> arrays {
      return f(key(x[0]), x[1], x[2], o.list("shape"), f32, source_line::current());
    };
  table["generalized_normal"] = [](const arrays& x, options o) -> arrays {
    return random::generalized_normal(key(x[0]), o.number("p"), o.list("shape"));
  };
  table["ball"] = [](const arrays& x, options o) -> arrays {
    return random::ball(key(x[0]), static_cast<int>(o.integer("d")), o.number("p"), o.list("shape"));
  };
  table["multivariate_normal"] = [](const arrays& x, options o) -> arrays {
    return random::multivariate_normal(key(x[0]), x[1], x[2], o.list("shape"));
  };
  table["orthogonal"] = [](const arrays& x, options o) -> arrays {
    return random::orthogonal(key(x[0]), o.integer("n"), o.list("shape"), f32, o.integer("m", -1));
  };
  namespace init = nn::initializers;
  table["orthogonal_init"] = [](const arrays& x, options o) -> arrays {
    const bool first = o.axis(-1) == 0, twice = o.integer("scale") == 2;
    const nn::initializer f = first ? (twice ? init::orthogonal<2.0, 0> : init::orthogonal<1.0, 0>)
                                    : (twice ? init::orthogonal<2.0> : init::orthogonal<>);
    return f(key(x[0]), o.list("shape"));
  };
  table["delta_orthogonal"] = [](const arrays& x, options o) -> arrays {
    return (o.integer("scale") == 2 ? init::delta_orthogonal<2.0> : init::delta_orthogonal<>)(key(x[0]),
                                                                                              o.list("shape"));
  };
  return table;
}

/// The covariances of the rows of x around their mean.
std::vector<double> covariances(const array& x) {
  const auto n = static_cast<std::size_t>(x.extent(0)), m = static_cast<std::size_t>(x.extent(1));
  const array in_f64 = astype(x, f64);
  const auto v = in_f64.values<double>();
  std::vector<double> mean(m), out(m * m);
  for (std::size_t i = 0; i < n * m; ++i) mean[i % m] += v[i] / static_cast<double>(n);
  for (std::size_t r = 0; r < n; ++r)
    for (std::size_t i = 0; i < m * m; ++i)
      out[i] += (v[r * m + i / m] - mean[i / m]) * (v[r * m + i % m] - mean[i % m]) / static_cast<double>(n);
  return out;
}
struct moments {
  double mean, variance;
};
moments of(const array& x) {
  const array column = reshape(x, {x.size(), 1});
  return {astype(sum(astype(column, f64)), f64).item<double>() / static_cast<double>(x.size()), covariances(column)[0]};
}
}  // namespace

TEST_CASE("samples of rejection and of decompositions are those of jax.random") {
  check_cases("random/gamma.txt", samplers());
}

TEST_CASE("random_gamma is its smaller ops on threads and on strided operands") {
  const array a = array::from<float>({0.01f, 0.4f, 0.99f, 1, 1.01f, 2.5f, 17, 900, 0, -0.25f, 0.3f, 6});
  for (const dtype type : {f32, bf16})
    for (const bool log_space : {false, true})
      check_adversarial([&](const arrays& x) -> arrays { return random_gamma(x[0], x[1], {log_space}); },
                        {random::split(key(5), {12}), astype(a, type)},
                        {.tolerance = type == f32 ? 2e-4 : 5e-2, .floor = 0.1});
}

TEST_CASE("means and variances are those of the distributions") {
  const key k(11);
  const shape many{40000};
  const auto near = [](const array& x, double mean, double variance) {
    const moments m = of(x);
    CHECK(m.mean == Approx(mean).margin(4 * std::sqrt(variance / 40000)));
    CHECK(m.variance == Approx(variance).epsilon(0.08));
  };
  near(random::gamma(k, 0.5, many), 0.5, 0.5);
  near(random::gamma(k, 7.0, many, f64), 7, 7);
  near(random::beta(k, 2.0, 3.0, many), 0.4, 0.04);
  near(random::chisquare(k, 5.0, many), 5, 10);
  near(random::t(k, 9.0, many), 0, 9. / 7);
  near(random::f(k, 5.0, 12.0, many), 1.2, 2 * 144 * 15. / (5 * 100 * 8));
  near(random::generalized_normal(k, 2, many), 0, 0.5);
  near(random::poisson(k, 4.0, many), 4, 4);
  near(random::poisson(k, 90.0, many), 90, 90);
  near(random::binomial(k, 20.0, 0.3, many), 6, 4.2);
  near(random::binomial(k, 400.0, 0.75, many), 300, 75);
}

TEST_CASE("normal vectors have the covariances that are asked for, by each decomposition") {
  const array cov = array::from<float>({2, 0.6f, 0.6f, 1}, {2, 2}), mean = array::from<float>({1, -1});
  for (const auto method :
       {random::covariance_method::cholesky, random::covariance_method::svd, random::covariance_method::eigh}) {
    const array x = random::multivariate_normal(key(3), mean, cov, {40000}, method);
    const std::vector<double> found = covariances(x);
    CHECK(found[0] == Approx(2).epsilon(0.03));
    CHECK(found[1] == Approx(0.6).epsilon(0.05));
    CHECK(found[3] == Approx(1).epsilon(0.03));
  }
  // a singular matrix: both components are the same
  const array same = random::multivariate_normal(key(3), zeros({2}), ones({2, 2}), {5}, random::covariance_method::svd);
  for (std::size_t i = 0; i < 10; i += 2)
    CHECK(same.values<float>()[i] == Approx(same.values<float>()[i + 1]).margin(1e-5));
}

TEST_CASE("parameters that end no loop in JAX are answered here") {
  const array rates = array::from<float>({HUGE_VALF, 3});
  CHECK(random::poisson(key(1), rates).values<std::int32_t>()[0] == -1);
  const array n = array::from<float>({HUGE_VALF, 3});
  CHECK(random::binomial(key(1), n, 0.5).values<float>()[0] == HUGE_VALF);
  CHECK(std::isnan(random::binomial(key(1), 3.0, 1.5).item<float>()));
}

TEST_CASE("mistakes in parameters of samples are named") {
  const key k(1);
  CHECK_THROWS_WITH(random::gamma(k, zeros({3}), {2}),
                    contains("gamma: shape: found [2], expected a shape that takes parameters [3]"));
  CHECK_THROWS_WITH(random::gamma(k, 1.0, {2}, i32), contains("gamma: dtype: found i32"));
  CHECK_THROWS_WITH(random_gamma(zeros({3, 2}, u32), zeros({2}), {}), contains("random_gamma: keys: found u32[3,2]"));
  CHECK_THROWS_WITH(random::beta(k, zeros({3}), zeros({2})), contains("beta: shape: found f32[2]"));
  CHECK_THROWS_WITH(random::dirichlet(k, 1.0), contains("dirichlet: alpha"));
  CHECK_THROWS_WITH(random::multinomial(k, 3.0, 1.0), contains("multinomial: p"));
  CHECK_THROWS_WITH(random::multivariate_normal(k, zeros({3}), zeros({2, 2})),
                    contains("multivariate_normal: cov: found f32[2,2]"));
  CHECK_THROWS_WITH(random::multivariate_normal(k, 0.0, zeros({2, 2})), contains("multivariate_normal: mean"));
}

namespace {
using row = tensor<f32, 4>;
constexpr auto known_program = [](const row& a) { return sum(random::gamma(key(2), a)); };
}  // namespace

TEST_CASE("a sample and its derivative in a program that is known while compiling") {
  const row a = array::from<float>({0.5f, 1, 2, 9});
  CHECK(bit_difference({jit(grad(known_program), cpu)(a)}, {jit(grad(known_program), cpu, at_run_time)(a)}) == "");
}
