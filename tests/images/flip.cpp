// tests/images/flip.cpp: mirrored images.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/list.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/images/flip.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
namespace images = tokamax::images;

TEST_CASE("left and right are exchanged") {
  const tk::array image = tk::array::from<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2});
  const auto values = [](const tk::array& a) {
    return std::vector<float>(a.values<float>().begin(), a.values<float>().end());
  };
  CHECK(values(images::flip{}(image)) == std::vector<float>{3, 4, 1, 2, 7, 8, 5, 6});
  CHECK(values(images::flip{}(images::flip{}(image))) == values(image));
  CHECK(images::flip{}(tk::array::from<float>({}, {3, 0, 2})).shape() == tk::shape{3, 0, 2});
  CHECK_THROWS_WITH(images::flip{}(tk::array::from<float>({1})), contains("expected an image"));
  const auto flips = tk::data::list(std::vector(1, image)) | tk::data::random_map(images::random_flip{}, {.seed = 1});
  int mirrored = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    CHECK(values(flips[i]) == values(flips[i]));
    mirrored += values(flips[i])[0] == 3;
  }
  CHECK(mirrored > 440);
  CHECK(mirrored < 560);
}
