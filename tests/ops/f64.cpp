// tests/ops/f64.cpp: functions of f64 arrays and their derivatives have the digits of f64, as JAX's have.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/sort.hpp>
#include <tokamax/numpy/take_along_axis.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

using namespace tokamax;

namespace {

/// The numbers of make_f64.py's `operand`.
array operand(const shape& s, unsigned seed) {
  array a = array::uninitialized({f64, false, s});
  double* const to = a.mutable_data<double>();
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const std::uint64_t word = (static_cast<std::uint64_t>(i) + 1000u * seed + 1u) * 0x9E3779B97F4A7C15u;
    to[i] = static_cast<double>(word >> 11) * 0x1p-51 - 2.0;
  }
  return a;
}

struct f64_case {
  std::vector<array> operands;
  array (*f)(const std::vector<array>&);
};
using arguments = const std::vector<array>&;

const std::map<std::string, f64_case>& cases() {
  static const array x = operand({3, 5}, 1), y = operand({5}, 2), z = operand({5}, 3);
  static const array q = operand({2, 6, 4, 8}, 4), k = operand({2, 7, 2, 8}, 5), v = operand({2, 7, 2, 8}, 6);
  static const array image = operand({2, 6, 5, 4}, 7), window = operand({3, 2, 2, 6}, 8), weights = operand({5, 9}, 9);
  static const array labels = array::from<std::int64_t>({4, 0, 2});
  static const array along = array::from<std::int64_t>({4, -1, 0, 2, -5, 3}, {3, 2});
  static const array positions = array{0, 1, 2, 100, 5, 7};
  static const std::map<std::string, f64_case> all{
      {"exp", {{x}, [](arguments a) { return exp(a[0]); }}},
      {"expm1", {{x}, [](arguments a) { return expm1(a[0]); }}},
      {"log", {{x}, [](arguments a) { return log(abs(a[0])); }}},
      {"log1p", {{x}, [](arguments a) { return log1p(abs(a[0])); }}},
      {"tanh", {{x}, [](arguments a) { return tanh(a[0]); }}},
      {"logistic", {{x}, [](arguments a) { return logistic(a[0]); }}},
      {"sin", {{x}, [](arguments a) { return sin(a[0]); }}},
      {"cos", {{x}, [](arguments a) { return cos(a[0]); }}},
      {"erf", {{x}, [](arguments a) { return erf(a[0]); }}},
      {"erf_inv", {{x}, [](arguments a) { return erf_inv(a[0] * 0.49); }}},
      {"sqrt", {{x}, [](arguments a) { return sqrt(abs(a[0])); }}},
      {"rsqrt", {{x}, [](arguments a) { return rsqrt(abs(a[0])); }}},
      {"gelu", {{x}, [](arguments a) { return gelu(a[0]); }}},
      {"exact_gelu", {{x}, [](arguments a) { return gelu(a[0], {.approximate = false}); }}},
      {"silu", {{x}, [](arguments a) { return silu(a[0]); }}},
      {"softplus", {{x}, [](arguments a) { return softplus(a[0]); }}},
      {"log_sigmoid", {{x}, [](arguments a) { return log_sigmoid(a[0]); }}},
      {"elu", {{x}, [](arguments a) { return elu(a[0]); }}},
      {"selu", {{x}, [](arguments a) { return selu(a[0]); }}},
      {"normal_cdf", {{x}, [](arguments a) { return normal_cdf(a[0]); }}},
      {"softmax", {{x}, [](arguments a) { return softmax(a[0]); }}},
      {"softmax_columns", {{x}, [](arguments a) { return softmax(a[0], 0); }}},
      {"log_softmax", {{x}, [](arguments a) { return log_softmax(a[0]); }}},
      {"logsumexp", {{x}, [](arguments a) { return logsumexp(a[0], {{-1}}); }}},
      {"cumsum", {{x}, [](arguments a) { return cumsum(a[0]); }}},
      {"sum", {{x}, [](arguments a) { return sum(a[0]); }}},
      {"mean", {{x}, [](arguments a) { return mean(a[0], {{0}}); }}},
      {"var", {{x}, [](arguments a) { return var(a[0], {{-1}}); }}},
      {"pow", {{x, y}, [](arguments a) { return power(abs(a[0]), a[1]); }}},
      {"logaddexp", {{x, y}, [](arguments a) { return logaddexp(a[0], a[1]); }}},
      {"layer_norm", {{x, y, z}, [](arguments a) { return layer_norm(a[0], a[1], a[2]); }}},
      {"rms_norm", {{x, y}, [](arguments a) { return rms_norm(a[0], a[1]); }}},
      {"rotary", {{q}, [](arguments a) { return rotary_embedding(a[0], positions); }}},
      {"rotary_interleaved",
       {{q}, [](arguments a) { return rotary_embedding(a[0], astype(positions, i64), {.interleaved = true}); }}},
      {"attention", {{q, k, v}, [](arguments a) { return dot_product_attention(a[0], a[1], a[2]); }}},
      {"causal_attention",
       {{q, k, v}, [](arguments a) { return dot_product_attention(a[0], a[1], a[2], {.is_causal = true}); }}},
      {"cross_entropy", {{x}, [](arguments a) { return softmax_cross_entropy(a[0], labels); }}},
      {"distribution_cross_entropy", {{x}, [](arguments a) { return softmax_cross_entropy(a[0], softmax(a[0])); }}},
      {"linear_cross_entropy", {{x, weights}, [](arguments a) { return linear_cross_entropy(a[0], a[1], labels); }}},
      {"matmul", {{x, weights}, [](arguments a) { return matmul(a[0], a[1]); }}},
      {"take_along_axis", {{x}, [](arguments a) { return take_along_axis(a[0], along, 1); }}},
      {"argsort",
       {{x}, [](arguments a) { return a[0] * astype(argsort(astype(a[0] * 0x1p40, i64), -1, false, i64), f64); }}},
      {"take_argsort", {{x}, [](arguments a) { return take_along_axis(a[0], argsort(a[0], 0, false, i64), 0); }}},
      {"conv",
       {{image, window},
        [](arguments a) {
          return conv_general_dilated(a[0], a[1],
                                      {.strides = {1, 1},
                                       .low = {1, 0},
                                       .high = {1, 1},
                                       .lhs_dilation = {1, 1},
                                       .rhs_dilation = {1, 1},
                                       .feature_groups = 2});
        }}},
      {"strided_conv",
       {{image, window},
        [](arguments a) {
          return conv_general_dilated(a[0], a[1],
                                      {.strides = {2, 1},
                                       .low = {0, 1},
                                       .high = {0, 0},
                                       .lhs_dilation = {1, 2},
                                       .rhs_dilation = {2, 1},
                                       .feature_groups = 2});
        }}},
      {"max_pool", {{image}, [](arguments a) { return max_pool(a[0], {2, 2}); }}},
      {"avg_pool", {{image}, [](arguments a) { return avg_pool(a[0], {2, 2}); }}}};
  return all;
}

/// The largest difference, relative to the largest number.
double distance(const array& found, const std::vector<double>& expected) {
  REQUIRE(found.dtype() == f64);
  REQUIRE(found.size() == static_cast<std::int64_t>(expected.size()));
  double most = 0, apart = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    most = std::max(most, std::abs(expected[i]));
    apart = std::max(apart, std::abs(found.data<double>()[i] - expected[i]));
    REQUIRE(std::isfinite(found.data<double>()[i]));
  }
  return apart / most;
}

/// The sum of f with weights that differ.
array weighted(const f64_case& c, const std::vector<array>& a) {
  const array y = c.f(a);
  return sum(y * operand(y.shape(), 11));
}

}  // namespace

TEST_CASE("functions of f64 and their derivatives, against JAX with 64-bit types") {
  std::ifstream in(TOKAMAX_ROOT "/tests/golden/f64.txt");
  std::size_t values = 0;
  for (std::string line; std::getline(in, line);) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, which, word;
    words >> name >> which >> word;
    INFO(name + " " + which);
    std::vector<double> expected;
    while (words >> word) expected.push_back(std::strtod(word.c_str(), nullptr));
    REQUIRE(cases().contains(name));
    const f64_case& c = cases().at(name);
    if (which == "value") {
      ++values;
      CHECK(distance(c.f(c.operands), expected) < 1e-13);
      const auto traced = jit([&](const std::vector<array>& a) { return c.f(a); }, cpu, at_run_time)(c.operands);
      CHECK(distance(traced, expected) < 1e-13);
    } else {
      const auto at = static_cast<std::size_t>(which[1] - '0');
      const array d = grad([&](const array& x) {
        std::vector<array> a = c.operands;
        a[at] = x;
        return weighted(c, a);
      })(c.operands[at]);
      CHECK(distance(d, expected) < 1e-13);
    }
  }
  CHECK(values == cases().size());
}

TEST_CASE("f64 has its digits in programs that are compiled too") {
  constexpr auto f = [](const tensor<f64, 3, 5>& x, const tensor<f64, 5>& s) {
    return std::array<array, 3>{softmax(x), layer_norm(x, s, s), gelu(x, {.approximate = false})};
  };
  const tensor<f64, 3, 5> x = operand({3, 5}, 1);
  const tensor<f64, 5> s = operand({5}, 2);
  const auto compiled = jit(f, cpu, while_compiling)(x, s), traced = jit(f, cpu, at_run_time)(x, s);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto expected = traced[i].values<double>();
    CHECK(distance(compiled[i], std::vector<double>(expected.begin(), expected.end())) == 0);
  }
}
