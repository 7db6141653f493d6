// tests/data/vocabulary.cpp: symbols to tokens and back.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/vocabulary.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace data = tokamax::data;

TEST_CASE("characters are sorted and distinct") {
  const data::tokens text("hello, world");
  const data::vocabulary letters = data::characters(text);
  CHECK(letters.symbols() == " ,dehlorw");
  CHECK(letters.size() == 9);
  CHECK(letters.encode("held") == std::vector<std::int32_t>{4, 3, 5, 2});
  CHECK(letters.decode(letters.encode("lower hold")) == "lower hold");
  const data::tokens encoded = letters.encode(text);
  CHECK(encoded.size() == text.size());
  CHECK(encoded[0] == 4);
  CHECK(data::vocabulary(letters.symbols()).encode("w") == letters.encode("w"));
}

TEST_CASE("bytes are their own tokens") {
  const data::vocabulary bytes = data::byte_vocabulary();
  CHECK(bytes.size() == 256);
  CHECK(bytes.encode("\xff") == std::vector<std::int32_t>{255});
  const data::tokens text("any \xe2\x89\xa4 text");
  CHECK(bytes.encode(text).bytes() == text.bytes());
}

TEST_CASE("unknown symbols and tokens are named") {
  const data::vocabulary ab("ab");
  CHECK_THROWS_WITH(ab.encode("abc"), contains("'c'") && contains("2 known symbols"));
  CHECK_THROWS_WITH(ab.encode(data::tokens("a\n", "input.txt")), contains("byte 10") && contains("input.txt"));
  const std::vector<std::int32_t> beyond{0, 2};
  CHECK_THROWS_WITH(ab.decode(beyond), contains("found 2") && contains("0 to 1"));
  CHECK_THROWS_WITH(data::vocabulary("aba"), contains("'a' twice"));
}
