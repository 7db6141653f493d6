// tests/backend/cpu/norm.cpp: norms and their cotangents against double loops, same bits for any team.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/norm.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace simd = tokamax::simd;
using floats = std::vector<float>;
using doubles = std::vector<double>;

namespace {

floats random_floats(std::int64_t n, std::uint32_t seed, float shift = 0.0f) {
  floats x(static_cast<std::size_t>(n));
  for (float& v : x) {
    seed = seed * 1664525u + 1013904223u;
    v = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f + shift;
  }
  return x;
}

double distance(const floats& a, const doubles& b) {
  double most = 0, size = 1e-30;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::fabs(static_cast<double>(a[i]) - b[i]));
    size = std::max(size, std::fabs(b[i]));
  }
  return most / size;
}

struct expected {
  doubles y, dx, dscale, doffset;
};

expected reference(std::int64_t rows, std::int64_t cols, const floats& x, const floats& scale, const floats& offset,
                   const floats& dy, double epsilon, bool centred) {
  const auto cells = static_cast<std::size_t>(rows * cols);
  const auto c = static_cast<std::size_t>(cols);
  expected e{doubles(cells), doubles(cells), doubles(c), doubles(c)};
  for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
    double mean = 0, square = 0, g_mean = 0, gx_mean = 0;
    for (std::size_t j = 0; j < c && centred; ++j) mean += static_cast<double>(x[r * c + j]);
    mean /= static_cast<double>(cols);
    for (std::size_t j = 0; j < c; ++j) square += std::pow(static_cast<double>(x[r * c + j]) - mean, 2);
    const double rstd = 1 / std::sqrt(square / static_cast<double>(cols) + epsilon);
    const auto x_hat = [&](std::size_t j) { return (static_cast<double>(x[r * c + j]) - mean) * rstd; };
    const auto g = [&](std::size_t j) { return static_cast<double>(dy[r * c + j]) * static_cast<double>(scale[j]); };
    for (std::size_t j = 0; j < c; ++j) {
      g_mean += centred ? g(j) / static_cast<double>(cols) : 0.0;
      gx_mean += g(j) * x_hat(j) / static_cast<double>(cols);
    }
    for (std::size_t j = 0; j < c; ++j) {
      e.y[r * c + j] = x_hat(j) * static_cast<double>(scale[j]) + (centred ? static_cast<double>(offset[j]) : 0.0);
      e.dx[r * c + j] = rstd * (g(j) - g_mean - x_hat(j) * gx_mean);
      e.dscale[j] += static_cast<double>(dy[r * c + j]) * x_hat(j);
      e.doffset[j] += static_cast<double>(dy[r * c + j]);
    }
  }
  return e;
}

}  // namespace

TEST_CASE("norm: forward and backward against double loops") {
  for (const bool centred : {true, false}) {
    for (const std::int64_t rows : {0, 1, 3, 32, 33, 1000}) {
      for (const std::int64_t cols : {1, 2, 7, 8, 31, 64, 257, 768}) {
        if (rows == 1000 && cols > 64 && cols != 257) continue;
        // a mean much larger than the spread: one pass over squares would lose the digits
        const floats x = random_floats(rows * cols, 1, centred ? 30.0f : 0.0f), dy = random_floats(rows * cols, 2);
        const floats scale = random_floats(cols, 3), offset = random_floats(cols, 4);
        const expected e = reference(rows, cols, x, scale, offset, dy, 1e-3, centred);
        floats last_dx, last_dscale;
        for (const int threads : {1, 2, 3}) {
          simd::set_num_threads(threads);
          floats y(x.size()), dx(x.size()), dscale(scale.size(), 9.0f), doffset(scale.size(), 9.0f);
          if (centred) {
            simd::layer_norm(rows, cols, x.data(), scale.data(), offset.data(), 1e-3f, y.data());
            simd::layer_norm_backward(rows, cols, x.data(), scale.data(), dy.data(), 1e-3f, dx.data(), dscale.data(),
                                      doffset.data());
            CHECK(distance(doffset, e.doffset) < 1e-5);
          } else {
            simd::rms_norm(rows, cols, x.data(), scale.data(), 1e-3f, y.data());
            simd::rms_norm_backward(rows, cols, x.data(), scale.data(), dy.data(), 1e-3f, dx.data(), dscale.data());
          }
          CAPTURE(centred, rows, cols, threads);
          const double bound = centred ? 1e-4 : 2e-6;  // x itself is only known to 30 * 6e-8
          CHECK(distance(y, e.y) < bound);
          if (cols > 2) CHECK(distance(dx, e.dx) < 10 * bound);  // one or two columns cancel to rounding noise
          CHECK(distance(dscale, e.dscale) < 10 * bound);
          if (threads > 1) {
            CHECK(dx == last_dx);
            CHECK(dscale == last_dscale);
          }
          last_dx = dx;
          last_dscale = dscale;
        }
        simd::set_num_threads(0);
      }
    }
  }
}

TEST_CASE("norm: results may replace their inputs") {
  const std::int64_t rows = 5, cols = 37;
  const floats x = random_floats(rows * cols, 5), dy = random_floats(rows * cols, 6), scale = random_floats(cols, 7);
  floats y(x.size()), in_place = x, dx(x.size()), dx_in_place = dy, sums(scale.size()), other(scale.size());
  simd::layer_norm(rows, cols, x.data(), scale.data(), scale.data(), 1e-5f, y.data());
  simd::layer_norm(rows, cols, in_place.data(), scale.data(), scale.data(), 1e-5f, in_place.data());
  CHECK(y == in_place);
  simd::layer_norm_backward(rows, cols, x.data(), scale.data(), dy.data(), 1e-5f, dx.data(), sums.data(), other.data());
  simd::layer_norm_backward(rows, cols, x.data(), scale.data(), dx_in_place.data(), 1e-5f, dx_in_place.data(),
                            sums.data(), other.data());
  CHECK(dx == dx_in_place);
}
