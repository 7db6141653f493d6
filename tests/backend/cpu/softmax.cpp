// tests/backend/cpu/softmax.cpp: softmax, logsumexp and cross entropy against double loops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/softmax.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace simd = tokamax::simd;
using floats = std::vector<float>;
using doubles = std::vector<double>;

namespace {

floats random_floats(std::int64_t n, std::uint32_t seed, float size = 1.0f) {
  floats x(static_cast<std::size_t>(n));
  for (float& v : x) {
    seed = seed * 1664525u + 1013904223u;
    v = (static_cast<float>(seed >> 8) / 8388608.0f - 1.0f) * size;
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

}  // namespace

TEST_CASE("softmax: all of it against double loops") {
  for (const std::int64_t rows : {0, 1, 3, 100}) {
    for (const std::int64_t cols : {1, 2, 7, 8, 33, 256, 5003}) {
      const auto r = static_cast<std::size_t>(rows), c = static_cast<std::size_t>(cols);
      const floats x = random_floats(rows * cols, 1, 20.0f), dy = random_floats(rows * cols, 2);
      const floats dloss = random_floats(rows, 3);
      std::vector<std::int32_t> labels(r);
      doubles y(r * c), dx(r * c), sums(r), loss(r), dlogits(r * c);
      for (std::size_t i = 0; i < r; ++i) {
        labels[i] = static_cast<std::int32_t>((i * 7) % c) - (i % 2 == 0 ? 0 : static_cast<std::int32_t>(c));
        double sum = 0, dot = 0;
        for (std::size_t j = 0; j < c; ++j) sum += std::exp(static_cast<double>(x[i * c + j]));
        sums[i] = std::log(sum);
        for (std::size_t j = 0; j < c; ++j) {
          y[i * c + j] = std::exp(static_cast<double>(x[i * c + j])) / sum;
          dot += y[i * c + j] * static_cast<double>(dy[i * c + j]);
        }
        for (std::size_t j = 0; j < c; ++j) {
          dx[i * c + j] = y[i * c + j] * (static_cast<double>(dy[i * c + j]) - dot);
          dlogits[i * c + j] = (y[i * c + j] - (j == (i * 7) % c ? 1.0 : 0.0)) * static_cast<double>(dloss[i]);
        }
        loss[i] = sums[i] - static_cast<double>(x[i * c + (i * 7) % c]);
      }
      floats before;
      for (const int threads : {1, 2}) {
        simd::set_num_threads(threads);
        floats y_got(r * c), dx_got(r * c), sums_got(r), loss_got(r), lse(r), d_got(r * c), d_again(r * c);
        simd::softmax(rows, cols, x.data(), y_got.data());
        simd::softmax_backward(rows, cols, y_got.data(), dy.data(), dx_got.data());
        simd::logsumexp(rows, cols, x.data(), sums_got.data());
        simd::softmax_cross_entropy(rows, cols, x.data(), labels.data(), loss_got.data(), lse.data());
        simd::softmax_cross_entropy_backward(rows, cols, x.data(), labels.data(), lse.data(), dloss.data(),
                                             d_got.data());
        simd::softmax_cross_entropy_backward<std::int32_t>(rows, cols, x.data(), labels.data(), nullptr, dloss.data(),
                                                           d_again.data());
        CAPTURE(rows, cols, threads);
        CHECK(distance(y_got, y) < 2e-6);
        if (cols > 1) CHECK(distance(dx_got, dx) < 1e-5);
        CHECK(distance(sums_got, sums) < 1e-6);
        CHECK(lse == sums_got);
        if (cols > 1) CHECK(distance(loss_got, loss) < 2e-6);
        if (cols > 1) CHECK(distance(d_got, dlogits) < 1e-5);
        CHECK(d_got == d_again);
        floats in_place = x;
        simd::softmax(rows, cols, in_place.data(), in_place.data());
        CHECK(in_place == y_got);
        if (threads == 2) CHECK(before == d_got);
        before = d_got;
      }
      simd::set_num_threads(0);
    }
  }
}

TEST_CASE("softmax: infinities, NaN and labels out of range") {
  const float inf = INFINITY;
  const floats x = {-inf, 0.0f, -inf, -inf, -inf, -inf, NAN, 1.0f, 2.0f, inf, 1.0f, 0.0f, 1e4f, -1e4f, 1e4f};
  floats y(15), sums(5), loss(5);
  simd::softmax(5, 3, x.data(), y.data());
  CHECK(y[0] == 0.0f);
  CHECK(y[1] == 1.0f);
  CHECK(std::isnan(y[3]));
  CHECK(std::isnan(y[7]));
  CHECK(std::isnan(y[9]));
  CHECK(y[12] == 0.5f);
  CHECK(y[13] == 0.0f);
  simd::logsumexp(5, 3, x.data(), sums.data());
  CHECK(sums[0] == 0.0f);
  CHECK(sums[1] == -inf);
  CHECK(std::isnan(sums[2]));
  CHECK(sums[3] == inf);
  CHECK(sums[4] == 1e4f + std::log(2.0f));
  const std::int64_t labels[] = {1, 3, -4, -1, 0};
  const floats plain = random_floats(15, 5);
  simd::softmax_cross_entropy(5, 3, plain.data(), labels, loss.data());
  CHECK(std::isnan(loss[1]));
  CHECK(std::isnan(loss[2]));
  CHECK(std::isfinite(loss[3]));
  CHECK(std::isfinite(loss[4]));
}
