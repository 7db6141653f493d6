// tests/base/tree/tree_structure.cpp: trees are taken apart and put together.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/tree/tree_structure.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

using namespace tokamax;

namespace {
struct weight {
  int value = 0;
};
struct model {
  std::vector<weight> layers;
  weight last;
  int width = 3;
};
}  // namespace
template <>
inline constexpr bool tokamax::is_leaf<weight> = true;

TEST_CASE("a tree is its leaves and its structure") {
  const model m{{weight{1}, weight{2}}, weight{3}};
  const auto [leaves, structure] = tree_flatten<std::vector<weight>>(m);
  REQUIRE(leaves.size() == 3);
  CHECK(structure.num_leaves() == 3);
  const model again = tree_unflatten(structure, std::vector<weight>{{4}, {5}, {6}});
  CHECK((again.layers[1].value == 5 && again.last.value == 6 && again.width == 3));
  CHECK(tree_structure(again) == structure);
  CHECK(!(tree_structure(model{{weight{}}, weight{}}) == structure));
  CHECK(!(tree_structure(model{{weight{1}, weight{2}}, weight{3}, 4}) == structure));
  CHECK_THROWS_WITH(tree_unflatten(structure, std::vector<weight>(2)),
                    contains("tree_unflatten: leaves: found 2, expected 3"));
  CHECK(tree_unflatten(tree_structure(model{}), std::vector<weight>(1)).layers.empty());
}

TEST_CASE("trees are taken apart in constant expressions") {
  using pair = std::pair<weight, int>;
  constexpr auto structure = tree_structure(pair{weight{1}, 5});
  static_assert(structure.num_leaves() == 1);
  static_assert(tree_unflatten(structure, std::array<weight, 1>{weight{7}}).first.value == 7);
  static_assert(tree_unflatten(structure, std::array<weight, 1>{}).second == 5);
}
