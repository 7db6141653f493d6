// tests/train/generate.cpp: texts continued by models whose answers are known.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/lax.hpp>
#include <tokamax/numpy.hpp>
#include <tokamax/runtime.hpp>
#include <tokamax/train/generate.hpp>

#include <set>

#include "support/catch.hpp"

namespace tk = tokamax;
using tk::train::generate;
using tokens = std::vector<std::int32_t>;

namespace {
constexpr int vocabulary = 5, context = 3;
/// Prefers the token after the last one.
tk::array counts_up(const tk::array& ids) {
  return 10 * tk::astype(
                  tk::reshape(tk::arange(vocabulary), {1, 1, vocabulary}) ==
                      tk::reshape((ids + 1) - vocabulary * tk::astype(ids == vocabulary - 1, tk::i32), {1, context, 1}),
                  tk::f32);
}
}  // namespace

TEST_CASE("temperature 0 takes the most likely token, over windows of the context") {
  CHECK(generate(counts_up, {3}, context, {.count = 6, .temperature = 0}) == tokens{3, 4, 0, 1, 2, 3, 4});
  CHECK(generate(counts_up, {2, 2, 2, 2, 1}, context, {.count = 2, .temperature = 0}) == tokens{2, 2, 2, 2, 1, 2, 3});
  CHECK(generate(counts_up, {}, context, {.count = 2, .temperature = 0}) == tokens{0, 1, 2});
  CHECK(generate(counts_up, {4}, context, {.count = 0}) == tokens{4});
}

TEST_CASE("samples depend on the seed alone, and spread with the temperature") {
  const auto sample = [](std::uint32_t seed, double temperature) {
    return generate(counts_up, {0}, context, {.count = 60, .temperature = temperature, .seed = seed});
  };
  CHECK(sample(1, 5) == sample(1, 5));
  CHECK(sample(1, 5) != sample(2, 5));
  CHECK(sample(1, 0.01) == sample(2, 0));
  const tokens wild = sample(3, 100);
  CHECK(std::set<std::int32_t>(wild.begin(), wild.end()).size() == vocabulary);
}
