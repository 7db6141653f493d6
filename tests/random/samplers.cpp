// tests/random/samplers.cpp: samples against JAX: the same bits but for what goes through a logarithm.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/numpy/statistics.hpp>
#include <tokamax/random/samplers.hpp>

#include <cmath>

#include "support/check_op.hpp"
#include "support/golden.hpp"

using namespace tokamax;
using namespace tokamax::test;

namespace {
array row(const std::string& name) { return golden("random.txt", name); }
void check_bits(const array& found, const std::string& name) {
  CAPTURE(name);
  CHECK(bit_difference({found}, {row(name)}) == "");
}
const random::key k(42);
/// The largest distance from the row, in units in the last place of the larger logarithm: a sample, or what it comes from.
double units(const array& found, const std::string& name, double (*inner)(double)) {
  const array expected = row(name);
  double most = 0;
  for (std::size_t i = 0; i < expected.values<float>().size(); ++i) {
    const double x = static_cast<double>(found.values<float>()[i]),
                 y = static_cast<double>(expected.values<float>()[i]);
    most = std::fmax(most, std::fabs(x - y) / std::exp2(std::ilogb(std::fmax(std::fabs(y), inner(y))) - 23));
  }
  return most;
}
}  // namespace

TEST_CASE("uniform samples") {
  check_bits(random::uniform(k), "uniform_scalar");
  check_bits(random::uniform(k, {3, 4}), "uniform_3x4");
  check_bits(random::uniform(k, {8}, f32, -2.0, 3.0), "uniform_minus2_3");
  check_bits(astype(random::uniform(k, {4}, bf16), f32), "uniform_bf16_4");
}

TEST_CASE("normal samples") {
  CHECK(distance(random::normal(k, {8}), row("normal_8")) < 1e-6);
  CHECK(distance(random::normal(random::key(0), {3, 4}), row("normal_key0_3x4")) < 1e-6);
  CHECK(distance(astype(random::normal(k, {8}, bf16), f32), row("normal_bf16_8")) < 1e-2);
  CHECK(distance(random::truncated_normal(k, -2, 2, {8}), row("truncated_normal_minus2_2_8")) < 1e-6);
  const array many = random::normal(k, {100000});
  CHECK(mean(many * many).item() == Approx(row("normal_100000_mean_square").item()).epsilon(1e-5));
  const array ends = row("normal_100000_extremes");
  CHECK(min(many).item() == Approx(ends.values<float>()[0]).epsilon(1e-5));
  CHECK(max(many).item() == Approx(ends.values<float>()[1]).epsilon(1e-5));
}

TEST_CASE("other distributions") {
  CHECK(distance(random::gumbel(k, {4}), row("gumbel_4")) < 1e-6);
  CHECK(distance(random::exponential(k, {4}), row("exponential_4")) < 1e-6);
  check_bits(random::bernoulli(k, 0.3, {16}), "bernoulli_0.3_16");
  check_bits(random::bernoulli(k, 0.5, {2, 5}), "bernoulli_0.5_2x5");
  check_bits(random::categorical(k, row("categorical_logits"), -1, {8}), "categorical_8");
  check_bits(random::categorical(k, row("categorical_rows_logits")), "categorical_rows");
  check_bits(random::categorical(k, row("categorical_rows_logits"), 0), "categorical_rows_axis0");
}

TEST_CASE("samples through a logarithm are those of JAX to 3 units in the last place") {
  constexpr auto none = [](double) { return 0.0; };
  const double n = units(random::normal(k, {300}), "normal_300", none),
               t = units(random::truncated_normal(k, -2, 2, {300}), "truncated_normal_300", none),
               e = units(random::exponential(k, {300}), "exponential_300", none),
               g = units(random::gumbel(k, {300}), "gumbel_300", [](double y) { return std::exp(-y); });
  CAPTURE(n, t, e, g);
  CHECK(n <= 3);
  CHECK(t <= 3);
  CHECK(e <= 1);
  CHECK(g <= 3);
}

TEST_CASE("each element has a draw of its own") {
  const array p = array::from<float>({0, 1, 0.5, 0.5, 0.5, 0.5}, {2, 3});
  CHECK(bit_difference({random::bernoulli(k, p)}, {random::bernoulli(k, p, {2, 3})}) == "");
  CHECK(random::bernoulli(k, 0.5).rank() == 0);
  const array many = random::bernoulli(k, full({1000}, 0.5));
  CHECK(std::fabs(sum(astype(many, f32)).item() - 500) < 80);  // and not 0 or 1000
  CHECK(random::bernoulli(k, zeros({0, 4})).shape() == shape{0, 4});
  CHECK(random::bernoulli(k, ones({3, 1}), {2, 3, 4}).shape() == shape{2, 3, 4});
  CHECK_THROWS_WITH(random::bernoulli(k, p, {3}), contains("bernoulli: shape"));
  CHECK_THROWS_WITH(random::bernoulli(k, p, {2, 4}), contains("bernoulli: shape"));
}

TEST_CASE("bounds that do not broadcast to the shape are refused, as in JAX") {
  const array low = zeros({3}), high = ones({3});
  CHECK(random::uniform(k, {2, 3}, f32, low, high).shape() == shape{2, 3});
  CHECK(random::uniform(k, {3, 4}, f32, zeros({3, 1})).shape() == shape{3, 4});
  CHECK_THROWS_WITH(random::uniform(k, {}, f32, low, high),
                    contains("uniform: bounds: found f32[3], f32[3], expected") && contains("[]"));
  CHECK_THROWS_WITH(random::uniform(k, {2}, f32, low), contains("uniform: bounds"));
  CHECK_THROWS_WITH(random::uniform(k, {1}, f32, low), contains("uniform: bounds"));
  CHECK_THROWS_WITH(random::uniform(k, {3}, f32, low, ones({2})), contains("uniform: bounds"));
}

TEST_CASE("truncated normal samples in the tails have the means of the tails, and are inside") {
  const float inf = std::numeric_limits<float>::infinity();
  // mean of the part above a: the density at a over the probability to be above it
  const std::pair<double, double> tails[] = {
      {3, 3.2830986543}, {6, 6.1584826045}, {20, 20.0497525}, {1000, 1000.000999998}};
  for (const auto& [a, expected] : tails)
    for (const bool left : {false, true}) {
      const array x = random::truncated_normal(k, left ? -inf : a, left ? -a : inf, {20000}) * (left ? -1.0f : 1.0f);
      CAPTURE(a, left);
      CHECK(min(x).item() > static_cast<float>(a));
      CHECK(static_cast<double>(mean(x - static_cast<float>(a)).item()) == Approx(expected - a).epsilon(0.03));
      CHECK(static_cast<double>(max(x).item()) < a + 16 / a);
    }
  const array narrow = random::truncated_normal(k, 5, 5.125, {1000});
  CHECK(min(narrow).item() > 5);
  CHECK(max(narrow).item() < 5.125f);
  CHECK(static_cast<double>(mean(narrow).item()) == Approx(5.0566).epsilon(1e-3));
  const array half = random::truncated_normal(k, -inf, 0.0, {1 << 16});
  CHECK(min(half).item() > -6);
  CHECK(max(half).item() < 0);
}

TEST_CASE("a bound that is excluded is not returned where rounding reaches it") {
  const float next = std::nextafter(1000.0f, 2000.0f);
  for (const dtype t : {f32, bf16, f16}) {
    const array low = astype(array(1000.0f, {f32, false, {}}), t), x = random::uniform(k, {64}, t, low, low * 1.01f);
    CHECK(all(x >= low).item<bool>());
    CHECK(all(x < low * 1.01f).item<bool>());
  }
  CHECK(max(random::uniform(k, {64}, f32, 1000.0f, next)).item() == 1000.0f);
  CHECK(max(random::uniform(k, {1 << 14}, bf16, 0.0f, 3.0f)).item<bfloat16>() < bfloat16(3.0f));
}
