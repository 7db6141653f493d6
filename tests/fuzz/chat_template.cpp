// tests/fuzz/chat_template.cpp: any bytes as a chat template, and as the variables that it sees.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/text.hpp>

#include "fuzz/fuzz.hpp"

namespace text = tokamax::text;

void fuzz(std::string_view bytes) {
  only_errors([&] {
    const std::size_t zero = std::min(bytes.find('\0'), bytes.size());  // variables may stand behind the template
    const text::chat_template t(bytes.substr(0, zero), {{"bos_token", "<s>"}});
    const std::vector<text::chat_message> chat{
        {"user", "a é\n"},
        {"assistant", "b", R"({"tool_calls": [{"id": "x", "function": {"name": "f", "arguments": {"c": [1.5]}}}]})"}};
    only_errors([&] {
      const std::string all = t.render(chat, {.add_generation_prompt = true, .tools = R"([{"name": "f"}])"});
      if (text::valid_utf8(all) != all.size()) std::abort();
    });
    if (zero == bytes.size()) return;
    const text::rendered_chat r = t.render_json(bytes.substr(zero + 1), 0);
    for (const auto& [begin, end] : r.generated)
      if (begin > end || end > r.text.size()) std::abort();
  });
}
