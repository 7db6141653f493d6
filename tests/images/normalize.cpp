// tests/images/normalize.cpp: pixels become numbers around 0.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/images/normalize.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
namespace images = tokamax::images;

TEST_CASE("means are taken away, and deviations become 1") {
  const tk::array image = tk::array::from(std::vector<std::uint8_t>{0, 51, 255, 102}, {2, 1, 2});
  const tk::array found = images::normalize{{0.5f, 0.2f}, {0.25f, 0.1f}}(image);
  CHECK(found.type() == tk::array_type{tk::f32, false, {2, 1, 2}});
  const float expected[] = {-2, 0, 2, 2};
  for (std::size_t i = 0; i < 4; ++i) CHECK(found.values<float>()[i] == Approx(expected[i]).margin(1e-6));
  CHECK_THROWS_WITH((images::normalize{{0.5f}, {0.25f}}(image)), contains("1 means") && contains("u8[2,1,2]"));
  CHECK_THROWS_WITH((images::normalize{{0, 0}, {1, 1}}(tk::array::from<float>({1, 2}, {1, 1, 2}))),
                    contains("f32[1,1,2]"));
}
