// tests/numpy/elementwise.cpp: functions of one and two numbers give what jax.numpy gives.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/elementwise/precision_bits.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/runtime/jit.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
using options = const case_options&;
using one = array (*)(const array&, source_line);
using two = array (*)(const array&, const array&, source_line);

isclose_options closeness(options o) { return {o.number("rtol", 1e-5), o.number("atol", 1e-8), o.flag("equal_nan")}; }
bit_order order(options o) { return o.text("bitorder") == "little" ? bit_order::little : bit_order::big; }

void add_unary(case_functions& table) {
  const std::pair<const char*, one> functions[] = {
      {"isnan", isnan},       {"isinf", isinf},       {"isposinf", isposinf},
      {"isneginf", isneginf}, {"signbit", signbit},   {"trunc", trunc},
      {"rint", rint},         {"log2", log2},         {"log10", log10},
      {"deg2rad", deg2rad},   {"rad2deg", rad2deg},   {"radians", radians},
      {"degrees", degrees},   {"sinc", sinc},         {"bitwise_count", bitwise_count},
      {"sign", sign},         {"negative", negative}, {"bitwise_invert", bitwise_invert},
      {"abs", abs},           {"square", square},     {"logical_not", logical_not},
      {"exp", exp},           {"log", log},           {"reciprocal", reciprocal},
      {"sqrt", sqrt},         {"floor", floor},       {"ceil", ceil},
      {"spacing", spacing},   {"tan", tan},           {"asin", asin},
      {"acos", acos},         {"atan", atan},         {"sinh", sinh},
      {"cosh", cosh},         {"asinh", asinh},       {"acosh", acosh},
      {"atanh", atanh},       {"cbrt", cbrt},         {"exp2", exp2},
      {"arcsin", arcsin},     {"arccos", arccos},     {"arctan", arctan},
      {"arcsinh", arcsinh},   {"arccosh", arccosh},   {"arctanh", arctanh},
  };
  for (const auto& [name, f] : functions)
    table[name] = [f = f](const arrays& x, options) -> arrays { return f(x[0], source_line::current()); };
}
void add_binary(case_functions& table) {
  const std::pair<const char*, two> functions[] = {
      {"atan2", atan2},
      {"arctan2", arctan2},
      {"fmax", fmax},
      {"fmin", fmin},
      {"fmod", fmod},
      {"heaviside", heaviside},
      {"copysign", copysign},
      {"logical_xor", logical_xor},
      {"hypot", hypot},
      {"logaddexp2", logaddexp2},
      {"add", add},
      {"subtract", subtract},
      {"multiply", multiply},
      {"divide", divide},
      {"true_divide", true_divide},
      {"maximum", maximum},
      {"minimum", minimum},
      {"float_power", float_power},
      {"floor_divide", floor_divide},
      {"remainder", remainder},
      {"equal", equal},
      {"logical_and", logical_and},
      {"logical_or", logical_or},
      {"gcd", gcd},
      {"lcm", lcm},
      {"ldexp", ldexp},
      {"left_shift", left_shift},
      {"right_shift", right_shift},
      {"bitwise_left_shift", bitwise_left_shift},
      {"bitwise_right_shift", bitwise_right_shift},
  };
  for (const auto& [name, f] : functions)
    table[name] = [f = f](const arrays& x, options) -> arrays { return f(x[0], x[1], source_line::current()); };
}
case_functions elementwise_functions() {
  case_functions table{
      {"positive", [](const arrays& x, options) -> arrays { return positive(x[0]); }},
      {"modf", [](const arrays& x, options) { return modf(x[0]); }},
      {"frexp", [](const arrays& x, options) { return frexp(x[0]); }},
      {"divmod", [](const arrays& x, options) { return divmod(x[0], x[1]); }},
      {"less", [](const arrays& x, options) -> arrays { return x[0] < x[1]; }},
      {"greater_equal", [](const arrays& x, options) -> arrays { return x[0] >= x[1]; }},
      {"around",
       [](const arrays& x, options o) -> arrays { return around(x[0], static_cast<int>(o.integer("decimals"))); }},
      {"nan_to_num",
       [](const arrays& x, options o) -> arrays {
         const nan_to_num_options otherwise;
         return nan_to_num(
             x[0], {o.number("nan"), o.number("posinf", otherwise.posinf), o.number("neginf", otherwise.neginf)});
       }},
      {"unwrap",
       [](const arrays& x, options o) -> arrays {
         const unwrap_options otherwise;
         return unwrap(x[0], {o.axis(-1), o.number("period", otherwise.period), o.number("discont", -1)});
       }},
      {"isclose", [](const arrays& x, options o) -> arrays { return isclose(x[0], x[1], closeness(o)); }},
      {"allclose", [](const arrays& x, options o) -> arrays { return allclose(x[0], x[1], closeness(o)); }},
      {"array_equal",
       [](const arrays& x, options o) -> arrays { return array_equal(x[0], x[1], o.flag("equal_nan")); }},
      {"array_equiv", [](const arrays& x, options) -> arrays { return array_equiv(x[0], x[1]); }},
      {"packbits", [](const arrays& x, options o) -> arrays { return packbits(x[0], o.axis(-1), order(o)); }},
      {"unpackbits",
       [](const arrays& x, options o) -> arrays {
         return unpackbits(x[0], o.axis(-1), o.integer("count", -1), order(o));
       }},
  };
  add_unary(table);
  add_binary(table);
  return table;
}
}  // namespace

TEST_CASE("functions of numbers are those of jax.numpy") {
  check_cases("numpy/elementwise.txt", elementwise_functions());
}

TEST_CASE("results of a known number can be taken apart") {
  const array a = array::from<float>({7, -7, 8}), b = array::from<float>({2, 2, 3});
  const auto check_pair = [](const array& first, const array& second, float x, float y) {
    CHECK((first.values<float>()[1] == x && second.values<float>()[1] == y));
  };
  {
    auto [q, r] = divmod(a, b);
    check_pair(q, r, -4, 1);
    q = q + 1.0f;  // they are variables
    check_pair(q, r, -3, 1);
  }
  const auto [fraction, whole_part] = modf(a / b);
  check_pair(fraction, whole_part, -0.5f, -3);
  const auto [m, e] = frexp(a);
  check_pair(m, astype(e, f32), -0.875f, 3);
  const auto [keys, values] = sort({a, b});
  check_pair(keys, values, 7, 2);
  const auto [i, j, n] = sort({a, b, a}, 0, true);
  check_pair(i, n, 7, 7);
  const auto [x, y] = meshgrid({a, b});
  CHECK((x.shape() == shape{3, 3} && y.shape() == shape{3, 3}));
  const auto [u, v] = broadcast_arrays({a, array(2.0f)});
  check_pair(u, v, -7, 2);
  const auto [rows, columns] = tril_indices(3, 3);
  CHECK((rows.size() == 6 && columns.size() == 6));
  const auto [quotient, rest] = polydiv(array::from<float>({1, 5, 6}), array::from<float>({1, 2}));
  check_pair(quotient, rest, 3, 0);
  CHECK(sort({a}).size() == 3);
  CHECK(bit_difference({pow(a, 2.0f)}, {power(a, 2.0f)}) == "");

  constexpr auto f = [](const tensor<f32, 3>& p, const tensor<f32, 3>& s) {  // and while compiling
    auto [k, w] = sort({p, s});
    auto [q, r] = divmod(k, w);
    return q * w + r;
  };
  CHECK(bit_difference({jit(f, cpu, while_compiling)(tensor<f32, 3>(a), tensor<f32, 3>(b))}, {keys}) == "");
}
