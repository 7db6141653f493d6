// tests/text/byte_level.cpp: the characters that stand for bytes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/text/byte_level.hpp>

#include "support/catch.hpp"

namespace text = tokamax::text;

TEST_CASE("Each byte has a character of its own, which is it again") {
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string one;
    text::append_utf8(one, text::byte_character(static_cast<unsigned char>(byte)));
    const auto back = text::bytes_of_characters(one);
    REQUIRE(back);
    CHECK(*back == std::string(1, static_cast<char>(static_cast<unsigned char>(byte))));
  }
  CHECK(text::byte_character(' ') == 0x120);
  CHECK(text::byte_character('\n') == 0x10A);
  CHECK(text::byte_character('a') == 'a');
  CHECK(text::byte_character(0xAD) == 0x143);
  CHECK(!text::bytes_of_characters("a b"));
  CHECK(!text::bytes_of_characters("日"));
  CHECK(!text::bytes_of_characters("\xC5\x84"));  // U+0144, the first behind the last
}
