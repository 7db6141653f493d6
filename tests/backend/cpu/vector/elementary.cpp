// tests/backend/cpu/vector/elementary.cpp: how far elementary functions are from the exact value, and their special values.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/core/tensor.hpp>
#include <tokamax/lax/elementwise/bitwise.hpp>
#include <tokamax/lax/elementwise/cube_root.hpp>
#include <tokamax/lax/elementwise/division.hpp>
#include <tokamax/lax/elementwise/hyperbolic.hpp>
#include <tokamax/lax/elementwise/logaddexp.hpp>
#include <tokamax/lax/elementwise/special.hpp>
#include <tokamax/lax/elementwise/trigonometric.hpp>
#include <tokamax/lax/iota.hpp>
#include <tokamax/numpy/clip.hpp>
#include <tokamax/numpy/floor_divide.hpp>
#include <tokamax/ops/activations.hpp>
#include <tokamax/runtime/jit.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::array;

namespace {

using doubles = std::vector<double>;
constexpr std::int64_t points = 200000;

std::uint32_t finite(std::uint32_t bits) { return (bits >> 23 & 0xff) == 0xff ? bits ^ 0x40000000u : bits; }

/// The points of tests/golden/make_accuracy.py: all floats evenly, the middle of the line twice, and the neighbours of
/// special points.
array first() {
  constexpr float near[] = {1,
                            -1,
                            0.5f,
                            -0.5f,
                            88.722839f,
                            -88.722839f,
                            -87.336548f,
                            -103.972084f,
                            3.1415927f,
                            1.5707964f,
                            -1.5707964f,
                            6.2831855f,
                            1e-3f,
                            -1e-3f,
                            0.4f,
                            1.1754944e-38f,
                            -1.1754944e-38f,
                            1e-44f,
                            -5,
                            -14,
                            20,
                            9,
                            3.4028235e38f,
                            16777216};
  array x = array::uninitialized({tk::f32, false, {points}});
  float* const to = x.mutable_data<float>();
  for (std::int64_t i = 0; i < points; ++i) {
    const double at = static_cast<double>(i) / points;
    const auto turn = static_cast<std::uint32_t>(i / 4 / 24 % 41);
    const std::uint32_t all = finite(static_cast<std::uint32_t>(static_cast<std::uint64_t>(i) * 2654435761u)),
                        neighbour = finite(std::bit_cast<std::uint32_t>(near[i / 4 % 24]) + turn - 20u);
    to[i] = i % 4 == 0   ? std::bit_cast<float>(all)
            : i % 4 == 1 ? static_cast<float>(220 * at - 110)
            : i % 4 == 2 ? static_cast<float>(32 * at - 16)
                         : std::bit_cast<float>(neighbour);
  }
  return x;
}
/// Floats, whole numbers, usual exponents, and y for which |x|^y is of every size.
array second(const array& x) {
  constexpr float exponents[] = {0.5f, 2, 3, -0.5f, 100, -1, 0.33333334f, -20};
  array y = array::uninitialized({tk::f32, false, {points}});
  float* const to = y.mutable_data<float>();
  for (std::int64_t i = 0; i < points; ++i) {
    const std::uint64_t any = static_cast<std::uint64_t>(i) * 2246822519u + 3266489917u;
    const double sized = (static_cast<double>(i * 7919 % 310007) / 1000 - 155) /
                         std::log2(std::fabs(static_cast<double>(x.values<float>()[static_cast<std::size_t>(i)])));
    const std::int64_t kind = i / 4 % 4;
    to[i] = kind == 0   ? std::bit_cast<float>(finite(static_cast<std::uint32_t>(any)))
            : kind == 1 ? static_cast<float>(i / 16 % 21 - 10)
            : kind == 2 ? exponents[i / 16 % 8]
                        : static_cast<float>(std::fabs(sized) < 3e38 ? sized : 1);
  }
  return y;
}

struct format {
  int digits;  ///< of the significand
  double end;  ///< what the largest numbers round to
};
constexpr format of_f32{24, 0x1p128}, of_bf16{8, 0x1p128};

/// Units in the last place of the exact value; infinite where only one of both is NaN.
double error(double found, double exact, const format& f) {
  if (std::isnan(exact) || std::isnan(found))
    return std::isnan(exact) == std::isnan(found) ? 0 : std::numeric_limits<double>::infinity();
  const auto cut = [&](double v) { return std::fmin(std::fmax(v, -f.end), f.end); };
  int exponent = 0;
  std::frexp(exact, &exponent);
  const double unit =
      std::ldexp(1.0, std::fabs(exact) >= f.end ? 128 - f.digits : std::max(exponent - f.digits, -125 - f.digits));
  return std::fabs(cut(found) - cut(exact)) / unit;
}

struct row {
  double jax_most, jax_mean, bound;
};
std::map<std::string, row> table() {
  std::map<std::string, row> rows;
  std::ifstream in(TOKAMAX_ROOT "/tests/golden/accuracy.txt");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string name;
    row r{};
    if (words >> name >> r.jax_most >> r.jax_mean >> r.bound) rows[name] = r;
  }
  return rows;
}

doubles widened(const array& x) {
  const array wide = astype(x, tk::f32);
  return {wide.values<float>().begin(), wide.values<float>().end()};
}

/// The largest and the mean error of results, beside JAX's; the first has a bound.
void check_error(const std::string& name, const doubles& found, const doubles& exact, const format& f, double bound,
                 const std::vector<doubles>& at, const row& jax) {
  double most = 0, sum = 0;
  std::size_t worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double e = error(found[i], exact[i], f);
    sum += e;
    if (e > most) most = e, worst = i;
  }
  INFO(name << ": largest " << most << ", mean " << sum / static_cast<double>(found.size()) << "; JAX " << jax.jax_most
            << ", " << jax.jax_mean << "; at " << at[0][worst] << (at.size() > 1 ? ", " : "")
            << (at.size() > 1 ? std::to_string(at[1][worst]) : "") << ": " << found[worst] << " for " << exact[worst]);
  CHECK(most <= bound);
}

double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x))); }
double cdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752); }
double elu(double x, double a) { return x > 0 ? x : a * std::expm1(x); }
double tanh_gelu(double x) { return x * sigmoid(2 * 0.7978845608028654 * (x + 0.044715 * x * x * x)); }
double inverse_erf(double y) {  // by Halley's method, on the side where erfc has all its digits
  if (!(std::fabs(y) < 1)) return std::fabs(y) == 1 ? y * INFINITY : NAN;
  const double rest = 1 - std::fabs(y);  // exact for a float
  double x = std::sqrt(std::fmax(0.0, -std::log(rest * (2 - rest))));
  for (int i = 0; i < 60 && x > 0; ++i) {
    const double off = rest < 0.5 ? rest - std::erfc(x) : std::erf(x) - std::fabs(y);
    const double step = off / (1.1283791670955126 * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return std::copysign(x, y);
}
double floored(double x, double y) {  // the remainder of flooring division
  const double r = std::fmod(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
double floor_quotient(double x, double y) {  // as NumPy divides
  if (y == 0) return x / y;
  const double r = std::fmod(x, y), q = (x - r) / y;
  return std::nearbyint(r != 0 && (r < 0) != (y < 0) ? q - 1 : q);
}
double log_add(double x, double y) { return std::fmax(x, y) + std::log1p(std::exp(-std::fabs(x - y))); }

struct unary_case {
  const char* name;
  array (*ours)(const array&);
  double (*exact)(double);
  double bf16_bound = 0.502;  ///< one rounding, of a value that is nearly exact
};
const unary_case unary_cases[] = {
    {"exp", [](const array& x) { return exp(x); }, std::exp},
    {"expm1", [](const array& x) { return expm1(x); }, std::expm1},
    {"log", [](const array& x) { return log(abs(x)); }, [](double x) { return std::log(std::fabs(x)); }},
    {"log1p", [](const array& x) { return log1p(x); }, std::log1p},
    {"sqrt", [](const array& x) { return sqrt(abs(x)); }, [](double x) { return std::sqrt(std::fabs(x)); }},
    {"rsqrt", [](const array& x) { return rsqrt(abs(x)); }, [](double x) { return 1 / std::sqrt(std::fabs(x)); }},
    {"tanh", [](const array& x) { return tanh(x); }, std::tanh},
    {"logistic", [](const array& x) { return logistic(x); }, sigmoid},
    {"sin", [](const array& x) { return sin(x); }, std::sin},
    {"cos", [](const array& x) { return cos(x); }, std::cos},
    {"erf", [](const array& x) { return erf(x); }, std::erf},
    {"normal_cdf", [](const array& x) { return tk::normal_cdf(x); }, cdf},
    {"gelu_exact", [](const array& x) { return tk::gelu(x, {.approximate = false}); },
     [](double x) { return x * cdf(x); }},
    {"gelu_tanh", [](const array& x) { return tk::gelu(x); }, tanh_gelu, INFINITY},
    {"silu", [](const array& x) { return tk::silu(x); }, [](double x) { return x * sigmoid(x); }, INFINITY},
    {"softplus", [](const array& x) { return tk::softplus(x); }, softplus, 1.6},
    {"log_sigmoid", [](const array& x) { return tk::log_sigmoid(x); }, [](double x) { return -softplus(-x); }, 1.6},
    {"elu", [](const array& x) { return tk::elu(x); }, [](double x) { return elu(x, 1); }},
    {"selu", [](const array& x) { return tk::selu(x); },
     [](double x) { return 1.0507009873554805 * elu(x, 1.6732632423543772); }, 3},
    {"square", [](const array& x) { return square(x); }, [](double x) { return x * x; }},
    {"neg", [](const array& x) { return -x; }, [](double x) { return -x; }},
    {"abs", [](const array& x) { return abs(x); }, std::fabs},
    {"sign", [](const array& x) { return sign(x); }, [](double x) { return x > 0   ? 1.0
                                                                           : x < 0 ? -1.0
                                                                                   : x; }},
    {"floor", [](const array& x) { return floor(x); }, std::floor},
    {"ceil", [](const array& x) { return ceil(x); }, std::ceil},
    {"round", [](const array& x) { return round(x); }, std::nearbyint},
    {"relu", [](const array& x) { return tk::relu(x); }, [](double x) { return x > 0 ? x : 0; }},
    {"relu6", [](const array& x) { return tk::relu6(x); }, [](double x) { return x > 0 ? x < 6 ? x : 6 : 0; }},
    {"leaky_relu", [](const array& x) { return tk::leaky_relu(x); },
     [](double x) { return x > 0 ? x : static_cast<double>(0.01f) * x; }, 1.1},
    {"tan", [](const array& x) { return tan(x); }, std::tan},
    {"asin", [](const array& x) { return asin(x); }, std::asin},
    {"acos", [](const array& x) { return acos(x); }, std::acos},
    {"atan", [](const array& x) { return atan(x); }, std::atan},
    {"sinh", [](const array& x) { return sinh(x); }, std::sinh},
    {"cosh", [](const array& x) { return cosh(x); }, std::cosh},
    {"asinh", [](const array& x) { return asinh(x); }, std::asinh},
    {"acosh", [](const array& x) { return acosh(abs(x)); }, [](double x) { return std::acosh(std::fabs(x)); }},
    {"atanh", [](const array& x) { return atanh(x * 0.0625f); }, [](double x) { return std::atanh(x * 0.0625); }},
    {"cbrt", [](const array& x) { return cbrt(x); }, std::cbrt},
    {"exp2", [](const array& x) { return exp2(x); }, std::exp2},
    {"erf_inv", [](const array& x) { return erf_inv(x * 0.0625f); }, [](double x) { return inverse_erf(x * 0.0625); }},
};

struct binary_case {
  const char* name;
  array (*ours)(const array&, const array&);
  double (*exact)(double, double);
  double bf16_bound = 0.502;
};
const binary_case binary_cases[] = {
    {"add", [](const array& x, const array& y) { return x + y; }, [](double x, double y) { return x + y; }},
    {"sub", [](const array& x, const array& y) { return x - y; }, [](double x, double y) { return x - y; }},
    {"mul", [](const array& x, const array& y) { return x * y; }, [](double x, double y) { return x * y; }},
    {"div", [](const array& x, const array& y) { return x / y; }, [](double x, double y) { return x / y; }},
    {"maximum", [](const array& x, const array& y) { return maximum(x, y); }, std::fmax},
    {"minimum", [](const array& x, const array& y) { return minimum(x, y); }, std::fmin},
    {"atan2", [](const array& x, const array& y) { return atan2(x, y); }, std::atan2},
    {"power", [](const array& x, const array& y) { return power(x, y); }, std::pow},
    {"logaddexp", [](const array& x, const array& y) { return tk::logaddexp(x, y); }, log_add, INFINITY},
    {"rem", [](const array& x, const array& y) { return rem(x, y); }, std::fmod},
    {"remainder", [](const array& x, const array& y) { return remainder(x, y); }, floored},
    {"floor_divide", [](const array& x, const array& y) { return floor_divide(x, y); }, floor_quotient, INFINITY},
    {"clip", [](const array& x, const array& y) { return clip(x, -1, y); },
     [](double x, double y) { return std::fmin(std::fmax(x, -1), y); }},
    {"clamp", [](const array& x, const array& y) { return clamp(-1, x, y); },
     [](double x, double y) { return std::fmin(std::fmax(x, -1), y); }},
    {"fma", [](const array& x, const array& y) { return fma(x, y, x); }, [](double x, double y) { return x * y + x; }},
};

}  // namespace

TEST_CASE("elementary functions are as exact as they say, beside JAX's figures") {
  const auto rows = table();
  const array x = first();
  for (const unary_case& c : unary_cases) {
    const row jax = rows.at(c.name);
    for (const tk::dtype t : {tk::f32, tk::bf16}) {
      const array in = astype(x, t);
      const doubles at = widened(in);
      doubles exact(at.size());
      std::transform(at.begin(), at.end(), exact.begin(), c.exact);
      check_error(c.name, widened(c.ours(in)), exact, t == tk::f32 ? of_f32 : of_bf16,
                  t == tk::f32 ? jax.bound : c.bf16_bound, {at}, jax);
    }
  }
}

TEST_CASE("functions of two numbers are as exact as they say, beside JAX's figures") {
  const auto rows = table();
  const array x = first(), y = second(x);
  for (const binary_case& c : binary_cases) {
    const row jax = rows.at(c.name);
    for (const tk::dtype t : {tk::f32, tk::bf16}) {
      array in = astype(x, t);
      if (c.name == std::string("power")) {  // three of four bases are positive
        const array place = bitwise_and(tk::iota(tk::i32, {points}, 0), 7);
        in = select(place < 6, abs(in), in);
      }
      const doubles a = widened(in), b = widened(astype(y, t));
      doubles exact(a.size());
      std::transform(a.begin(), a.end(), b.begin(), exact.begin(), c.exact);
      check_error(c.name, widened(c.ours(in, astype(y, t))), exact, t == tk::f32 ? of_f32 : of_bf16,
                  t == tk::f32 ? jax.bound : c.bf16_bound, {a, b}, jax);
    }
  }
}

TEST_CASE("every elementwise function of numbers is in the table of accuracy") {
  // These have no error: they give truth values, integers or the same bits, or are another name.
  const std::set<std::string> others{"equal", "not_equal", "isfinite", "sigmoid", "quotient", "population_count",
                                     "clz",   "select",    "where"};
  const std::regex function(
      R"(\nconstexpr array (\w+)\(const array& \w+(, const array& \w+)*,\s+(source_line|double|\w+_options) )"),
      no_number("(bitwise|logical|shift)_.*|.*_here");
  const auto rows = table();
  int checked = 0;
  for (const char* folder : {"lax", "ops"})
    for (const auto& file :
         std::filesystem::recursive_directory_iterator(TOKAMAX_ROOT "/include/tokamax/" + std::string(folder))) {
      if (!file.is_regular_file()) continue;
      std::ifstream in(file.path());
      const std::string text((std::istreambuf_iterator<char>(in)), {});
      if (text.find("= elementwise<") == std::string::npos) continue;
      for (std::sregex_iterator at(text.begin(), text.end(), function), end; at != end; ++at) {
        const std::string name = (*at)[1];
        if (others.contains(name) || std::regex_match(name, no_number)) continue;
        const auto row = rows.lower_bound(name);
        CAPTURE(name);
        CHECK((row != rows.end() && (row->first == name || row->first.starts_with(name + "_"))));
        ++checked;
      }
    }
  CHECK(checked > 35);
}

TEST_CASE("exp and what is made of it reach the ends of the range") {
  const array x = array::from<float>({88.5f, 88.72283f, 88.722845f, -87.5f, -103.9f, -104.5f, INFINITY, -INFINITY});
  const array y = exp(x), minus_one = expm1(x);
  const auto v = y.values<float>(), w = minus_one.values<float>();
  CHECK(v[0] == Approx(2.72308771e38).epsilon(1.3e-7));
  CHECK(std::isfinite(v[1]));
  CHECK(std::isinf(v[2]));
  CHECK(v[3] == Approx(std::exp(-87.5)).epsilon(1e-6));
  CHECK(v[4] == 0x1p-149f);
  CHECK(v[5] == 0);
  CHECK(std::isinf(v[6]));
  CHECK(v[7] == 0);
  CHECK(w[0] == Approx(2.72308771e38).epsilon(1.3e-7));
  CHECK(std::isfinite(w[1]));
  CHECK(w[7] == -1);
  CHECK(logistic(array::from<float>({-95})).values<float>()[0] == Approx(std::exp(-95.0)).epsilon(1e-2));
  CHECK(
      std::isfinite(static_cast<float>(exp(astype(array::from<float>({88.5f}), tk::bf16)).values<tk::bfloat16>()[0])));
}

TEST_CASE("power of whole numbers, roots and large exponents") {
  const array x = array::from<float>({2, 3, -2, 9, 1e-45f, 0.9f, 2, -8, 1e-40f}),
              y = array::from<float>({100, 3, 5, 0.5f, 0.5f, 494, -149, 0.33f, -0.5f});
  const array z = power(x, y);
  const auto v = z.values<float>();
  CHECK(v[0] == 0x1p100f);
  CHECK(v[1] == 27);
  CHECK(v[2] == -32);
  CHECK(v[3] == 3);
  CHECK(v[4] == static_cast<float>(std::sqrt(static_cast<double>(1e-45f))));
  CHECK(v[5] == static_cast<float>(std::pow(static_cast<double>(0.9f), 494.0)));
  CHECK(v[6] == 0x1p-149f);
  CHECK(std::isnan(v[7]));
  CHECK(v[8] == Approx(1e20).epsilon(1e-4));
}

TEST_CASE("zeros keep the sign that IEEE 754 gives them") {
  const array minus = array::from<float>({-0.0f, -0.0f}), both = array::from<float>({0.0f, -0.0f});
  for (const array& y : {expm1(minus), log1p(minus), tk::elu(minus), tk::selu(minus), sin(minus), erf(minus),
                         tk::gelu(minus, {.approximate = false}), minimum(both, minus), minimum(minus, both)})
    for (const float v : y.values<float>()) CHECK(std::bit_cast<std::uint32_t>(v) == 0x80000000u);
  for (const array& y : {maximum(both, minus), maximum(minus, both)}) {
    CHECK(!std::signbit(y.values<float>()[0]));
    CHECK(std::signbit(y.values<float>()[1]));
  }
}

namespace {
constexpr auto all_of_them = [](const tk::tensor<tk::f32, 1003>& v) {
  const array &x = v, y = x * 0.25f;
  return std::array<array, 9>{exp(x),
                              expm1(x),
                              log1p(x),
                              logistic(x),
                              power(abs(x), y),
                              tk::normal_cdf(x),
                              maximum(x, y),
                              tk::gelu(x, {.approximate = false}),
                              tk::logaddexp(x, y)};
};
std::vector<std::uint32_t> bits(const array& x) {
  std::vector<std::uint32_t> b;
  for (const float v : x.values<float>()) b.push_back(std::isnan(v) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(v));
  return b;
}
}  // namespace

TEST_CASE("elementary functions have the same bits in static and run-time programs and alone") {
  const array all = first();
  array some = array::uninitialized({tk::f32, false, {1003}});
  for (std::size_t i = 0; i < 1003; ++i) some.mutable_data<float>()[i] = all.values<float>()[i * 199];
  const tk::tensor<tk::f32, 1003> x(some);
  const auto alone = all_of_them(x);
  const auto check = [&](const auto& found) {
    for (std::size_t k = 0; k < alone.size(); ++k) CHECK(bits(found[k]) == bits(alone[k]));
  };
  check(tk::jit(all_of_them, tk::cpu, tk::at_run_time)(x));
  check(tk::jit(all_of_them, tk::cpu, tk::while_compiling)(x));
}
