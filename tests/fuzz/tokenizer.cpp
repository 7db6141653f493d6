// tests/fuzz/tokenizer.cpp: any bytes as tokenizer.json, and as a text, whose tokens give a text again.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/text.hpp>

#include "fuzz/fuzz.hpp"

namespace text = tokamax::text;

void fuzz(std::string_view bytes) {
  only_errors([&] {
    const std::size_t zero = std::min(bytes.find('\0'), bytes.size());  // a text may stand behind the file
    const auto t = text::tokenizer::from_json(bytes.substr(0, zero));
    const std::string own = text::replace_invalid(bytes.substr(std::min(zero + 1, bytes.size())).substr(0, 300));
    for (const std::string& one : {std::string("The dog's 日本語 <mask>  e\u0301\n12 ab"), own}) {
      const text::encoding e = t.encode(one, own, true);
      for (std::size_t i = 0; i < e.size(); ++i)
        if (e.offsets[i].begin < 0 || e.offsets[i].begin > e.offsets[i].end ||
            e.offsets[i].end > static_cast<std::int64_t>(std::max(one.size(), own.size())))
          std::abort();
      text::decode_stream stream(t);
      std::string all;
      for (const std::int32_t id : t.ids(one)) all += stream.put(id);
      all += stream.finish();
      if (text::valid_utf8(all) != all.size()) std::abort();
      t.decode(e.ids, false);
    }
  });
}
