// tests/models/sampling.cpp: tokens are drawn as often as their probabilities say, from those that are left.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/sampling.hpp>

#include <limits>
#include <map>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace models = tokamax::models;
using models::sample;
using models::sampling;

namespace {
const std::vector<float> logits{0.0f, 2.0f, 1.0f, 2.0f, -1.0f};
std::map<std::int32_t, int> counts(const sampling& s, int draws) {
  std::map<std::int32_t, int> n;
  for (int i = 0; i < draws; ++i) ++n[sample(logits, s, i)];
  return n;
}
}  // namespace

TEST_CASE("without a temperature it is the first of the greatest") {
  CHECK(sample(logits, {}) == 1);
  CHECK(sample(std::vector{3.0f}, {.temperature = 1}) == 0);
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  CHECK(sample(std::vector{nan, -inf, 1.0f, nan}, {}) == 2);
  CHECK(sample(std::vector{nan, -inf, 1.0f, nan}, {.temperature = 1}) == 2);
}

TEST_CASE("draws have the probabilities of the softmax") {
  const auto n = counts({.temperature = 2, .seed = 3}, 4000);
  double total = 0;
  for (const float x : logits) total += std::exp(static_cast<double>(x) / 2);
  for (int i = 0; i < 5; ++i)
    CHECK(n.at(i) / 4000.0 ==
          Approx(std::exp(static_cast<double>(logits[static_cast<std::size_t>(i)]) / 2) / total).margin(0.025));
  CHECK(counts({.temperature = 2, .seed = 3}, 50) == counts({.temperature = 2, .seed = 3}, 50));
  CHECK(counts({.temperature = 2, .seed = 3}, 50) != counts({.temperature = 2, .seed = 4}, 50));
}

TEST_CASE("top_k and top_p leave the most likely tokens") {
  const auto keys = [](const auto& n) {
    std::vector<std::int32_t> all;
    for (const auto& [id, count] : n) all.push_back(id);
    return all;
  };
  using list = std::vector<std::int32_t>;
  CHECK(keys(counts({.temperature = 3, .top_k = 3}, 300)) == list{1, 2, 3});
  CHECK(keys(counts({.temperature = 3, .top_k = 1}, 20)) == list{1});
  CHECK(keys(counts({.temperature = 3, .top_k = 99}, 900)) == list{0, 1, 2, 3, 4});
  CHECK(keys(counts({.temperature = 1, .top_p = 0.1}, 20)) == list{1});
  CHECK(keys(counts({.temperature = 1, .top_p = 0.7}, 200)) == list{1, 3});  // 0.40 and 0.40
  CHECK(keys(counts({.temperature = 1, .top_k = 3, .top_p = 0.9}, 400)) == list{1, 2, 3});
}

TEST_CASE("options out of range and logits that are none are refused") {
  CHECK_THROWS_WITH(sample(logits, {.temperature = -1}), contains("sampling: temperature: found -1"));
  CHECK_THROWS_WITH(sample(logits, {.top_k = -1}), contains("sampling: top_k"));
  CHECK_THROWS_WITH(sample(logits, {.top_p = 0}), contains("sampling: top_p"));
  CHECK_THROWS_WITH(sample(logits, {.temperature = std::numeric_limits<double>::quiet_NaN()}), contains("temperature"));
  CHECK_THROWS_WITH(sample(std::vector<float>{}, {}), contains("sampling: logits: found none"));
  CHECK_THROWS_WITH(sample(std::vector{-std::numeric_limits<float>::infinity()}, {}), contains("no finite number"));
}
