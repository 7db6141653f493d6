// tests/text/utf8.cpp: code points, bytes that are none, and GPT-2's characters for bytes.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/text/utf8.hpp>

#include "support/catch.hpp"

namespace text = tokamax::text;

TEST_CASE("Every code point is read as it is written") {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string one;
    text::append_utf8(one, c);
    const text::utf8_step step = text::decode_utf8(one, 0);
    if (step.code != c || step.length != one.size() || !step.valid) FAIL(static_cast<std::uint32_t>(c));
  }
}

TEST_CASE("What begins no character is one replacement for each longest part that could be one") {
  const auto fffd = [](int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += "\xEF\xBF\xBD";
    return all;
  };
  struct row {
    std::string bytes;
    int replacements;
  };
  for (const row& r : {row{"\x80", 1}, row{"\xBF\xBF", 2}, row{"\xC0\x80", 2}, row{"\xC1\xBF", 2}, row{"\xC2", 1},
                       row{"\xE0\x80\x80", 3}, row{"\xE0\xA0", 1}, row{"\xED\xA0\x80", 3}, row{"\xF0\x80\x80\x80", 4},
                       row{"\xF0\x9F\x98", 1}, row{"\xF4\x90\x80\x80", 4}, row{"\xF5\x80", 2}, row{"\xFF", 1},
                       row{"\xF0\x9F\xF0\x9F", 2}}) {
    CHECK(text::replace_invalid(r.bytes) == fffd(r.replacements));
    CHECK(text::replace_invalid("a" + r.bytes + "b") == "a" + fffd(r.replacements) + "b");
    CHECK(text::valid_utf8("ab" + r.bytes) == 2);
  }
  CHECK(text::valid_utf8("é日😀") == 9);
  CHECK(text::replace_invalid("é日😀\xEF\xBF\xBD") == "é日😀\xEF\xBF\xBD");
  CHECK(text::replace_invalid("").empty());
}
