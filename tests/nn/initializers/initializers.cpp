// tests/nn/initializers/initializers.cpp: the spread of each initialiser, and the numbers that JAX gives.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/lax/reduce.hpp>
#include <tokamax/nn/initializers/initializers.hpp>

#include "support/catch.hpp"
#include "support/golden.hpp"

namespace init = tokamax::nn::initializers;
using tokamax::array;
using tokamax::shape;

namespace {

struct moments {
  double mean = 0, stddev = 0, most = 0;
};
moments of(const array& a) {
  moments m;
  for (float v : a.values<float>()) {
    m.mean += static_cast<double>(v);
    m.stddev += static_cast<double>(v) * static_cast<double>(v);
    m.most = std::fmax(m.most, std::fabs(static_cast<double>(v)));
  }
  const auto n = static_cast<double>(a.size());
  return {m.mean / n, std::sqrt(m.stddev / n), m.most};
}
void check_spread(tokamax::nn::initializer f, const shape& s, double stddev, double most) {
  const moments m = of(f(tokamax::random::key(3), s));
  CHECK(std::fabs(m.mean) < 0.02 * stddev);
  CHECK(m.stddev == Approx(stddev).epsilon(0.01));
  CHECK(m.most <= most);
}

}  // namespace

TEST_CASE("initialisers have the variance that they promise") {
  const shape s{300, 500};
  const double cut = 2 / 0.87962566103423978;
  check_spread(init::normal<0.02>, s, 0.02, 1);
  check_spread(init::truncated_normal<0.02>, s, 0.02 * 0.87962566103423978, 0.04);
  check_spread(init::lecun_normal, s, std::sqrt(1 / 300.), cut * std::sqrt(1 / 300.));
  check_spread(init::he_normal, s, std::sqrt(2 / 300.), cut * std::sqrt(2 / 300.));
  check_spread(init::xavier_normal, s, std::sqrt(1 / 400.), cut * std::sqrt(1 / 400.));
  check_spread(init::lecun_uniform, s, std::sqrt(1 / 300.), 1.0001 * std::sqrt(3 / 300.));
  check_spread(init::he_uniform, s, std::sqrt(2 / 300.), 1.0001 * std::sqrt(6 / 300.));
  check_spread(init::xavier_uniform, s, std::sqrt(1 / 400.), 1.0001 * std::sqrt(3 / 400.));
  check_spread(init::embedding_normal, s, std::sqrt(1 / 500.), 1);
}

TEST_CASE("initialisers have the names of JAX, too, and parameters of their own") {
  const auto same = [](tokamax::nn::initializer a, tokamax::nn::initializer b) {
    const tokamax::random::key k(4);
    CHECK(tokamax::test::distance(a(k, {3, 2}), b(k, {3, 2})) == 0);
  };
  same(init::glorot_normal, init::xavier_normal);
  same(init::glorot_uniform, init::xavier_uniform);
  same(init::kaiming_normal, init::he_normal);
  same(init::kaiming_uniform, init::he_uniform);
  const array u = init::uniform<0.5>(tokamax::random::key(5), {1000});
  CHECK((tokamax::min(u).item() >= 0 && tokamax::max(u).item() < 0.5f && tokamax::max(u).item() > 0.49f));
  check_spread(init::variance_scaling<3.0, init::fan::out, init::distribution::normal>, {300, 500}, std::sqrt(3 / 500.),
               1);
}

TEST_CASE("a convolution's window counts as inputs") {
  check_spread(init::lecun_normal, {3, 3, 50, 200}, std::sqrt(1 / 450.), 1);
}

TEST_CASE("initialisers without randomness") {
  const tokamax::random::key k(1);
  CHECK(tokamax::test::distance(init::constant<0.25>(k, {3}), array::from<float>({0.25f, 0.25f, 0.25f})) == 0);
  CHECK(tokamax::test::distance(init::ones(k, {2}), array::from<float>({1, 1})) == 0);
  CHECK(tokamax::test::distance(init::zeros(k, {2}), array::from<float>({0, 0})) == 0);
}
