// tests/fuzz/gguf.cpp: any bytes as a GGUF file, of which the tokenizer and the chat template are read.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/text.hpp>

#include "fuzz/fuzz.hpp"

namespace text = tokamax::text;

void fuzz(std::string_view bytes) {
  const std::filesystem::path file = file_with(bytes, "model.gguf");
  only_errors([&] {
    const text::chat_template t = text::chat_template::from_file(file);
    t.render(std::vector<text::chat_message>{{"user", "a"}}, {.add_generation_prompt = true});
  });
  only_errors([&] {
    const auto t = text::tokenizer::from_gguf(file);
    for (const std::string one : {"The dog's 日本語  e\u0301\n12 ab", " ", "aaaa<x>▁▁b"}) {
      const text::encoding e = t.encode(one);
      if (t.ids(one) != e.ids) std::abort();
      const std::string again = t.decode(e.ids);
      if (text::valid_utf8(again) != again.size()) std::abort();
    }
  });
}
