// tests/images/resize.cpp: images of another size are those of Pillow.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/images/decode_png.hpp>
#include <tokamax/images/resize.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/data_files.hpp"

namespace tk = tokamax;
namespace images = tokamax::images;

TEST_CASE("images of another size are those of Pillow") {
  const auto files = golden_files("images.txt");
  for (const auto& [name, height, width] :
       {std::tuple{"colours.png", 5, 11}, {"colours.png", 17, 40}, {"grey.png", 9, 3}}) {
    const std::string expected =
        files.at(std::string(name) + "." + std::to_string(width) + "x" + std::to_string(height));
    const tk::array from = images::decode_png(files.at(name), {.channels = 0});
    const tk::array image = images::resize{height, width}(from);
    REQUIRE(image.type() == tk::array_type{tk::u8, false, {height, width, from.extent(2)}});
    REQUIRE(image.size() == std::ssize(expected));
    for (std::size_t i = 0; i < expected.size(); ++i)
      CHECK(std::abs(image.values<std::uint8_t>()[i] - static_cast<unsigned char>(expected[i])) <= 1);
  }
}

TEST_CASE("sizes that stay, floats and edges") {
  const tk::array image = tk::array::from<float>({1, 2, 3, 4, 5, 6}, {2, 3, 1});
  const tk::array same = images::resize{2, 3}(image);
  for (std::size_t i = 0; i < 6; ++i) CHECK(same.values<float>()[i] == image.values<float>()[i]);
  CHECK(images::resize{1, 1}(image).values<float>()[0] == Approx(3.5));
  const tk::array wide = images::resize{2, 6}(image);  // a quarter and three quarters of neighbours
  CHECK(wide.values<float>()[1] == Approx(1.25));
  CHECK(wide.values<float>()[2] == Approx(1.75));
  const tk::array huge = images::resize{1, 1000}(tk::array::from<float>({7}, {1, 1, 1}));
  for (const float value : huge.values<float>()) CHECK(value == Approx(7));
  CHECK_THROWS_WITH((images::resize{0, 3}(image)), contains("0 x 3") && contains("sizes of 1 or more"));
  CHECK_THROWS_WITH((images::resize{1, 3}(tk::array::from<float>({1}))), contains("expected an image"));
  CHECK_THROWS_WITH((images::resize{1, 3}(tk::array::from<std::int32_t>({1}, {1, 1, 1}))),
                    contains("found i32[1,1,1]"));
}
