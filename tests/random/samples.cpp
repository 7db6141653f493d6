// tests/random/samples.cpp: samples of every dtype against JAX, row by row of a file.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/random/randint.hpp>
#include <tokamax/random/samplers.hpp>
#include <tokamax/tokamax.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

#include <cmath>
#include <fstream>
#include <sstream>

using namespace tokamax;

namespace {

struct row {
  std::string what;
  dtype type = dtype::none;
  double low = 0, high = 0;
  std::vector<std::uint64_t> bits;
};
std::vector<row> rows() {
  std::vector<row> all;
  std::ifstream in(TOKAMAX_ROOT "/tests/golden/samples.txt");
  for (std::string line; std::getline(in, line);) {
    if (line[0] == '#') continue;
    std::istringstream words(line);
    row r;
    std::string type, word;
    words >> r.what >> type >> r.low >> r.high >> word;
    for (int i = 1; i < dtype_count; ++i)
      if (type == name(static_cast<dtype>(i))) r.type = static_cast<dtype>(i);
    while (words >> word) r.bits.push_back(std::stoull(word, nullptr, 16));
    all.push_back(r);
  }
  return all;
}
array drawn(const row& r, const random::key& k) {
  const auto n = static_cast<std::int64_t>(r.bits.size());
  if (r.what == "uniform") return random::uniform(k, {n}, r.type, r.low, r.high);
  if (r.what == "normal") return random::normal(k, {n}, r.type);
  if (r.what == "gumbel") return random::gumbel(k, {n}, r.type);
  if (r.what == "exponential") return random::exponential(k, {n}, r.type);
  const auto bound = [](double v) {
    return v > highest_of(i32) ? array(static_cast<std::uint32_t>(v)) : array(static_cast<std::int32_t>(v));
  };
  return random::randint(k, {n}, bound(r.low), bound(r.high), r.type);
}
/// Units in the last place of 1 or of the larger of two numbers; 0 where the bits are the same.
double units(const array& found, const row& r) {
  double most = 0;
  dispatch(r.type, [&]<dtype T>() {
    for (std::size_t i = 0; i < r.bits.size(); ++i) {
      const auto x = found.values<element_t<T>>()[i], y = element_bits{r.bits[i]}.as<element_t<T>>();
      if (element_bits::of(x) == element_bits::of(y)) continue;
      const int digits = T == f16 ? 10 : T == bf16 ? 7 : T == f32 ? 23 : 52;
      const double a = as_double(element_bits::of(x), T), b = as_double(element_bits::of(y), T);
      most =
          std::fmax(most, !is_floating(T) ? 1e9 : std::fabs(a - b) / std::exp2(std::fmax(0, std::ilogb(b)) - digits));
    }
  });
  return most;
}

}  // namespace

TEST_CASE("samples of every dtype: bits, and logarithms to few units in the last place") {
  REQUIRE(rows().size() > 60);
  for (const row& r : rows()) {
    INFO(r.what << " " << name(r.type) << " " << r.low << " " << r.high);
    const random::key k(42);
    const array found = drawn(r, k),
                traced = jit([&](const random::key& given) { return drawn(r, given); }, cpu, at_run_time)(k);
    REQUIRE(found.dtype() == r.type);
    const bool exact = r.what == "randint" || r.what == "uniform";
    const double most = exact ? 0 : r.type == f64 ? 16 : 4;  // f64: erf_inv takes the logarithm of a rounded 1 - x^2
    CHECK(units(found, r) <= most);
    CHECK(units(traced, r) <= most);
  }
}

TEST_CASE("dtypes that no sampler has are named") {
  const random::key k(1);
  CHECK_THROWS_WITH(random::uniform(k, {2}, i32), contains("uniform: dtype: found i32"));
  CHECK_THROWS_WITH(random::normal(k, {2}, f8e5m2), contains("normal: dtype: found f8e5m2"));
  CHECK_THROWS_WITH(random::randint(k, {2}, 0, 3, f32), contains("randint: dtype: found f32"));
  CHECK_THROWS_WITH(random::randint(k, {2}, 0, 300, u8),
                    contains("randint: bound: found high, expected a number that fits u8"));
}
