// tokamax/serve/grammar/utf8_ranges.hpp: the bytes of ranges of code points.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/text/utf8.hpp>  // append_utf8

#include <algorithm>  // min

namespace tokamax::serve {

/// Calls f(lows, highs) with texts of equal length for parts of the code points from `first` to `last`: a part has the texts whose byte i
/// is from lows[i] to highs[i]. Surrogates are left out, since UTF-8 has none.
/// source  Thompson's conversion of ranges, as RE2 has it
template <class F>
void for_utf8_ranges(char32_t first, char32_t last, const F& f) {
  const auto part = [&](char32_t low, char32_t high) {
    std::string lows, highs;
    text::append_utf8(lows, low);
    text::append_utf8(highs, high);
    f(lows, highs);
  };
  // The last code points of each number of bytes, and those before and behind the surrogates.
  for (const char32_t end :
       {char32_t{0x7F}, char32_t{0x7FF}, char32_t{0xD7FF}, char32_t{0xDFFF}, char32_t{0xFFFF}, char32_t{0x10FFFF}}) {
    if (first > end) continue;
    const char32_t stop = std::min(last, end);
    if (end == 0xDFFF) {
      first = end + 1;
    } else {
      // Only the last byte, or the last two, or three, run through all their values in one part.
      while (first <= stop) {
        char32_t high = stop;
        for (const char32_t mask : {char32_t{0x3F}, char32_t{0xFFF}, char32_t{0x3FFFF}}) {
          if (end == 0x7F || (first & ~mask) == (high & ~mask)) break;
          if ((first & mask) != 0) {
            high = first | mask;
            break;
          }
          if ((high & mask) != mask) high = (high & ~mask) - 1;
        }
        part(first, high);
        first = high + 1;
      }
    }
    if (stop == last) return;
  }
}

}  // namespace tokamax::serve
