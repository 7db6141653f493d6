// tests/nn/metrics.cpp: averages over batches against numbers of Flax and loops in double.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/metrics.hpp>

#include <tokamax/tokamax.hpp>

#include <cmath>

#include "support/contains.hpp"
#include "support/functions.hpp"

namespace tk = tokamax;
namespace nn = tokamax::nn;
using tk::array;

namespace metrics_test {  // with a name, for clang
struct metrics {
  nn::average loss;
  nn::accuracy right;
  nn::welford spread;
};
struct split {
  int epoch = 3;
  metrics train;
  std::vector<nn::average> others;
};
const auto ints = [](std::initializer_list<std::int32_t> v) { return array::from<std::int32_t>(v); };
const auto floats = [](std::initializer_list<float> v) { return array::from<float>(v); };
bool is_nan(const array& a) { return std::isnan(a.item()); }
}  // namespace metrics_test
using namespace metrics_test;

TEST_CASE("averages and shares are those of Flax's tests") {
  nn::accuracy a;
  CHECK(is_nan(a.compute()));
  const array logits = array::from<float>({-1, 1, -1, 1, -1, 1, 1, -1, 1, -1}, {5, 2});
  a.update(logits, ints({1, 1, 1, 1, 1}));
  CHECK(a.compute().item() == 0.6f);
  a.update(logits, ints({1, 1, 1, 1, 0}));
  CHECK(a.compute().item() == 0.7f);
  a = {};
  CHECK(is_nan(a.compute()));
  nn::accuracy binary;
  binary.update_binary(floats({0.2f, 0.5f, 0.9f, 0.4f}), ints({0, 1, 1, 1}));
  CHECK(binary.compute().item() == 0.75f);
  nn::welford spread;
  for (const auto& [x, expected] : {std::pair{floats({1, 2, 3, 4}), std::array{2.5, 0.559017, 1.118034}},
                                    std::pair{floats({3, 2, 1, 0}), std::array{2.0, 0.43301272, 1.2247449}}}) {
    spread.update(x);
    const auto [middle, error, deviation] = spread.compute();
    CHECK(std::fabs(middle.item() - expected[0]) < 1e-6);
    CHECK(std::fabs(error.item() - expected[1]) < 1e-6);
    CHECK(std::fabs(deviation.item() - expected[2]) < 1e-6);
  }
  nn::average mean;
  CHECK(is_nan(mean.compute()));
  mean.update(floats({1, 2, 3, 4}));
  CHECK(mean.compute().item() == 2.5f);
  mean.update(floats({3, 2, 1, 0}));
  CHECK(mean.compute().item() == 2.0f);
}

TEST_CASE("masked elements do not count, whatever they are") {
  const array labels = ints({1, 1, 0, 1, 0}), values = floats({1, NAN, 3, INFINITY, 5});
  const array mask = array::from<bool>({true, false, true, false, true}, {5});
  nn::average mean;
  mean.update(values, mask);
  CHECK(mean.compute().item() == 3.0f);
  CHECK(mean.count.item<int>() == 3);
  nn::welford w;
  w.update(values, mask);
  CHECK(w.compute().mean.item() == 3.0f);
  CHECK(std::fabs(w.compute().standard_deviation.item() - std::sqrt(8.0 / 3)) < 1e-6);
  nn::accuracy a;
  const array logits = array::from<float>({-1, 1, -1, 1, -1, 1, 1, -1, 1, -1}, {5, 2});
  a.update(logits, labels, labels > 0);
  CHECK(std::fabs(a.compute().item() - 2.0 / 3) < 1e-7);
  a.update(logits, ints({0, 1, 1, 1, 1}), ints({0, 1, 1, 1, 1}) > 0);
  CHECK(std::fabs(a.compute().item() - 4.0 / 7) < 1e-7);
  mean = {};
  mean.update(values, tk::zeros({5}, tk::bool_));
  CHECK(is_nan(mean.compute()));
  w = {};
  w.update(values, tk::zeros({5}, tk::bool_));
  w.update(tk::zeros({0}));
  CHECK(is_nan(w.compute().mean));
  CHECK(is_nan(w.compute().standard_deviation));
  mean.update(array::from<float>({1, 2, 3, 4}, {2, 2}),
              array::from<bool>({true, false}, {2, 1}));  // the mask broadcasts
  CHECK(mean.compute().item() == 1.5f);
}

TEST_CASE("welford keeps the digits of numbers far from zero") {
  for (const double offset : {0.0, 1e4, 1e6}) {
    CAPTURE(offset);
    nn::welford w;
    double sum = 0, squares = 0;
    std::vector<double> seen;
    for (unsigned batch = 0; batch < 50; ++batch) {
      const array x = tk::test::noise({1000}, batch + 1) * 8.0f + static_cast<float>(offset);
      for (const float v : x.values<float>()) seen.push_back(v);
      w.update(x);
    }
    for (const double v : seen) sum += v;
    const double mean = sum / static_cast<double>(seen.size());
    for (const double v : seen) squares += (v - mean) * (v - mean);
    const double deviation = std::sqrt(squares / static_cast<double>(seen.size()));
    const auto [found, error, found_deviation] = w.compute();
    CHECK(std::fabs(found.item() - mean) < 3 * error.item());
    CHECK(std::fabs(found_deviation.item() - deviation) < 0.005);
    CHECK(std::fabs(error.item() - deviation / std::sqrt(50000.0)) < 1e-4);
  }
  nn::welford constant;
  constant.update(tk::full({100}, 1e30));
  CHECK(constant.compute().standard_deviation.item() == 0);
  nn::welford single;
  single.update(floats({3}));
  CHECK(single.compute().mean.item() == 3);
  CHECK(single.compute().standard_deviation.item() == 0);
}

TEST_CASE("several metrics are a struct, which a program takes and returns") {
  const auto step = tk::jit(
      [](metrics m, const array& logits, const array& labels) {
        const array losses = tk::softmax_cross_entropy(logits, labels);
        m.loss.update(losses);
        m.right.update(logits, labels);
        m.spread.update(losses);
        return m;
      },
      tk::cpu);
  metrics now;
  double total = 0;
  for (unsigned i = 1; i <= 3; ++i) {
    const array logits = tk::test::noise({4, 3}, i), labels = ints({0, 1, 2, 0});
    now = step(std::move(now), logits, labels);
    total += tk::sum(tk::softmax_cross_entropy(logits, labels)).item();
  }
  CHECK(std::fabs(now.loss.compute().item() - total / 12) < 1e-6);
  CHECK(std::fabs(now.spread.compute().mean.item() - total / 12) < 1e-6);
  CHECK(now.right.right.count.item<int>() == 12);
}

TEST_CASE("the results of several metrics have the paths of these and the numbers of Flax") {
  static_assert(nn::metric<nn::accuracy> && nn::metric<nn::welford> && !nn::metric<nn::statistics>);
  static_assert(std::is_same_v<decltype(nn::average::total), nn::statistic>);
  split m;
  m.others.resize(2);
  const std::vector<std::string> names{"train.loss",
                                       "train.right",
                                       "train.spread.mean",
                                       "train.spread.standard_error_of_mean",
                                       "train.spread.standard_deviation",
                                       "others[0]",
                                       "others[1]"};
  const auto rows = {std::tuple{ints({1, 1, 0, 1, 0}), floats({1, 2, 3, 4}),
                                std::vector{2.5f, 1.0f, 2.5f, 0.559017f, 1.118034f, 2.5f}},
                     std::tuple{ints({0, 1, 1, 1, 1}), floats({3, 2, 1, 0}),
                                std::vector{2.0f, 0.6f, 2.0f, 0.43301272f, 1.2247449f, 2.0f}}};
  std::uint32_t seed = 0;
  for (const auto& [labels, values, expected] : rows) {
    m.train.right.update(tk::random::normal(tk::random::key(seed++), {5, 2}), labels);
    m.train.loss.update(values);
    m.train.spread.update(values);
    m.others[0].update(values);
    const auto results = nn::results_of(m);
    REQUIRE(results.size() == names.size());
    for (std::size_t k = 0; k < names.size(); ++k) CHECK(results[k].first == names[k]);
    for (std::size_t k = 0; k < expected.size(); ++k) CHECK(std::fabs(results[k].second.item() - expected[k]) < 1e-6f);
    CHECK(is_nan(results.back().second));
  }
  CHECK(nn::results_of(m.train.right)[0].first.empty());
  CHECK(nn::results_of(m.train.right).size() == 1);
  CHECK(nn::results_of(m.train.spread)[2].first == "standard_deviation");
  CHECK(nn::results_of(std::vector<nn::average>()).empty());
}

TEST_CASE("accuracy says which labels are wrong") {
  nn::accuracy a;
  CHECK_THROWS_WITH(a.update(tk::ones({4, 3}), tk::ones({4})), contains("accuracy: labels") && contains("f32[4]"));
  CHECK_THROWS_WITH(a.update(tk::ones({4, 3}), ints({1, 2})),
                    contains("accuracy: labels") && contains("i32[2]") && contains("f32[4,3]"));
}
