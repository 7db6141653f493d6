// tests/scipy/stats.cpp: densities and distributions are those of jax.scipy.stats.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/scipy/stats/continuous.hpp>
#include <tokamax/scipy/stats/discrete.hpp>
#include <tokamax/scipy/stats/multivariate.hpp>

#include "support/check_op.hpp"
#include "support/golden_cases.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

namespace {
namespace st = scipy::stats;
using options = const case_options&;
using of_two = array (*)(const array&, const array&);
using of_three = array (*)(const array&, const array&, const array&);
using of_four = array (*)(const array&, const array&, const array&, const array&);
using of_five = array (*)(const array&, const array&, const array&, const array&, const array&);

/// Functions with defaults for loc and scale, which rows may leave out.
template <of_three F>
arrays located_scaled(const arrays& x, options) {
  return F(x[0], x.count() > 1 ? array(x[1]) : array(0.0), x.count() > 2 ? array(x[2]) : array(1.0));
}
template <of_four F>
arrays shaped(const arrays& x, options) {
  return F(x[0], x[1], x.count() > 2 ? array(x[2]) : array(0.0), x.count() > 3 ? array(x[3]) : array(1.0));
}
template <of_five F>
arrays twice_shaped(const arrays& x, options) {
  return F(x[0], x[1], x[2], array(0.0), array(1.0));
}
template <of_two F>
arrays two(const arrays& x, options) {
  return F(x[0], x[1]);
}
template <of_three F>
arrays counted(const arrays& x, options) {
  return F(x[0], x[1], array(0.0));
}
template <of_four F>
arrays counted_twice(const arrays& x, options) {
  return F(x[0], x[1], x[2], array(0.0));
}
template <array (*F)(const array&, const array&, source_line)>
arrays vectors(const arrays& x, options) {
  return F(x[0], x[1], source_line::current());
}
template <array (*F)(const array&, const array&, const array&, source_line)>
arrays normals(const arrays& x, options) {
  return F(x[0], x[1], x[2], source_line::current());
}

case_functions functions() {
  return {
      {"norm.logpdf", located_scaled<st::norm::logpdf>},
      {"norm.pdf", located_scaled<st::norm::pdf>},
      {"norm.cdf", located_scaled<st::norm::cdf>},
      {"norm.logcdf", located_scaled<st::norm::logcdf>},
      {"norm.sf", located_scaled<st::norm::sf>},
      {"norm.logsf", located_scaled<st::norm::logsf>},
      {"norm.ppf", located_scaled<st::norm::ppf>},
      {"norm.isf", located_scaled<st::norm::isf>},
      {"cauchy.logpdf", located_scaled<st::cauchy::logpdf>},
      {"cauchy.pdf", located_scaled<st::cauchy::pdf>},
      {"expon.logpdf", located_scaled<st::expon::logpdf>},
      {"expon.pdf", located_scaled<st::expon::pdf>},
      {"expon.cdf", located_scaled<st::expon::cdf>},
      {"expon.sf", located_scaled<st::expon::sf>},
      {"laplace.logpdf", located_scaled<st::laplace::logpdf>},
      {"laplace.pdf", located_scaled<st::laplace::pdf>},
      {"laplace.cdf", located_scaled<st::laplace::cdf>},
      {"logistic.logpdf", located_scaled<st::logistic::logpdf>},
      {"logistic.pdf", located_scaled<st::logistic::pdf>},
      {"logistic.cdf", located_scaled<st::logistic::cdf>},
      {"logistic.sf", located_scaled<st::logistic::sf>},
      {"logistic.ppf", located_scaled<st::logistic::ppf>},
      {"logistic.isf", located_scaled<st::logistic::isf>},
      {"uniform.logpdf", located_scaled<st::uniform::logpdf>},
      {"uniform.pdf", located_scaled<st::uniform::pdf>},
      {"uniform.cdf", located_scaled<st::uniform::cdf>},
      {"gumbel_r.logpdf", located_scaled<st::gumbel_r::logpdf>},
      {"gumbel_r.pdf", located_scaled<st::gumbel_r::pdf>},
      {"gumbel_r.cdf", located_scaled<st::gumbel_r::cdf>},
      {"gumbel_l.logpdf", located_scaled<st::gumbel_l::logpdf>},
      {"gumbel_l.pdf", located_scaled<st::gumbel_l::pdf>},
      {"gumbel_l.cdf", located_scaled<st::gumbel_l::cdf>},
      {"gamma.logpdf", shaped<st::gamma::logpdf>},
      {"gamma.pdf", shaped<st::gamma::pdf>},
      {"gamma.cdf", shaped<st::gamma::cdf>},
      {"gamma.sf", shaped<st::gamma::sf>},
      {"beta.logpdf", twice_shaped<st::beta::logpdf>},
      {"beta.pdf", twice_shaped<st::beta::pdf>},
      {"beta.cdf", twice_shaped<st::beta::cdf>},
      {"beta.sf", twice_shaped<st::beta::sf>},
      {"chi2.logpdf", shaped<st::chi2::logpdf>},
      {"chi2.pdf", shaped<st::chi2::pdf>},
      {"chi2.cdf", shaped<st::chi2::cdf>},
      {"chi2.sf", shaped<st::chi2::sf>},
      {"t.logpdf", shaped<st::t::logpdf>},
      {"t.pdf", shaped<st::t::pdf>},
      {"pareto.logpdf", shaped<st::pareto::logpdf>},
      {"pareto.pdf", shaped<st::pareto::pdf>},
      {"vonmises.logpdf", two<st::vonmises::logpdf>},
      {"vonmises.pdf", two<st::vonmises::pdf>},
      {"bernoulli.logpmf", counted<st::bernoulli::logpmf>},
      {"bernoulli.pmf", counted<st::bernoulli::pmf>},
      {"bernoulli.cdf", two<st::bernoulli::cdf>},
      {"binom.logpmf", counted_twice<st::binom::logpmf>},
      {"binom.pmf", counted_twice<st::binom::pmf>},
      {"poisson.logpmf", counted<st::poisson::logpmf>},
      {"poisson.pmf", counted<st::poisson::pmf>},
      {"poisson.cdf", counted<st::poisson::cdf>},
      {"geom.logpmf", counted<st::geom::logpmf>},
      {"geom.pmf", counted<st::geom::pmf>},
      {"nbinom.logpmf", counted_twice<st::nbinom::logpmf>},
      {"nbinom.pmf", counted_twice<st::nbinom::pmf>},
      {"multinomial.logpmf",
       [](const arrays& x, options) -> arrays { return st::multinomial::logpmf(x[0], x[1], x[2]); }},
      {"dirichlet.logpdf", vectors<st::dirichlet::logpdf>},
      {"dirichlet.pdf", vectors<st::dirichlet::pdf>},
      {"multivariate_normal.logpdf", normals<st::multivariate_normal::logpdf>},
      {"multivariate_normal.pdf", normals<st::multivariate_normal::pdf>},
  };
}
}  // namespace

TEST_CASE("densities and distributions are those of jax.scipy.stats") { check_cases("scipy/stats.txt", functions()); }

TEST_CASE("gradients of densities are finite where the density is 0") {
  const auto f = [](const array& x) { return sum(st::gamma::pdf(x, 2.0f) + st::beta::pdf(x, 2.0f, 3.0f)); };
  const array g = grad(f)(array::from<float>({-1.0f, 0.5f, 2.0f}));
  for (const float v : g.values<float>()) CHECK(std::isfinite(v));
}

TEST_CASE("NaN stays NaN, and a quantile of no probability is NaN") {
  const array nan(std::numeric_limits<double>::quiet_NaN());
  const array two(2.0), half(0.5), five(5.0);
  const std::pair<const char*, array> rows[] = {
      {"gamma logpdf", st::gamma::logpdf(nan, two)},
      {"gamma cdf", st::gamma::cdf(nan, two)},
      {"gamma sf", st::gamma::sf(nan, two)},
      {"chi2 logpdf", st::chi2::logpdf(nan, two)},
      {"chi2 cdf", st::chi2::cdf(nan, two)},
      {"chi2 sf", st::chi2::sf(nan, two)},
      {"beta logpdf", st::beta::logpdf(nan, two, two)},
      {"beta cdf", st::beta::cdf(nan, two, two)},
      {"expon logpdf", st::expon::logpdf(nan)},
      {"expon cdf", st::expon::cdf(nan)},
      {"uniform logpdf", st::uniform::logpdf(nan)},
      {"uniform cdf", st::uniform::cdf(nan)},
      {"pareto logpdf", st::pareto::logpdf(nan, two)},
      {"bernoulli logpmf", st::bernoulli::logpmf(nan, half)},
      {"bernoulli cdf", st::bernoulli::cdf(nan, half)},
      {"binom logpmf", st::binom::logpmf(nan, five, half)},
      {"poisson logpmf", st::poisson::logpmf(nan, two)},
      {"poisson cdf", st::poisson::cdf(nan, two)},
      {"geom logpmf", st::geom::logpmf(nan, half)},
      {"nbinom logpmf", st::nbinom::logpmf(nan, five, half)},
      {"expon ppf below", st::expon::ppf(array(-0.5))},
      {"expon ppf above", st::expon::ppf(array(1.5))},
      {"uniform ppf below", st::uniform::ppf(array(-0.5))},
      {"uniform ppf above", st::uniform::ppf(array(1.5))},
      {"dirichlet logpdf", st::dirichlet::logpdf(array::from<float>({std::nanf(""), 0.5f}), ones({2}))},
      {"multinomial logpmf", st::multinomial::logpmf(array::from<float>({std::nanf(""), 1}), two, full({2}, 0.5f))},
  };
  for (const auto& [name, y] : rows) {
    CAPTURE(name);
    CHECK(std::isnan(y.item()));
  }
  CHECK(st::gamma::logpdf(array(-1.0), two).item() == -std::numeric_limits<float>::infinity());
  CHECK(st::poisson::cdf(array(-1.0), two).item() == 0);
  CHECK(st::expon::ppf(array(1.0)).item() == std::numeric_limits<float>::infinity());
  CHECK(st::uniform::ppf(array(0.25), two, five).item() == 3.25f);
}
