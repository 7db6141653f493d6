// tests/lax/elementwise/unary.cpp: elementary functions and power.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/unary.hpp>
#include <tokamax/lax/iota.hpp>

#include "support/check_op.hpp"
#include "support/golden.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
/// Values and derivatives at the points of the table, which include zeros, infinities and NaN.
void check_points(const std::string& name, array (*f)(const array&), double tolerance = 2e-6) {
  INFO(name);
  const array x = golden("ops.txt", "unary.in0"), out = golden("ops.txt", name + ".out"),
              grad = golden("ops.txt", name + ".grad0");
  const arrays pull{x, ones(x.shape())};
  const arrays g =
      execute_graph(trace(vjp_of([f](const arrays& v) -> arrays { return f(v[0]); }, 1), types_of(listed(pull))), pull);
  const value found[2] = {to_value(f(x)), to_value(g[0])}, expected[2] = {to_value(out), to_value(grad)};
  for (int k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < expected[k].data.size(); ++i) {
      const double a = found[k].data[i], e = expected[k].data[i];
      INFO((k ? "derivative" : "value") << " at " << to_value(x).data[i] << ": " << a << ", expected " << e);
      CHECK((std::isnan(e) ? std::isnan(a) : a == e || std::fabs(a - e) <= tolerance * std::fmax(std::fabs(e), 0.2)));
    }
}
}  // namespace

TEST_CASE("elementary functions keep the contract") {
  for (const op* o : {&exp_p, &expm1_p, &tanh_p, &logistic_p, &sin_p, &cos_p, &erf_p})
    check_op(*o, {{{noise({3, 7}, 4)}}, {{noise({5}, 4, bf16)}}, {{noise({0}, 1)}}});
  const array positive = noise({2, 9}, 3) + 1.5f;
  for (const op* o : {&log_p, &log1p_p, &sqrt_p, &rsqrt_p}) check_op(*o, {{{positive}}, {{astype(positive, bf16)}}});
  for (const op* o : {&floor_p, &ceil_p, &round_p}) check_op(*o, {{{noise({9}, 3) * 4}}});
  check_op(pow_p, {{{positive, noise({2, 9}, 8) * 3}}});
}

TEST_CASE("values and derivatives at special points are those of JAX") {
  check_points("exp", [](const array& x) { return exp(x); });
  check_points("expm1", [](const array& x) { return expm1(x); });
  check_points("log", [](const array& x) { return log(x); });
  check_points("log1p", [](const array& x) { return log1p(x); });
  check_points("sqrt", [](const array& x) { return sqrt(x); });
  check_points("rsqrt", [](const array& x) { return rsqrt(x); });
  check_points("tanh", [](const array& x) { return tanh(x); });
  check_points("logistic", [](const array& x) { return logistic(x); });
  check_points("sin", [](const array& x) { return sin(x); });
  check_points("cos", [](const array& x) { return cos(x); });
  check_points("erf", [](const array& x) { return erf(x); });
  check_points("square", [](const array& x) { return square(x); });
  check_points("abs", [](const array& x) { return abs(x); });
  check_points("sign", [](const array& x) { return sign(x); });
}

TEST_CASE("rounding and tests of numbers are those of JAX") {
  check_golden("round", [](const arrays& x) -> arrays { return round(x[0]); });
  check_golden("floor", [](const arrays& x) -> arrays { return floor(x[0]); });
  check_golden("ceil", [](const arrays& x) -> arrays { return ceil(x[0]); });
  check_golden("is_finite", [](const arrays& x) -> arrays { return isfinite(x[0]); });
  check_golden("sqrt_at_zero", [](const arrays& x) -> arrays { return sqrt(x[0]); });
  check_golden("log_at_zero", [](const arrays& x) -> arrays { return log(x[0]); });
}

TEST_CASE("power of zero, infinity and NaN is that of C") {
  const array x = golden("ops.txt", "pow.in0"), y = golden("ops.txt", "pow.in1");
  CHECK(distance(abs(power(x, y)), abs(golden("ops.txt", "pow.out"))) < 2e-6);
  const arrays at{zeros({2}), array::from<float>({0, 2}), ones({2})};
  const arrays g = execute_graph(
      trace(vjp_of([](const arrays& v) -> arrays { return power(v[0], v[1]); }, 2), types_of(listed(at))), at);
  for (const array& a : g)
    for (float v : a.values<float>()) CHECK(v == 0);
}

TEST_CASE("integers become f32 first; the op itself takes floats only") {
  static_assert(exp(array(array_type{i32, false, {2}})).type() == array_type{f32, false, {2}});
  static_assert(tanh(array(array_type{bf16, false, {2}})).type() == array_type{bf16, false, {2}});
  CHECK_THROWS_WITH(bind(exp_p, {zeros({2}, i32)}, words{}, location{}),
                    contains("exp: dtype: found i32[2], expected a floating dtype"));
}

TEST_CASE("derivatives of power in both orders agree where the exponent is zero") {
  const function slope = vjp_of([](const arrays& v) -> arrays { return power(v[0], v[1]); }, 2);
  const arrays at{array::from<float>({2, 5, 0.5f}), zeros({3}), ones({3})};
  const arrays both{at[0], at[1], at[2], ones({3}), zeros({3})};  // the cotangent of d/dx alone
  const arrays found = execute_graph(trace(vjp_of(slope, 3), types_of(listed(both))), both);
  for (std::size_t i = 0; i < 3; ++i) CHECK(found[1].values<float>()[i] == Approx(1 / at[0].values<float>()[i]));
}
