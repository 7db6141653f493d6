// tests/lax/elementwise/trigonometric.cpp: trigonometric and hyperbolic functions and their inverses, cube roots and powers of two.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/elementwise/cube_root.hpp>
#include <tokamax/lax/elementwise/hyperbolic.hpp>
#include <tokamax/lax/elementwise/trigonometric.hpp>
#include <tokamax/runtime.hpp>

#include "support/check_op.hpp"

#include <cmath>

using namespace tokamax;
using namespace tokamax::test;

TEST_CASE("trigonometric and hyperbolic functions keep the contract, down to the second derivative") {
  // In f64, because finite differences of f32 show its roundings.
  const auto point = [](double from, double to) {
    return array::from<double>({from, from + 0.21 * (to - from), from + 0.6 * (to - from), to});
  };
  const check_options o{.tolerance = 1e-13};
  for (const op* p : {&tan_p, &atan_p, &sinh_p, &cosh_p, &asinh_p, &exp2_p}) check_op(*p, {{{point(-1.3, 1.1)}}}, o);
  for (const op* p : {&asin_p, &acos_p, &atanh_p}) check_op(*p, {{{point(-0.7, 0.8)}}}, o);
  check_op(acosh_p, {{{point(1.5, 7)}}}, o);
  check_op(cbrt_p, {{{point(0.4, 9)}}}, o);
  check_op(atan2_p, {{{point(-2, 3), point(1.4, -5)}}}, o);
  for (const op* p : {&tan_p, &atan_p, &asin_p, &acos_p, &sinh_p, &cosh_p, &asinh_p, &atanh_p, &exp2_p})
    check_op(*p, {{{noise({3, 5}, 4) * 0.4f}}, {{noise({5}, 4, bf16)}}}, {.differentiate = false});
  check_op(atan2_p, {{{noise({6}, 4, bf16), noise({6}, 5, bf16)}}}, {.differentiate = false});
}

namespace {
bool same_number(double found, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(found);
  if (expected == 0) return found == 0 && std::signbit(found) == std::signbit(expected);
  return found == expected || std::fabs(found - expected) <= tolerance * std::fabs(expected);
}
}  // namespace

TEST_CASE("functions of f64 have the digits of f64, at the ends of their domains and of the numbers too") {
  const std::vector<double> points{0.0,  -0.0,  1e-310,  -1e-300, 1e-9,   -3e-8, 0.1,      -0.4142135623730951,
                                   0.5,  -0.75, 0.99999, 1.0,     -1.0,   1.001, -1.5,     2.75,
                                   10.5, -19.9, 20.1,    355.0,   -709.5, 710.3, -1074,    1024,
                                   1e5,  -3e8,  1e22,    1e160,   -1e308, NAN,   INFINITY, -INFINITY};
  struct function_of_one {
    const char* name;
    array (*ours)(const array&, source_line);
    double (*exact)(double);
  };
  const function_of_one table[] = {
      {"tan", tan, std::tan},       {"asin", asin, std::asin},    {"acos", acos, std::acos},
      {"atan", atan, std::atan},    {"sinh", sinh, std::sinh},    {"cosh", cosh, std::cosh},
      {"asinh", asinh, std::asinh}, {"acosh", acosh, std::acosh}, {"atanh", atanh, std::atanh},
      {"cbrt", cbrt, std::cbrt},    {"exp2", exp2, std::exp2}};
  const array x = array::from<double>(points, {static_cast<std::int64_t>(points.size())});
  for (const function_of_one& f : table) {
    const array y = f.ours(x, source_line::current());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double found = y.values<double>()[i], expected = f.exact(points[i]);
      INFO(f.name << " of " << points[i] << ": " << found << ", expected " << expected);
      CHECK(same_number(found, expected, 1e-15));
    }
  }
  for (std::size_t k = 0; k < points.size(); ++k) {
    const array z = atan2(x, array::from<double>(std::vector<double>(points.size(), points[k]), x.shape()));
    for (std::size_t i = 0; i < points.size(); ++i) {
      INFO("atan2 of " << points[i] << " and " << points[k]);
      CHECK(same_number(z.values<double>()[i], std::atan2(points[i], points[k]), 5e-16));
    }
  }
}

TEST_CASE("2 to whole powers is exact, and so are roots of cubes") {
  const array n = array::from<float>({-149, -126, -1, 0, 1, 23, 127, 128, -150.5f}), power = exp2(n);
  for (std::size_t i = 0; i < 9; ++i) CHECK(power.values<float>()[i] == std::exp2(n.values<float>()[i]));
  const array root = array::from<float>({1, -2, 3, 5, -10, 50, 128}), found = cbrt(root * root * root);
  for (std::size_t i = 0; i < 7; ++i) CHECK(found.values<float>()[i] == root.values<float>()[i]);
}

TEST_CASE("integers become f32, wrong operands are refused, and StableHLO has names for the functions") {
  static_assert(tan(array(array_type{i32, false, {2}})).type() == array_type{f32, false, {2}});
  static_assert(cbrt(array(array_type{bf16, false, {2}})).type() == array_type{bf16, false, {2}});
  CHECK_THROWS_WITH(bind(tan_p, {zeros({2}, i32)}, words{}, location{}),
                    contains("tan: dtype: found i32[2], expected a floating dtype"));
  CHECK_THROWS_WITH(atan2(zeros({2}), zeros({3})), contains("atan2: shapes"));
  CHECK(atan2_p.stablehlo == "stablehlo.atan2");
  CHECK(cbrt_p.stablehlo == "stablehlo.cbrt");
  CHECK(asinh_p.stablehlo == "chlo.asinh");
}

namespace {
constexpr auto many = [](const tensor<f32, 21>& x) {
  return std::array<array, 5>{tan(x), atan2(x, x * 0.5f - 0.25f), sinh(x), asinh(x), cbrt(x)};
};
}  // namespace

TEST_CASE("static and run-time programs have the bits of single calls") {
  const tensor<f32, 21> x(noise({21}, 9));
  const auto alone = many(x), known = jit(many, cpu)(x), late = jit(many, cpu, at_run_time)(x);
  for (std::size_t k = 0; k < alone.size(); ++k)
    for (std::size_t i = 0; i < 21; ++i) {
      CHECK(known[k].values<float>()[i] == alone[k].values<float>()[i]);
      CHECK(late[k].values<float>()[i] == alone[k].values<float>()[i]);
    }
}
