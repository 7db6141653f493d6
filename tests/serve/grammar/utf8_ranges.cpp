// tests/serve/grammar/utf8_ranges.cpp: the parts of a range have its code points, each once.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/grammar/utf8_ranges.hpp>

#include <vector>

#include "support/catch.hpp"

using namespace tokamax;

TEST_CASE("Ranges of code points are parts of equal bytes, without surrogates") {
  const std::pair<char32_t, char32_t> ranges[] = {
      {0, 0x10FFFF},        {'a', 'a'},         {'a', 'z'},         {0x7F, 0x80},     {0x7FF, 0x800},
      {0xD7FF, 0xE000},     {0xD800, 0xDFFF},   {0xDC00, 0xE123},   {0x1040, 0x20C5}, {0xFFFF, 0x10000},
      {0x10FFFF, 0x10FFFF}, {0x1F600, 0x1F64F}, {0x3FFFE, 0xC0001}, {0x80, 0x10FFFE}};
  for (const auto& [first, last] : ranges) {
    std::vector<int> seen(0x110000);
    std::size_t parts = 0;
    serve::for_utf8_ranges(first, last, [&](const std::string& low, const std::string& high) {
      ++parts;
      REQUIRE(low.size() == high.size());
      std::string text = low;  // all texts of the part
      for (;;) {
        const text::utf8_step step = text::decode_utf8(text, 0);
        REQUIRE((step.valid && step.length == text.size()));
        ++seen[step.code];
        std::size_t i = text.size();
        while (i > 0 && text[i - 1] == high[i - 1]) --i, text[i] = low[i];
        if (i == 0) break;
        ++text[i - 1];
      }
    });
    for (char32_t c = 0; c < 0x110000; ++c)
      if (seen[c] != (first <= c && c <= last && (c < 0xD800 || c > 0xDFFF)))
        FAIL("U+" << static_cast<int>(c) << " of " << static_cast<int>(first) << " to " << static_cast<int>(last));
    CHECK(parts <= 16);
  }
}
