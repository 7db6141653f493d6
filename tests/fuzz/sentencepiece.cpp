// tests/fuzz/sentencepiece.cpp: any bytes as a model file of SentencePiece, whose tokens give a text again.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/text.hpp>

#include "fuzz/fuzz.hpp"

namespace text = tokamax::text;

void fuzz(std::string_view bytes) {
  only_errors([&] {
    const auto t = text::tokenizer::from_sentencepiece(file_with(bytes, "model"));
    for (const std::string one : {"The dog's 日本語  e\u0301\n12 ab", " ", "aaaa<x>▁▁b"}) {
      const text::encoding e = t.encode(one);
      for (std::size_t i = 0; i < e.size(); ++i)
        if (e.offsets[i].begin < 0 || e.offsets[i].begin > e.offsets[i].end ||
            e.offsets[i].end > static_cast<std::int64_t>(one.size()))
          std::abort();
      if (t.ids(one) != e.ids) std::abort();
      const std::string again = t.decode(e.ids);
      if (text::valid_utf8(again) != again.size()) std::abort();
    }
  });
}
