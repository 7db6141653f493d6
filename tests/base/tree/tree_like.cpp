// tests/base/tree/tree_like.cpp: leaves become values of other types, in trees of the same structure.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/tree/tree_like.hpp>

#include <map>
#include <memory>
#include <optional>
#include <variant>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax;

namespace parts {  // clang 19 makes no optional of what an unnamed namespace holds
struct weight {
  int value = 0;
};
struct label {
  std::string text;
};
struct layer {
  weight kernel{1}, bias{2};
  int width = 7;
};
struct model {
  std::vector<layer> layers{2};
  std::array<weight, 2> pair{weight{3}, weight{4}};
  layer last{};
};
struct everything {
  std::optional<weight> some = weight{5}, none;
  std::unique_ptr<layer> owned = std::make_unique<layer>();
  std::variant<weight, layer> one = layer{};
  std::map<std::string, weight> named{{"a", weight{6}}, {"b", weight{7}}};
  std::tuple<weight, std::pair<weight, int>> positions{weight{8}, {weight{9}, 10}};
};
struct fixed {
  layer first{};
  std::array<layer, 2> rest{};
  std::pair<weight, weight> two{weight{3}, weight{4}};
};
}  // namespace parts
using namespace parts;

namespace {
std::string paths_of(const auto& tree) {
  std::string all;
  for_each_leaf_with_path([&](std::string_view path, const auto&) { all += std::string(path) + ";"; }, tree);
  return all;
}
}  // namespace
template <>
inline constexpr bool tokamax::is_leaf<weight> = true;
template <>
inline constexpr bool tokamax::is_leaf<label> = true;

TEST_CASE("a tree of another leaf type has the structure, the paths and the static values") {
  const auto squares = tree_map<double>([](const weight& w) { return w.value * w.value; }, model{});
  CHECK(squares.get<"layers">()[1].get<"bias">() == 4);
  CHECK(squares.get<"pair">()[1] == 16);
  CHECK(squares.get<"last">().get<"width">() == 7);
  const auto names = tree_map_with_path<label>([](std::string_view path) { return label{std::string(path)}; }, model{});
  CHECK(names.get<"layers">()[1].get<"bias">().text == "layers[1].bias");
  CHECK(paths_of(names) == paths_of(model{}));
  const auto mask = tree_map_with_path<bool>(
      [](std::string_view path, const weight& w) { return w.value == 1 && path_matches(path, "layers"); }, model{});
  CHECK((mask.get<"layers">()[0].get<"kernel">() && !mask.get<"last">().get<"kernel">()));
}

TEST_CASE("both trees walk together") {
  const auto factors = tree_map<double>([](const weight& w) { return w.value % 2 ? 10.0 : 1.0; }, model{});
  const model scaled =
      tree_map([](weight w, double f) { return weight{static_cast<int>(w.value * f)}; }, model{}, factors);
  CHECK((scaled.layers[1].kernel.value == 10 && scaled.layers[1].bias.value == 2 && scaled.pair[0].value == 30));
  const auto longer = tree_map<double>([](const weight&) { return 1.0; }, model{.layers = std::vector<layer>(3)});
  CHECK_THROWS_WITH(tree_map([](weight w, double) { return w; }, model{}, longer), contains("length of a vector"));
}

TEST_CASE("containers of the standard keep their kind") {
  const everything tree;
  const auto names = tree_map_with_path<label>([](std::string_view path) { return label{std::string(path)}; }, tree);
  CHECK(paths_of(names) == paths_of(tree));
  CHECK(names.get<"some">()->text == "some");
  CHECK(!names.get<"none">());
  CHECK(names.get<"owned">()->get<"bias">().text == "owned.bias");
  CHECK(std::get<1>(names.get<"one">()).get<"kernel">().text == "one.kernel");
  CHECK(names.get<"named">().at("b").text == "named.b");
  CHECK(std::get<1>(names.get<"positions">()).second == 10);
  const auto flags = tree_map<bool>([](const weight& w) { return w.value > 1; }, std::vector<weight>{{1}, {2}});
  CHECK((!flags[0] && flags[1]));
}

TEST_CASE("leaves become values in constant expressions") {
  constexpr auto values = tree_map<double>([](const weight& w) { return w.value * 0.5; }, fixed{});
  static_assert(values.get<"rest">()[1].get<"bias">() == 1.0 && values.get<"two">().second == 2.0);
  CHECK(values.get<"first">().get<"kernel">() == 0.5);
}
