// tests/backend/cpu/row_ops/norm.cpp: norms and their cotangents against double loops, same bits for any team.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/row_ops/norm.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;
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
      for (const std::int64_t cols : {1, 2, 7, 8, 31, 64, 257, 768, 2049, 5003}) {
        if (rows == 1000 && cols > 64 && cols != 257) continue;
        // a mean much larger than the spread: one pass over squares would lose the digits
        const floats x = random_floats(rows * cols, 1, centred ? 30.0f : 0.0f), dy = random_floats(rows * cols, 2);
        const floats scale = random_floats(cols, 3), offset = random_floats(cols, 4);
        const expected e = reference(rows, cols, x, scale, offset, dy, 1e-3, centred);
        floats last_dx, last_dscale;
        for (const int threads : {1, 2, 3}) {
          cpu_backend::set_num_threads(threads);
          floats y(x.size()), dx(x.size()), dscale(scale.size(), 9.0f), doffset(scale.size(), 9.0f);
          if (centred) {
            cpu_backend::layer_norm(rows, cols, x.data(), scale.data(), offset.data(), 1e-3f, y.data());
            cpu_backend::layer_norm_backward(rows, cols, x.data(), scale.data(), dy.data(), 1e-3f, dx.data(),
                                             dscale.data(), doffset.data());
            CHECK(distance(doffset, e.doffset) < 1e-5);
          } else {
            cpu_backend::rms_norm(rows, cols, x.data(), scale.data(), 1e-3f, y.data());
            cpu_backend::rms_norm_backward(rows, cols, x.data(), scale.data(), dy.data(), 1e-3f, dx.data(),
                                           dscale.data());
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
        cpu_backend::set_num_threads(0);
      }
    }
  }
}

TEST_CASE("norm: results may replace their inputs") {
  const std::int64_t rows = 5, cols = 37;
  const floats x = random_floats(rows * cols, 5), dy = random_floats(rows * cols, 6), scale = random_floats(cols, 7);
  floats y(x.size()), in_place = x, dx(x.size()), dx_in_place = dy, sums(scale.size()), other(scale.size());
  cpu_backend::layer_norm(rows, cols, x.data(), scale.data(), scale.data(), 1e-5f, y.data());
  cpu_backend::layer_norm(rows, cols, in_place.data(), scale.data(), scale.data(), 1e-5f, in_place.data());
  CHECK(y == in_place);
  cpu_backend::layer_norm_backward(rows, cols, x.data(), scale.data(), dy.data(), 1e-5f, dx.data(), sums.data(),
                                   other.data());
  cpu_backend::layer_norm_backward(rows, cols, x.data(), scale.data(), dx_in_place.data(), 1e-5f, dx_in_place.data(),
                                   sums.data(), other.data());
  CHECK(dx == dx_in_place);
}

TEST_CASE("norm: bfloat16 has the bits of f32, rounded") {
  using tokamax::bfloat16;
  const auto narrow = [](const floats& x) { return std::vector<bfloat16>(x.begin(), x.end()); };
  const auto wide = [](const std::vector<bfloat16>& x) { return floats(x.begin(), x.end()); };
  for (const std::int64_t rows : {1, 3, 37})
    for (const std::int64_t cols : {1, 7, 8, 31, 64, 257, 2049}) {
      CAPTURE(rows, cols);
      const auto x = narrow(random_floats(rows * cols, 1, 3.0f)), dy = narrow(random_floats(rows * cols, 2));
      const floats wide_x = wide(x), wide_dy = wide(dy), scale = random_floats(cols, 3),
                   offset = random_floats(cols, 4);
      auto y = x, dx = x;
      floats wide_y(x.size()), wide_dx(x.size()), dscale(scale.size()), doffset(dscale), wide_dscale(dscale),
          wide_doffset(dscale);
      cpu_backend::layer_norm(rows, cols, x.data(), scale.data(), offset.data(), 1e-3f, y.data());
      cpu_backend::layer_norm(rows, cols, wide_x.data(), scale.data(), offset.data(), 1e-3f, wide_y.data());
      CHECK(wide(y) == wide(narrow(wide_y)));
      cpu_backend::rms_norm(rows, cols, x.data(), scale.data(), 1e-3f, y.data());
      cpu_backend::rms_norm(rows, cols, wide_x.data(), scale.data(), 1e-3f, wide_y.data());
      CHECK(wide(y) == wide(narrow(wide_y)));
      cpu_backend::layer_norm_backward(rows, cols, x.data(), scale.data(), dy.data(), 1e-3f, dx.data(), dscale.data(),
                                       doffset.data());
      cpu_backend::layer_norm_backward(rows, cols, wide_x.data(), scale.data(), wide_dy.data(), 1e-3f, wide_dx.data(),
                                       wide_dscale.data(), wide_doffset.data());
      CHECK(wide(dx) == wide(narrow(wide_dx)));
      CHECK(dscale == wide_dscale);
      CHECK(doffset == wide_doffset);
      cpu_backend::rms_norm_backward(rows, cols, x.data(), scale.data(), dy.data(), 1e-3f, dx.data(), dscale.data());
      cpu_backend::rms_norm_backward(rows, cols, wide_x.data(), scale.data(), wide_dy.data(), 1e-3f, wide_dx.data(),
                                     wide_dscale.data());
      CHECK(wide(dx) == wide(narrow(wide_dx)));
      CHECK(dscale == wide_dscale);
    }
}

TEST_CASE("norm: the blocks of a long row may have means and spreads of their own") {
  const std::int64_t cols = 3 * 2048 + 100;
  floats x = random_floats(cols, 1), dy = random_floats(cols, 2);
  for (std::size_t j = 0; j < x.size(); ++j)
    x[j] = x[j] * static_cast<float>(1 + j / 2048) + 100.0f * static_cast<float>(j / 2048);
  const floats scale = random_floats(cols, 3), offset = random_floats(cols, 4);
  const expected e = reference(1, cols, x, scale, offset, dy, 1e-3, true);
  floats y(x.size()), dx(x.size()), dscale(x.size()), doffset(x.size());
  cpu_backend::layer_norm(1, cols, x.data(), scale.data(), offset.data(), 1e-3f, y.data());
  cpu_backend::layer_norm_backward(1, cols, x.data(), scale.data(), dy.data(), 1e-3f, dx.data(), dscale.data(),
                                   doffset.data());
  CHECK(distance(y, e.y) < 2e-6);
  CHECK(distance(dx, e.dx) < 2e-6);
  CHECK(distance(dscale, e.dscale) < 2e-6);
}

TEST_CASE("norm: rows without columns, denormals, NaN and infinity") {
  float none = 7.0f;
  cpu_backend::layer_norm(2, 0, &none, &none, &none, 1e-5f, &none);
  cpu_backend::layer_norm_backward(2, 0, &none, &none, &none, 1e-5f, &none, &none, &none);
  cpu_backend::rms_norm_backward(2, 0, &none, &none, &none, 1e-5f, &none, &none);
  CHECK(none == 7.0f);
  for (const std::int64_t cols : {3, 19, 4099}) {
    const auto c = static_cast<std::size_t>(cols);
    const floats ones(2 * c, 1.0f), tiny(2 * c, 1e-41f);
    floats y(2 * c, 9.0f), dx(2 * c, 9.0f), dscale(c), doffset(c);
    cpu_backend::layer_norm(2, cols, tiny.data(), ones.data(), ones.data(), 1e-5f, y.data());
    CHECK(*std::max_element(y.begin(), y.end()) == 1.0f);
    cpu_backend::rms_norm(2, cols, tiny.data(), ones.data(), 1e-5f, y.data());
    CHECK(y[0] == Approx(1e-41f / std::sqrt(1e-5f)).epsilon(1e-3));
    for (const float bad : {NAN, INFINITY}) {
      floats x = random_floats(2 * cols, 8);
      x[c - 1] = bad;  // in the first row only
      CAPTURE(cols, bad);
      cpu_backend::layer_norm(2, cols, x.data(), ones.data(), ones.data(), 1e-5f, y.data());
      CHECK(std::isnan(y[0]));
      CHECK(std::all_of(y.begin() + cols, y.end(), [](float v) { return std::isfinite(v); }));
      cpu_backend::layer_norm_backward(2, cols, x.data(), ones.data(), ones.data(), 1e-5f, dx.data(), dscale.data(),
                                       doffset.data());
      CHECK(std::isnan(dx[0]));
      CHECK(std::all_of(dx.begin() + cols, dx.end(), [](float v) { return std::isfinite(v); }));
      CHECK(doffset == floats(c, 2.0f));
      cpu_backend::rms_norm(2, cols, x.data(), ones.data(), 1e-5f, y.data());
      CHECK(std::isnan(y[c - 1]));
      CHECK(std::all_of(y.begin() + cols, y.end(), [](float v) { return std::isfinite(v); }));
    }
  }
}

TEST_CASE("norm: memory of any alignment, and nothing beside the rows is touched") {
  const std::int64_t rows = 6, cols = 37;
  const auto cells = static_cast<std::size_t>(rows * cols);
  const floats x = random_floats(rows * cols, 1), dy = random_floats(rows * cols, 2), scale = random_floats(cols, 3);
  floats y(cells), dx(cells), sums(scale.size()), more(scale.size());
  cpu_backend::layer_norm(rows, cols, x.data(), scale.data(), scale.data(), 1e-5f, y.data());
  cpu_backend::layer_norm_backward(rows, cols, x.data(), scale.data(), dy.data(), 1e-5f, dx.data(), sums.data(),
                                   more.data());
  for (std::size_t shift = 1; shift < 16; shift += 2) {
    const auto moved = [shift](const floats& v) {
      floats m(v.size() + 16, 9.0f);
      std::copy(v.begin(), v.end(), m.begin() + static_cast<std::ptrdiff_t>(shift));
      return m;
    };
    const floats mx = moved(x), mdy = moved(dy), ms = moved(scale);
    floats to(cells + 16, 9.0f), grad(cells + 16, 9.0f), s(scale.size() + 16, 9.0f), o(scale.size() + 16, 9.0f);
    cpu_backend::layer_norm(rows, cols, mx.data() + shift, ms.data() + shift, ms.data() + shift, 1e-5f,
                            to.data() + shift);
    cpu_backend::layer_norm_backward(rows, cols, mx.data() + shift, ms.data() + shift, mdy.data() + shift, 1e-5f,
                                     grad.data() + shift, s.data() + shift, o.data() + shift);
    CHECK(to == moved(y));
    CHECK(grad == moved(dx));
    CHECK(s == moved(sums));
    CHECK(o == moved(more));
  }
}

TEST_CASE("norm: results past the caches have the bits of those in place") {
  const std::int64_t rows = 1203, cols = 3520;  // more than 16 MB
  const floats x = random_floats(rows * cols, 6), dy = random_floats(rows * cols, 7), scale = random_floats(cols, 8);
  float* const y = cpu_backend::scratch<struct y_on_lines>(rows * cols);
  const auto cells = static_cast<std::size_t>(rows * cols);
  const auto same = [=](const floats& a) { return std::equal(a.begin(), a.end(), y, y + cells); };
  floats in_place = x, gradient = dy, sums(scale.size()), more(scale.size()), sums_again(sums), more_again(more);
  cpu_backend::layer_norm(rows, cols, in_place.data(), scale.data(), scale.data(), 1e-5f, in_place.data());
  cpu_backend::layer_norm(rows, cols, x.data(), scale.data(), scale.data(), 1e-5f, y);
  CHECK(same(in_place));
  cpu_backend::layer_norm_backward(rows, cols, x.data(), scale.data(), gradient.data(), 1e-5f, gradient.data(),
                                   sums.data(), more.data());
  cpu_backend::layer_norm_backward(rows, cols, x.data(), scale.data(), dy.data(), 1e-5f, y, sums_again.data(),
                                   more_again.data());
  CHECK(same(gradient));
  CHECK(sums == sums_again);
  CHECK(more == more_again);
}

TEST_CASE("norm: long rows far from zero keep their digits") {
  const std::int64_t rows = 2, cols = 1000000;
  floats x = random_floats(rows * cols, 9), y(x.size());
  for (float& v : x) v = 3 * v + 50;
  const floats one(static_cast<std::size_t>(cols), 1.0f), zero(one.size(), 0.0f);
  for (const bool centred : {true, false}) {
    if (centred)
      cpu_backend::layer_norm(rows, cols, x.data(), one.data(), zero.data(), 1e-6f, y.data());
    else
      cpu_backend::rms_norm(rows, cols, x.data(), one.data(), 1e-6f, y.data());
    double most = 0, wrong = 0;
    for (std::size_t r = 0; r < 2; ++r) {
      const float* const row = x.data() + r * one.size();
      double mean = 0, square = 0;
      for (std::size_t j = 0; j < one.size(); ++j) mean += centred ? static_cast<double>(row[j]) : 0;
      mean /= static_cast<double>(cols);
      for (std::size_t j = 0; j < one.size(); ++j)
        square += (static_cast<double>(row[j]) - mean) * (static_cast<double>(row[j]) - mean);
      const double rstd = 1 / std::sqrt(square / static_cast<double>(cols) + 1e-6);
      for (std::size_t j = 0; j < one.size(); ++j) {
        const double exact = (static_cast<double>(row[j]) - mean) * rstd;
        most = std::fmax(most, std::fabs(exact));
        wrong = std::fmax(wrong, std::fabs(static_cast<double>(y[r * one.size() + j]) - exact));
      }
    }
    CHECK(wrong / most < 12 * 0x1p-24);
  }
}
