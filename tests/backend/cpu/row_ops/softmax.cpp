// tests/backend/cpu/row_ops/softmax.cpp: softmax, logsumexp and cross entropy against double loops.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu/row_ops/softmax.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "support/catch.hpp"

namespace cpu_backend = tokamax::cpu_backend;
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
    for (const std::int64_t cols : {1, 2, 7, 8, 33, 256, 513, 2048, 2049, 5003}) {
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
        cpu_backend::set_num_threads(threads);
        floats y_got(r * c), dx_got(r * c), sums_got(r), loss_got(r), lse(r), correction(r), d_got(r * c);
        cpu_backend::softmax(rows, cols, x.data(), y_got.data());
        cpu_backend::softmax_backward(rows, cols, y_got.data(), dy.data(), dx_got.data());
        cpu_backend::logsumexp(rows, cols, x.data(), sums_got.data());
        cpu_backend::softmax_cross_entropy(rows, cols, x.data(), labels.data(), loss_got.data(), lse.data(),
                                           correction.data());
        for (std::size_t i = 0; i < r; ++i) correction[i] *= dloss[i];
        cpu_backend::softmax_cross_entropy_backward(rows, cols, x.data(), labels.data(), lse.data(), correction.data(),
                                                    dloss.data(), d_got.data());
        CAPTURE(rows, cols, threads);
        CHECK(distance(y_got, y) < 2e-6);
        if (cols > 1) CHECK(distance(dx_got, dx) < 1e-5);
        CHECK(distance(sums_got, sums) < 1e-6);
        CHECK(lse == sums_got);
        if (cols > 1) CHECK(distance(loss_got, loss) < 2e-6);
        if (cols > 1) CHECK(distance(d_got, dlogits) < 1e-5);
        floats in_place = x;
        cpu_backend::softmax(rows, cols, in_place.data(), in_place.data());
        CHECK(in_place == y_got);
        if (threads == 2) CHECK(before == d_got);
        before = d_got;
      }
      cpu_backend::set_num_threads(0);
    }
  }
}

TEST_CASE("softmax: infinities, NaN and labels out of range") {
  const float inf = INFINITY;
  const floats x = {-inf, 0.0f, -inf, -inf, -inf, -inf, NAN, 1.0f, 2.0f, inf, 1.0f, 0.0f, 1e4f, -1e4f, 1e4f};
  floats y(15), sums(5), loss(5);
  cpu_backend::softmax(5, 3, x.data(), y.data());
  CHECK(y[0] == 0.0f);
  CHECK(y[1] == 1.0f);
  CHECK(std::isnan(y[3]));
  CHECK(std::isnan(y[7]));
  CHECK(std::isnan(y[9]));
  CHECK(y[12] == 0.5f);
  CHECK(y[13] == 0.0f);
  cpu_backend::logsumexp(5, 3, x.data(), sums.data());
  CHECK(sums[0] == 0.0f);
  CHECK(sums[1] == -inf);
  CHECK(std::isnan(sums[2]));
  CHECK(sums[3] == inf);
  CHECK(sums[4] == 1e4f + std::log(2.0f));
  const std::int64_t labels[] = {1, 3, -4, -1, 0};
  const floats plain = random_floats(15, 5);
  cpu_backend::softmax_cross_entropy(5, 3, plain.data(), labels, loss.data());
  CHECK(std::isnan(loss[1]));
  CHECK(std::isnan(loss[2]));
  CHECK(std::isfinite(loss[3]));
  CHECK(std::isfinite(loss[4]));
}

TEST_CASE("softmax: rows without columns") {
  const std::int32_t label = 0;
  float loss = 7.0f, lse = 7.0f, none = 7.0f;
  cpu_backend::softmax(1, 0, &none, &none);
  cpu_backend::softmax_backward(1, 0, &none, &none, &none);
  cpu_backend::softmax_cross_entropy(1, 0, &none, &label, &loss, &lse);
  cpu_backend::softmax_cross_entropy_backward(1, 0, &none, &label, &lse, &loss, &loss, &none);
  CHECK(none == 7.0f);
  CHECK(lse == -INFINITY);
  CHECK(std::isnan(loss));
}

TEST_CASE("softmax: a block of -infinity before numbers, and a maximum that grows from block to block") {
  const std::int64_t cols = 3 * 2048 + 5;
  const auto c = static_cast<std::size_t>(cols);
  floats x(3 * c);
  for (std::size_t j = 0; j < c; ++j) {
    x[j] = j < 2048 ? -INFINITY : static_cast<float>(j % 7);
    x[c + j] = static_cast<float>(j) * 0.05f;  // up to 300: exp of it is no float
    x[2 * c + j] = 3e38f * (j % 2 == 0 ? 1.0f : -1.0f);
  }
  floats y(3 * c), sums(3);
  cpu_backend::softmax(3, cols, x.data(), y.data());
  cpu_backend::logsumexp(3, cols, x.data(), sums.data());
  for (std::size_t r = 0; r < 3; ++r) {
    double most = -INFINITY, sum = 0, total = 0;
    for (std::size_t j = 0; j < c; ++j) most = std::max(most, static_cast<double>(x[r * c + j]));
    for (std::size_t j = 0; j < c; ++j) sum += std::exp(static_cast<double>(x[r * c + j]) - most);
    CHECK(static_cast<double>(sums[r]) == Approx(most + std::log(sum)).epsilon(1e-6));
    double apart = 0;
    for (std::size_t j = 0; j < c; ++j) {
      const double exact = std::exp(static_cast<double>(x[r * c + j]) - most) / sum;
      apart = std::max(apart, std::fabs(static_cast<double>(y[r * c + j]) - exact));
      total += static_cast<double>(y[r * c + j]);
    }
    CHECK(apart < 2e-6 / sum);
    CHECK(total == Approx(1.0).epsilon(1e-5));
  }
  CHECK(y[0] == 0.0f);
}

TEST_CASE("softmax: NaN and infinity reach the results wherever they are in a row") {
  for (const std::int64_t cols : {1, 9, 64, 3000}) {
    for (const std::int64_t at : {std::int64_t{0}, cols / 2, cols - 1}) {
      for (const float bad : {NAN, INFINITY}) {
        const auto c = static_cast<std::size_t>(cols);
        floats x = random_floats(cols, 9), y(c), d(c);
        x[static_cast<std::size_t>(at)] = bad;
        const std::int32_t label = 0;
        const float one = 1.0f;
        float loss = 0, lse = 0;
        CAPTURE(cols, at, bad);
        cpu_backend::softmax(1, cols, x.data(), y.data());
        CHECK(std::isnan(y[static_cast<std::size_t>(at)]));
        CHECK(std::isnan(y[0]));
        cpu_backend::softmax_cross_entropy(1, cols, x.data(), &label, &loss, &lse);
        if (std::isnan(bad)) CHECK(std::isnan(lse));
        if (!std::isnan(bad)) CHECK(lse == INFINITY);
        cpu_backend::softmax_cross_entropy_backward(1, cols, x.data(), &label, &lse, &one, &one, d.data());
        CHECK(std::isnan(d[static_cast<std::size_t>(at)]));
      }
    }
  }
}

TEST_CASE("the gradient of cross entropy keeps its digits where logits are large") {
  constexpr std::int64_t cols = 300;
  for (const float size : {0.0f, 1e3f, 1e4f, 1e5f, 1e6f, 1e9f, -1e6f}) {
    floats x = random_floats(cols, 11, 2.0f), d(cols);
    double sum = 0, wrong = 0;
    for (float& v : x) v += size;
    for (const float v : x) sum += std::exp(static_cast<double>(v) - static_cast<double>(size));
    const std::int32_t label = 7;
    float loss = 0, lse = 0, correction = 0, one = 1;
    cpu_backend::softmax_cross_entropy(1, cols, x.data(), &label, &loss, &lse, &correction);
    cpu_backend::softmax_cross_entropy_backward(1, cols, x.data(), &label, &lse, &correction, &one, d.data());
    for (std::size_t j = 0; j < static_cast<std::size_t>(cols); ++j) {
      if (j == 7) continue;
      const double p = std::exp(static_cast<double>(x[j]) - static_cast<double>(size)) / sum;
      wrong = std::max(wrong, std::fabs(static_cast<double>(d[j]) / p - 1));
    }
    CAPTURE(size);
    CHECK(wrong < 1e-6);
    CHECK(loss == Approx(std::log(sum) - (static_cast<double>(x[7]) - static_cast<double>(size))).epsilon(1e-6));
  }
}

TEST_CASE("softmax: memory of any alignment, and nothing beside the rows is touched") {
  const std::int64_t rows = 3, cols = 37;
  const auto cells = static_cast<std::size_t>(rows * cols);
  const floats x = random_floats(rows * cols, 4, 5.0f), dy = random_floats(rows * cols, 5);
  const std::int32_t labels[] = {36, 0, -37};
  floats y(cells), dx(cells), d(cells), loss(3), lse(3);
  cpu_backend::softmax(rows, cols, x.data(), y.data());
  cpu_backend::softmax_backward(rows, cols, y.data(), dy.data(), dx.data());
  cpu_backend::softmax_cross_entropy(rows, cols, x.data(), labels, loss.data(), lse.data());
  cpu_backend::softmax_cross_entropy_backward(rows, cols, x.data(), labels, lse.data(), loss.data(), loss.data(),
                                              d.data());
  for (std::size_t shift = 1; shift < 16; shift += 2) {
    const auto moved = [shift](const floats& v) {
      floats m(v.size() + 16, 9.0f);
      std::copy(v.begin(), v.end(), m.begin() + static_cast<std::ptrdiff_t>(shift));
      return m;
    };
    const floats mx = moved(x), my = moved(y), mdy = moved(dy);
    floats to(cells + 16, 9.0f), grad(cells + 16, 9.0f), logits(cells + 16, 9.0f);
    cpu_backend::softmax(rows, cols, mx.data() + shift, to.data() + shift);
    cpu_backend::softmax_backward(rows, cols, my.data() + shift, mdy.data() + shift, grad.data() + shift);
    cpu_backend::softmax_cross_entropy_backward(rows, cols, mx.data() + shift, labels, lse.data(), loss.data(),
                                                loss.data(), logits.data() + shift);
    CHECK(to == moved(y));
    CHECK(grad == moved(dx));
    CHECK(logits == moved(d));
  }
}

TEST_CASE("softmax: results past the caches have the bits of those in place") {
  const std::int64_t rows = 1200, cols = 3520;  // more than 16 MB
  const floats x = random_floats(rows * cols, 6, 9.0f), dy = random_floats(rows * cols, 7),
               dloss = random_floats(rows, 8);
  const std::vector<std::int32_t> labels(static_cast<std::size_t>(rows), 3519);
  float* const y = cpu_backend::scratch<struct y_on_lines>(rows * cols);
  const auto cells = static_cast<std::size_t>(rows * cols);
  const auto same = [=](const floats& a) { return std::equal(a.begin(), a.end(), y, y + cells); };
  floats in_place = x;
  cpu_backend::softmax(rows, cols, in_place.data(), in_place.data());
  cpu_backend::softmax(rows, cols, x.data(), y);
  CHECK(same(in_place));
  floats gradient = dy;
  cpu_backend::softmax_backward(rows, cols, in_place.data(), gradient.data(), gradient.data());
  cpu_backend::softmax_backward(rows, cols, in_place.data(), dy.data(), y);
  CHECK(same(gradient));
  floats logits = x, lse(static_cast<std::size_t>(rows));
  cpu_backend::logsumexp(rows, cols, x.data(), lse.data());
  cpu_backend::softmax_cross_entropy_backward(rows, cols, logits.data(), labels.data(), lse.data(), dloss.data(),
                                              dloss.data(), logits.data());
  cpu_backend::softmax_cross_entropy_backward(rows, cols, x.data(), labels.data(), lse.data(), dloss.data(),
                                              dloss.data(), y);
  CHECK(same(logits));
}

namespace {

/// What f makes of rows of T, and of the same numbers as floats, rounded to T.
template <class T, class F>
bool same_as_floats(std::int64_t cells, const std::vector<T>& x, const std::vector<T>& dy, F f) {
  const auto n = static_cast<std::size_t>(cells);
  std::vector<T> narrow(n);
  floats wide(n);
  f(x.data(), dy.data(), narrow.data());
  f(floats(x.begin(), x.end()).data(), floats(dy.begin(), dy.end()).data(), wide.data());
  for (std::size_t i = 0; i < n; ++i)
    if (std::bit_cast<std::uint16_t>(narrow[i]) != std::bit_cast<std::uint16_t>(static_cast<T>(wide[i]))) return false;
  return true;
}

template <class T>
void check_narrow_rows() {
  for (const std::int64_t cols : {1, 7, 8, 33, 513, 2048, 5003}) {
    const std::int64_t rows = 3;
    std::vector<T> x, dy;
    for (const float v : random_floats(rows * cols, 1, 20.0f)) x.push_back(static_cast<T>(v));
    for (const float v : random_floats(rows * cols, 2)) dy.push_back(static_cast<T>(v));
    x[0] = static_cast<T>(-INFINITY);
    const floats lse(3, 20.0f), ct{1.0f, 0.5f, -2.0f};
    const std::int32_t labels[] = {0, -1, static_cast<std::int32_t>(cols / 2)};
    CAPTURE(cols);
    CHECK(same_as_floats(rows * cols, x, dy,
                         [&](const auto* a, const auto*, auto* to) { cpu_backend::softmax(rows, cols, a, to); }));
    CHECK(same_as_floats(rows * cols, x, dy, [&](const auto* a, const auto* b, auto* to) {
      cpu_backend::softmax_backward(rows, cols, b, a, to);
    }));
    CHECK(same_as_floats(rows * cols, x, dy, [&](const auto* a, const auto*, auto* to) {
      cpu_backend::softmax_cross_entropy_backward(rows, cols, a, labels, lse.data(), ct.data(), ct.data(), to);
    }));
    CHECK(same_as_floats(rows, x, dy, [&]<class E>(const E* a, const E*, E* to) {
      floats loss(3), sums(3);
      cpu_backend::softmax_cross_entropy(rows, cols, a, labels, loss.data());
      cpu_backend::logsumexp(rows, cols, a, sums.data());
      for (std::size_t i = 0; i < 3; ++i) to[i] = static_cast<E>(loss[i] + 3 * sums[i]);
    }));
  }
}

}  // namespace

TEST_CASE("softmax: rows of bf16 and f16 have the bits of rows of floats that are rounded at the end") {
  check_narrow_rows<tokamax::bfloat16>();
  check_narrow_rows<tokamax::float16>();
}
