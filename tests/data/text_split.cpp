// tests/data/text_split.cpp: nanoGPT's split of a text.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/text_split.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace data = tokamax::data;

TEST_CASE("the first nine tenths are trained on") {
  const data::tokens all(std::string(1115394, 'x'));  // Tiny Shakespeare: 1003854 and 111540 in nanoGPT
  const auto [train, validation] = text_split(all);
  CHECK(train.size() == 1003854);
  CHECK(validation.size() == 111540);
}

TEST_CASE("the parts follow each other") {
  const auto [train, validation] = text_split(data::tokens("abcd", "letters"), {.train = 0.5});
  CHECK(train.bytes() == "ab");
  CHECK(validation.bytes() == "cd");
  CHECK_THAT(validation.name(), contains("letters") && contains("validation"));
}

TEST_CASE("a split with an empty part, and a share that is none, are refused") {
  CHECK_THROWS_WITH(text_split(data::tokens("abcd", "letters"), {.train = 0.1}),
                    contains("0 of 4") && contains("letters"));
  CHECK_THROWS_AS(text_split(data::tokens("abcd"), {.train = 1}), tokamax::error);
  for (const double share : {0.0, -1.0, HUGE_VAL, -HUGE_VAL, std::nan("")})
    CHECK_THROWS_WITH(text_split(data::tokens("abcd"), {.train = share}), contains("above 0 and below 1"));
}
