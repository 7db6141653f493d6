// tests/numpy/elementwise.cpp: functions of one and two numbers give what jax.numpy gives.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/elementwise/precision_bits.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/runtime/jit.hpp>

#include <tokamax/scipy/special/elementary.hpp>
#include <tokamax/scipy/special/error_functions.hpp>

#include "support/catch.hpp"
#include "support/golden_cases.hpp"

#include <fstream>
#include <sstream>

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

namespace {
template <array (*F)(const array&, source_line)>
array one_of(const array& x) {
  return F(x, source_line::current());
}
template <array (*F)(const array&, const array&, source_line)>
array two_of(const array& x, const array& y) {
  return F(x, y, source_line::current());
}
using of_one = array (*)(const array&);
using of_two = array (*)(const array&, const array&);
const std::map<std::string, of_one>& functions_of_one() {
  static const std::map<std::string, of_one> table{
      {"abs", one_of<abs>},
      {"negative", one_of<negative>},
      {"positive", positive},
      {"sign", one_of<sign>},
      {"square", one_of<square>},
      {"sqrt", one_of<sqrt>},
      {"cbrt", one_of<cbrt>},
      {"exp", one_of<exp>},
      {"exp2", one_of<exp2>},
      {"expm1", one_of<expm1>},
      {"log", one_of<log>},
      {"log2", one_of<log2>},
      {"log10", one_of<log10>},
      {"log1p", one_of<log1p>},
      {"sin", one_of<sin>},
      {"cos", one_of<cos>},
      {"tan", one_of<tan>},
      {"arcsin", one_of<arcsin>},
      {"arccos", one_of<arccos>},
      {"arctan", one_of<arctan>},
      {"sinh", one_of<sinh>},
      {"cosh", one_of<cosh>},
      {"tanh", one_of<tanh>},
      {"arcsinh", one_of<arcsinh>},
      {"arccosh", one_of<arccosh>},
      {"arctanh", one_of<arctanh>},
      {"floor", one_of<floor>},
      {"ceil", one_of<ceil>},
      {"trunc", one_of<trunc>},
      {"round", one_of<round>},
      {"rint", one_of<rint>},
      {"reciprocal", one_of<reciprocal>},
      {"isfinite", one_of<isfinite>},
      {"isnan", one_of<isnan>},
      {"isinf", one_of<isinf>},
      {"isposinf", one_of<isposinf>},
      {"isneginf", one_of<isneginf>},
      {"signbit", one_of<signbit>},
      {"logical_not", one_of<logical_not>},
      {"bitwise_not", one_of<bitwise_not>},
      {"bitwise_count", one_of<bitwise_count>},
      {"deg2rad", one_of<deg2rad>},
      {"rad2deg", one_of<rad2deg>},
      {"sinc", one_of<sinc>},
      {"nan_to_num", [](const array& x) { return nan_to_num(x); }},
      {"population_count", one_of<population_count>},
      {"clz", one_of<clz>},
      {"logistic", one_of<logistic>},
      {"erf", one_of<erf>},
      {"erfc", one_of<erfc>},
  };
  return table;
}
const std::map<std::string, of_two>& functions_of_two() {
  static const std::map<std::string, of_two> table{
      {"add", two_of<add>},
      {"subtract", two_of<subtract>},
      {"multiply", two_of<multiply>},
      {"divide", two_of<divide>},
      {"true_divide", two_of<true_divide>},
      {"floor_divide", two_of<floor_divide>},
      {"remainder", two_of<remainder>},
      {"fmod", two_of<fmod>},
      {"power", two_of<power>},
      {"float_power", two_of<float_power>},
      {"maximum", two_of<maximum>},
      {"minimum", two_of<minimum>},
      {"fmax", two_of<fmax>},
      {"fmin", two_of<fmin>},
      {"arctan2", two_of<arctan2>},
      {"hypot", two_of<hypot>},
      {"logaddexp", two_of<logaddexp>},
      {"logaddexp2", two_of<logaddexp2>},
      {"copysign", two_of<copysign>},
      {"nextafter", two_of<nextafter>},
      {"heaviside", two_of<heaviside>},
      {"gcd", two_of<gcd>},
      {"lcm", two_of<lcm>},
      {"equal", two_of<equal>},
      {"not_equal", two_of<not_equal>},
      {"less", [](const array& x, const array& y) { return x < y; }},
      {"less_equal", [](const array& x, const array& y) { return x <= y; }},
      {"greater", [](const array& x, const array& y) { return x > y; }},
      {"greater_equal", [](const array& x, const array& y) { return x >= y; }},
      {"logical_and", two_of<logical_and>},
      {"logical_or", two_of<logical_or>},
      {"logical_xor", two_of<logical_xor>},
      {"bitwise_and", two_of<bitwise_and>},
      {"bitwise_or", two_of<bitwise_or>},
      {"bitwise_xor", two_of<bitwise_xor>},
      {"left_shift", two_of<left_shift>},
      {"right_shift", two_of<right_shift>},
      {"ldexp", two_of<ldexp>},
      {"isclose", [](const array& x, const array& y) { return isclose(x, y); }},
      {"outer", two_of<outer>},
      {"xlogy", two_of<scipy::special::xlogy>},
      {"xlog1py", two_of<scipy::special::xlog1py>},
      {"rel_entr", two_of<scipy::special::rel_entr>},
  };
  return table;
}
/// What a function of abstract arrays returns: the letter of its dtype, or '-' if it refuses them.
template <class F>
char letter_of(const std::map<std::string, char>& letters, const F& f) {
  try {
    const array y = f();
    return letters.at(std::string(name(y.dtype())));
  } catch (const error&) {
    return '-';
  }
}
}  // namespace

TEST_CASE("elementwise functions of all pairs of dtypes have the dtypes of JAX, and refuse what it refuses") {
  std::ifstream in(TOKAMAX_ROOT "/tests/golden/result_dtypes.txt");
  std::string line, word;
  std::getline(in, line);
  std::getline(in, line);
  std::map<std::string, char> letters;
  std::vector<array> operands;
  std::istringstream head(line);
  while (head >> word) {
    const auto at = word.find('=');
    if (at != std::string::npos) letters[word.substr(0, at)] = word[at + 1];
    const std::string type = word == "i*" ? "i32" : word == "f*" ? "f32" : word.substr(0, at);
    for (int t = 1; t < dtype_count; ++t)
      if (type == name(static_cast<dtype>(t)))
        operands.emplace_back(array_type{static_cast<dtype>(t), at == std::string::npos, {}});
  }
  REQUIRE(operands.size() == 15);
  std::size_t rows = 0;
  for (; std::getline(in, line); ++rows) {
    std::istringstream words(line);
    std::string function, cells;
    words >> function;
    const auto one = functions_of_one().find(function);
    const auto two = functions_of_two().find(function);
    for (std::size_t k = 0; words >> cells; ++k) {
      std::string found;
      for (const array& x : operands) {
        if (one != functions_of_one().end())
          found += letter_of(letters, [&] { return one->second(x); });
        else
          found += letter_of(letters, [&] { return two->second(operands[k], x); });
      }
      CAPTURE(function, k);
      CHECK(found == cells);
    }
  }
  CHECK(rows == functions_of_one().size() + functions_of_two().size());
}

TEST_CASE("powers of integers keep their low bits, and those of negative exponents are 0, 1 or -1") {
  const array x = array::from<std::int32_t>({3, -3, 46341, -1, 0, 0, 1, 2, -1, 5, 2, 7}),
              y = array::from<std::int32_t>({20, 3, 2, 65, 0, -1, -9, -1, -3, 64, 32, 1000000007});
  const array expected =
      array::from<std::int32_t>({-808182895, -27, -2147479015, -1, 1, 0, 1, 0, -1, -1083564287, 0, 1254924535});
  CHECK(difference(to_values(arrays{power(x, y)}), to_values(arrays{expected}), 0) == "");
  for (int k = 0; k < 12; ++k)  // of an exponent that is known
    CHECK(power(x, array(y.values<std::int32_t>()[k]))(k).item<int>() == expected.values<std::int32_t>()[k]);
  CHECK(power(array::from<std::uint8_t>({3}), 100).values<std::uint8_t>()[0] == 209);
  CHECK(power(array::from<std::uint64_t>({3}), array::from<std::uint64_t>({200})).values<std::uint64_t>()[0] ==
        6627890308811632801u);
}

TEST_CASE("functions of 16-bit floats are rounded once") {
  const array x = array::from<float>({-3.5f, 0.5078125f, 2.734375f, 3.921875f, 9.25f, 30.375f});
  const auto same = [&](const auto& f, double roundings) {
    for (const dtype t : {bf16, f16}) {
      const array exact = f(astype(astype(x, t), f64)), y = astype(f(astype(x, t)), f64);
      const array unit = abs(exact) * (t == bf16 ? 0x1p-8 : 0x1p-11) + (t == bf16 ? 0x1p-132 : 0x1p-24);
      CHECK(all(abs(y - exact) <= unit * roundings).item<bool>());
    }
  };
  same([](const array& v) { return sinc(v); }, 1.01);
  same([](const array& v) { return log2(abs(v)); }, 1.01);
  same([](const array& v) { return erfc(minimum(v, array(5.0, v.type()))); }, 1.01);
  same([](const array& v) { return hypot(v, v * 0.5); }, 1.01);
  same([](const array& v) { return logaddexp2(v, v * 0.5); }, 1.01);
}
