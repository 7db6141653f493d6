// tests/images/crop.cpp: parts of images, the middle and any.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/list.hpp>
#include <tokamax/data/map.hpp>
#include <tokamax/images/crop.hpp>

#include <set>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
namespace images = tokamax::images;

namespace {
// Pixels 10 y + x, and the same + 100.
tk::array numbered(std::int64_t height, std::int64_t width) {
  std::vector<std::uint8_t> all;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x)
      for (const int more : {0, 100}) all.push_back(static_cast<std::uint8_t>(10 * y + x + more));
  return tk::array::from(all, {height, width, 2});
}
std::vector<int> values(const tk::array& a) {
  return {a.values<std::uint8_t>().begin(), a.values<std::uint8_t>().end()};
}
}  // namespace

TEST_CASE("a part of an image") {
  const tk::array image = numbered(4, 5);
  CHECK(values(images::crop{1, 2, 2, 2}(image)) == std::vector{12, 112, 13, 113, 22, 122, 23, 123});
  CHECK(values(images::crop{0, 0, 4, 5}(image)) == values(image));
  CHECK(values(images::center_crop{2, 1}(image)) == std::vector{12, 112, 22, 122});
  CHECK_THROWS_WITH((images::crop{3, 0, 2, 1}(image)), contains("2 x 1 from 3, 0") && contains("u8[4,5,2]"));
  CHECK_THROWS_WITH((images::crop{-1, 0, 1, 1}(image)), contains("images::crop"));
  CHECK_THROWS_WITH((images::crop{0, 0, 0, 1}(image)), contains("0 x 1"));
  CHECK_THROWS_WITH((images::crop{0, std::numeric_limits<std::int64_t>::max(), 1, 1}(image)), contains("images::crop"));
  CHECK_THROWS_WITH((images::center_crop{5, 5}(image)), contains("5 x 5"));
  CHECK_THROWS_WITH((images::center_crop{1, 1}(tk::array(1.0f))), contains("expected an image"));
}

TEST_CASE("any part is taken, the same for the same element") {
  const auto crops =
      tk::data::list(std::vector(3, numbered(4, 5))) | tk::data::random_map(images::random_crop{2, 3}, {.seed = 7});
  std::set<std::vector<int>> found;
  for (std::int64_t i = 0; i < 200; ++i) {
    CHECK(values(crops[i]) == values(crops[i]));
    CHECK(crops[i].shape() == tk::shape{2, 3, 2});
    found.insert(values(crops[i]));
  }
  CHECK(found.size() == 9);  // 3 places from above, 3 from the left
  CHECK_THROWS_WITH(
      (tk::data::list(std::vector(1, numbered(4, 5))) | tk::data::random_map(images::random_crop{5, 3}))[0],
      contains("5 x 3"));
}
