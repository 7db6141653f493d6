// tests/lax/fourier/fft.cpp: Fourier transforms of many lengths, compared with sums in double precision.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/lax/fourier/fft.hpp>

#include "support/check_op.hpp"

#include <cmath>
#include <complex>
#include <limits>

using namespace tokamax;
using namespace tokamax::test;

namespace {
using numbers = std::vector<std::complex<double>>;

numbers sums(const numbers& x, double sign) {
  const std::size_t n = x.size();
  numbers y(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j)
      y[k] += x[j] * std::polar(1.0, sign * 2 * M_PI * static_cast<double>(j * k % n) / static_cast<double>(n));
  return y;
}
numbers row_of(const complex_parts& x, std::size_t row, std::size_t n) {
  const value re = to_value(x.re), im = to_value(x.im);
  numbers out;
  for (std::size_t i = 0; i < n; ++i) out.push_back({re.data[row * n + i], im.data[row * n + i]});
  return out;
}
double distance_of(const numbers& a, const numbers& b) {
  double most = 0, scale = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::fmax(most, std::abs(a[i] - b[i]));
    scale = std::fmax(scale, std::abs(b[i]));
  }
  return most / scale;
}
}  // namespace

TEST_CASE("fft and ifft are sums, for lengths with small, large and no factors") {
  for (const dtype t : {f32, f64})
    for (const std::int64_t n : {1, 2, 3, 8, 37, 60, 64, 67, 96, 131, 134, 256, 360, 1009}) {
      INFO(n << " " << std::string(name(t)));
      const complex_parts x{noise({2, n}, 1, t), noise({2, n}, 2, t)};
      const complex_parts y = fft(x), back = ifft(y);
      const auto count = static_cast<std::size_t>(n);
      const double bound = t == f64 ? 1e-13 : 2e-6;
      CHECK(distance_of(row_of(y, 1, count), sums(row_of(x, 1, count), -1)) < bound);
      CHECK(distance_of(row_of(back, 0, count), row_of(x, 0, count)) < bound);
    }
}

TEST_CASE("the transforms of real numbers are halves of the others") {
  for (const std::int64_t n : {1, 2, 7, 12, 67}) {
    const array x = noise({3, n}, 4);
    const complex_parts half = rfft(x), all = fft({x, zeros_like(x)});
    REQUIRE(half.re.shape() == shape{3, n / 2 + 1});
    const complex_parts first{slice_in_dim(all.re, 0, n / 2 + 1, -1), slice_in_dim(all.im, 0, n / 2 + 1, -1)};
    const auto count = static_cast<std::size_t>(n / 2 + 1);
    CHECK(distance_of(row_of(half, 2, count), row_of(first, 2, count)) == 0);
    const value back = to_value(irfft(half, n)), given = to_value(x);
    for (std::size_t i = 0; i < back.data.size(); ++i) CHECK(std::fabs(back.data[i] - given.data[i]) < 2e-6);
  }
}

TEST_CASE("derivatives, batches and programs of transforms are right") {
  const function f = [](const arrays& x) -> arrays {
    const complex_parts y = fft({x[0], x[1]});
    return {y.re, y.im};
  };
  check_function(f, {noise({6}, 1), noise({6}, 2)}, {.order = 1});
  check_function([](const arrays& x) -> arrays { return irfft(rfft(x[0]), 10); }, {noise({2, 10}, 1)}, {.order = 1});
}

TEST_CASE("a number that is none spoils its own row only") {
  constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t n : {12, 67, 128, 1024})
    for (const float bad : {inf, -inf, nan}) {
      const array x = noise({10, n}, 1), y = noise({10, n}, 2);
      array spoiled = noise({10, n}, 1);
      spoiled.mutable_data<float>()[4 * n + 5] = bad;
      const complex_parts a = fft({x, y}), b = fft({spoiled, y}), c = rfft(x), d = rfft(spoiled);
      const auto others = [](const complex_parts& v) -> std::vector<array> {
        return {slice_in_dim(v.re, 0, 4, 0), slice_in_dim(v.im, 0, 4, 0), slice_in_dim(v.re, 5, 10, 0),
                slice_in_dim(v.im, 5, 10, 0)};
      };
      CHECK(bit_difference(others(a), others(b)) == "");
      CHECK(bit_difference(others(c), others(d)) == "");
      for (const auto& v : row_of(b, 4, static_cast<std::size_t>(n))) CHECK_FALSE(std::isfinite(std::abs(v)));
    }
}

TEST_CASE("long transforms of an impulse are roots of one") {
  for (const dtype t : {f32, f64})
    for (const std::int64_t n : {4096, 32768, 78125, 100003, 262144}) {
      const array place = iota(i32, {1, n}, 1), x = astype(place == array(1), t);
      const complex_parts all = fft({x, zeros_like(x)}), half = rfft(x);
      for (const complex_parts& y : {all, half}) {
        const value re = to_value(y.re), im = to_value(y.im);
        double most = 0;
        for (std::size_t k = 0; k < re.data.size(); ++k)
          most =
              std::fmax(most, std::abs(std::complex(re.data[k], im.data[k]) -
                                       std::polar(1.0, -2 * M_PI * static_cast<double>(k) / static_cast<double>(n))));
        INFO(n << " " << std::string(name(t)));
        CHECK(most < (t == f64 ? 1e-14 : 1e-6));
      }
    }
}

TEST_CASE("operands that cannot be transformed are rejected") {
  CHECK_THROWS_WITH(rfft(zeros({3, 0})), contains("rfft: operand"));
  CHECK_THROWS_WITH(fft({zeros({3}), zeros({4})}), contains("fft: operand: found f32[4]"));
  CHECK_THROWS_WITH(rfft(array(1.0f)), contains("rfft: operand"));
  CHECK_THROWS_WITH(irfft(rfft(zeros({8})), 12), contains("irfft: length: found 12"));
}
