// tests/scipy/special.cpp: special functions have SciPy's values, and JAX's gradients and special values.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/scipy/special/bessel.hpp>
#include <tokamax/scipy/special/elementary.hpp>
#include <tokamax/scipy/special/error_functions.hpp>
#include <tokamax/scipy/special/expn.hpp>
#include <tokamax/scipy/special/gamma_functions.hpp>
#include <tokamax/scipy/special/hypergeometric.hpp>
#include <tokamax/scipy/special/integrals.hpp>
#include <tokamax/scipy/special/owens_t.hpp>
#include <tokamax/scipy/special/waves.hpp>

#include "support/check_op.hpp"
#include "support/golden_cases.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

namespace {
namespace sp = scipy::special;
using options = const case_options&;

template <array (*F)(const array&, source_line)>
arrays one(const arrays& x, options) {
  return F(x[0], source_line::current());
}
template <array (*F)(const array&, const array&, source_line)>
arrays two(const arrays& x, options) {
  return F(x[0], x[1], source_line::current());
}

case_functions functions() {
  return {
      {"gammaln", one<sp::gammaln>},
      {"digamma", one<tokamax::digamma>},
      {"gamma", one<sp::gamma>},
      {"gammasgn", one<sp::gammasgn>},
      {"factorial", one<sp::factorial>},
      {"i0e", one<sp::i0e>},
      {"i1e", one<sp::i1e>},
      {"i0", one<sp::i0>},
      {"i1", one<sp::i1>},
      {"erf", one<tokamax::erf>},
      {"erfc", one<tokamax::erfc>},
      {"erfcx", one<sp::erfcx>},
      {"ndtr", one<sp::ndtr>},
      {"log_ndtr", one<sp::log_ndtr>},
      {"ndtri", one<sp::ndtri>},
      {"dawsn", one<sp::dawsn>},
      {"exp1", one<sp::exp1>},
      {"expi", one<sp::expi>},
      {"spence", one<sp::spence>},
      {"entr", one<sp::entr>},
      {"logit", one<sp::logit>},
      {"expit", one<sp::expit>},
      {"gammainc", two<sp::gammainc>},
      {"gammaincc", two<sp::gammaincc>},
      {"random_gamma_grad", two<tokamax::random_gamma_grad>},
      {"zeta", two<tokamax::zeta>},
      {"xlogy", two<sp::xlogy>},
      {"xlog1py", two<sp::xlog1py>},
      {"rel_entr", two<sp::rel_entr>},
      {"kl_div", two<sp::kl_div>},
      {"betaln", two<sp::betaln>},
      {"beta", two<sp::beta>},
      {"poch", two<sp::poch>},
      {"comb", two<sp::comb>},
      {"boxcox", two<sp::boxcox>},
      {"boxcox1p", two<sp::boxcox1p>},
      {"expn", two<sp::expn>},
      {"owens_t", two<sp::owens_t>},
      {"hyp1f1", [](const arrays& x, options) -> arrays { return sp::hyp1f1(x[0], x[1], x[2]); }},
      {"sici",
       [](const arrays& x, options) -> arrays {
         const auto [si, ci] = sp::sici(x[0]);
         return {si, ci};
       }},
      {"fresnel",
       [](const arrays& x, options) -> arrays {
         const auto [s, c] = sp::fresnel(x[0]);
         return {s, c};
       }},
      {"bessel_jn",
       [](const arrays& x, options o) -> arrays { return sp::bessel_jn(x[0], static_cast<int>(o.integer("v"))); }},
      {"betainc", [](const arrays& x, options) -> arrays { return tokamax::betainc(x[0], x[1], x[2]); }},
      {"polygamma",
       [](const arrays& x, options o) -> arrays { return tokamax::polygamma(array(o.number("n")), x[0]); }},
      {"multigammaln",
       [](const arrays& x, options o) -> arrays { return sp::multigammaln(x[0], static_cast<int>(o.integer("d"))); }},
      {"bernoulli", [](const arrays&, options o) -> arrays { return sp::bernoulli(static_cast<int>(o.integer("n"))); }},
  };
}
array points(std::initializer_list<float> list) { return array::from<float>(list); }
}  // namespace

TEST_CASE("special functions are those of scipy.special and jax.scipy.special") {
  check_cases("scipy/special.txt", functions());
}

TEST_CASE("the rules of special functions agree with finite differences, batches and smaller ops") {
  // In f64, because what f32 is computed by is not exact enough to be differentiated twice.
  const check_options o{.tolerance = 1e-11, .order = 1};
  const array x = array::from<double>({0.3, 1.4, 2.6, 9.5}, {4});
  check_function([](const arrays& v) -> arrays { return lgamma(v[0]); }, {x}, o);
  check_function([](const arrays& v) -> arrays { return sp::log_ndtr(v[0] - 3.0); }, {x}, o);
  check_function([](const arrays& v) -> arrays { return bessel_i1e(v[0]); }, {x}, o);
  check_function(
      [](const arrays& v) -> arrays {
        const auto [si, ci] = sp::sici(v[0]);
        const auto [s, c] = sp::fresnel(v[0] * 0.4);
        return si + 2.0 * ci + 3.0 * s + 4.0 * c;
      },
      {x}, o);
  check_function([](const arrays& v) -> arrays { return sp::expn(array(3.0), v[0]); }, {x}, o);
  check_function([](const arrays& v) -> arrays { return sp::owens_t(v[0], v[1]); }, {x, x * 0.7}, o);
  check_function([](const arrays& v) -> arrays { return sp::hyp1f1(array(0.7), array(2.5), v[0] - 3.0); }, {x},
                 {.tolerance = 1e-11, .differentiate = false});
  check_function([](const arrays& v) -> arrays { return sp::bessel_jn(v[0], 3); }, {x}, o);
  check_function([](const arrays& v) -> arrays { return sp::xlogy(v[0], v[1]); }, {x, x + 0.5}, o);
  check_function([](const arrays& v) -> arrays { return igammac(v[0], v[1]); }, {x, x * 1.2f},
                 {.tolerance = 2e-5, .differentiate = false});
}

TEST_CASE("functions that JAX cannot differentiate either say so") {
  const auto f = [](const array& a) { return sum(betainc(a, a, full_like(a, 0.5))); };
  CHECK_THROWS_WITH(grad(f)(points({1, 2})), contains("regularized_incomplete_beta: derivative"));
  const auto g = [](const array& a) { return sum(zeta(a, a)); };
  CHECK_THROWS_WITH(grad(g)(points({2, 3})), contains("zeta: derivative"));
  CHECK_THROWS_WITH(sp::bessel_jn(points({1}), -1), contains("bessel_jn: order: found -1, expected 0 to 50"));
  CHECK_THROWS_WITH(igamma(zeros({2}), zeros({3})), contains("igamma: shapes"));
}

namespace {
using row = tensor<f32, 4>;
constexpr auto likelihood = [](const row& x) { return sum(lgamma(x)); };
}  // namespace

TEST_CASE("a program that is known while compiling has the same values") {
  const row x = points({0.5f, 1.5f, 4.0f, 8.0f});
  const array known = jit(grad(likelihood), cpu)(x), late = jit(grad(likelihood), cpu, at_run_time)(x);
  CHECK(known.data<float>()[0] == late.data<float>()[0]);
  CHECK(known.data<float>()[3] == late.data<float>()[3]);
}

TEST_CASE("special values that JAX does not have") {
  const double inf = std::numeric_limits<double>::infinity();
  const auto at = [](const array& y) { return static_cast<double>(y.item()); };
  CHECK(at(sp::rel_entr(array(inf), array(1.0))) == inf);
  CHECK(at(sp::rel_entr(array(0.0), array(0.0))) == 0);
  CHECK(at(sp::gammaincc(array(inf), array(2.0))) == 1);
  CHECK(at(sp::gammainc(array(inf), array(2.0))) == 0);
  CHECK(std::isnan(at(sp::gammainc(array(inf), array(inf)))));
  CHECK(at(grad([](const array& x) { return cbrt(x); })(array(0.0f))) == inf);
  CHECK(at(grad([](const array& x) { return cbrt(x); })(array(8.0f))) == Approx(1.0 / 12));
}

TEST_CASE("products with a logarithm have finite gradients where the factor is 0") {
  const auto both = [](auto f, float x, float y) {
    const auto [dx, dy] = grad<0, 1>(f)(array(x), array(y));
    return std::pair{dx.item(), dy.item()};
  };
  const auto xlogy = [](const array& x, const array& y) { return sp::xlogy(x, y); };
  const auto xlog1py = [](const array& x, const array& y) { return sp::xlog1py(x, y); };
  CHECK(both(xlogy, 0, 0) == std::pair{0.0f, 0.0f});
  CHECK(both(xlog1py, 0, -1) == std::pair{0.0f, 0.0f});
  CHECK(both(xlogy, 0, 1) == std::pair{0.0f, 0.0f});
  CHECK(both(xlogy, 0, 4).first == Approx(std::log(4.0f)));
  CHECK(both(xlogy, 2, 4).second == 0.5f);
}
