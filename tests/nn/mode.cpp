// tests/nn/mode.cpp: the mode is found in all layers, however they are kept.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/mode.hpp>

#include <tokamax/nn/norms/batch_norm.hpp>

#include <map>
#include <memory>
#include <optional>
#include <variant>

#include "support/catch.hpp"

namespace nn = tokamax::nn;

namespace mode_test {  // with a name, for clang: the compiler finds fields by a conversion to any type
struct block {
  nn::batch_norm norm{2};
  int width = 2;
};
struct model {
  nn::mode own = nn::mode::training;
  block first;
  std::vector<block> blocks = std::vector<block>(2);
  std::optional<block> head = block{}, none;
  std::map<std::string, block> named{{"a", block{}}};
  std::variant<int, block> either = block{};
};
constexpr bool all_are(const model& m, nn::mode wanted) {
  return m.own == wanted && m.first.norm.use == wanted && m.blocks[0].norm.use == wanted &&
         m.blocks[1].norm.use == wanted && m.head->norm.use == wanted && !m.none &&
         m.named.at("a").norm.use == wanted && std::get<block>(m.either).norm.use == wanted;
}
static_assert(nn::set_mode(block{}, nn::mode::evaluation).norm.use == nn::mode::evaluation);
}  // namespace mode_test
using namespace mode_test;

TEST_CASE("set_mode changes each mode and nothing else") {
  const model start;
  CHECK(all_are(start, nn::mode::training));
  const model later = nn::set_mode(start, nn::mode::evaluation);
  CHECK(all_are(later, nn::mode::evaluation));
  CHECK(all_are(start, nn::mode::training));
  CHECK(all_are(nn::set_mode(later, nn::mode::training), nn::mode::training));
  CHECK(later.first.width == 2);
  CHECK(later.first.norm.momentum == 0.99);
}
