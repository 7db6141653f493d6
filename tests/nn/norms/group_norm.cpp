// tests/nn/norms/group_norm.cpp: groups of channels of an example against loops in double.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/nn/norms/group_norm.hpp>

#include <tokamax/tokamax.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/functions.hpp"
#include "support/golden.hpp"

namespace tk = tokamax;
using tk::array;

TEST_CASE("each group of each example has its own moments") {
  const array x = tk::test::noise({2, 3, 5, 6}, 3) * 2.0f + 1.0f;
  for (const int groups : {1, 2, 3, 6}) {
    CAPTURE(groups);
    tk::nn::group_norm layer{.width = 6, .groups = groups, .epsilon = 1e-3};
    layer.scale = tk::test::noise({6}, 4);
    layer.offset = tk::test::noise({6}, 5);
    const array y = layer(x);
    const int part = 6 / groups;
    for (int n = 0; n < 2; ++n)
      for (int g = 0; g < groups; ++g) {
        double sum = 0, squares = 0;
        const auto at = [&](int place, int c) { return (n * 15 + place) * 6 + g * part + c; };
        for (int place = 0; place < 15; ++place)
          for (int c = 0; c < part; ++c) {
            const double v = x.data<float>()[at(place, c)];
            sum += v;
            squares += v * v;
          }
        const double mean = sum / (15 * part), variance = squares / (15 * part) - mean * mean;
        for (int place = 0; place < 15; ++place)
          for (int c = 0; c < part; ++c)
            REQUIRE(y.data<float>()[at(place, c)] ==
                    Approx((x.data<float>()[at(place, c)] - mean) / std::sqrt(variance + 1e-3) *
                               layer.scale.data<float>()[g * part + c] +
                           layer.offset.data<float>()[g * part + c])
                        .margin(1e-4));
      }
  }
}

TEST_CASE("groups of numbers far from zero keep their variance") {
  const array x = tk::test::noise({2, 50, 4}, 7);
  const tk::nn::group_norm layer{.width = 4, .groups = 2};
  CHECK(tk::test::distance(layer(x + 1e4f), layer((x + 1e4f) - 1e4f)) < 1e-3);
}

TEST_CASE("an example does not see others, sixteen bits stay, and what cannot be") {
  const tk::nn::group_norm layer{.width = 4, .groups = 2};
  const array x = tk::test::noise({3, 5, 4}, 6);
  CHECK(tk::test::distance(layer(x)[1], layer(tk::slice_in_dim(x, 1, 2, 0))[0]) < 1e-6);
  CHECK(layer(tk::astype(x, tk::bf16)).dtype() == tk::bf16);
  CHECK(layer(tk::zeros({0, 5, 4})).shape() == tk::shape{0, 5, 4});
  CHECK_THROWS_WITH(layer(tk::ones({2, 3})), contains("group_norm: width"));
  CHECK_THROWS_WITH((tk::nn::group_norm{.width = 4, .groups = 3}(x)),
                    contains("group_norm: groups: found 3, expected a divisor of 4"));
}
