// tests/base/leaf_table.cpp: leaves become values of other types.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/leaf_table.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax;

namespace {
struct weight {
  int value = 0;
};
struct layer {
  weight kernel{1}, bias{2};
};
struct model {
  std::vector<layer> layers{2};
  layer last{};
};
}  // namespace
template <>
inline constexpr bool tokamax::is_leaf<weight> = true;

TEST_CASE("a table has a row for each leaf") {
  const auto names = tree_table<std::string>([](std::string_view path) { return std::string(path); }, model{});
  CHECK(names.size() == 6);
  CHECK(names.at("layers[1].bias") == "layers[1].bias");
  const auto squares = tree_table<double>([](const weight& w) { return w.value * w.value; }, model{});
  CHECK((squares.at("last.kernel") == 1 && squares.at("last.bias") == 4));
  const auto decays = tree_table<bool>(
      [](std::string_view path, const weight& w) { return w.value == 1 && path_matches(path, "layers"); }, model{});
  const model doubled = tree_map_with_path(
      [&](std::string_view path, weight w) { return weight{decays.at(path) ? 2 * w.value : w.value}; }, model{});
  CHECK((doubled.layers[1].kernel.value == 2 && doubled.layers[1].bias.value == 2 && doubled.last.kernel.value == 1));
  CHECK_THROWS_WITH(names.at("layers[2].bias"), contains("leaf_table: path: found layers[2].bias"));
  CHECK(tree_table<int>([](std::string_view) { return 0; }, std::vector<layer>{}).size() == 0);
}
