// tests/serve/http/answer_splitter.cpp: calls and reasoning in each form, whole and byte by byte.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/http/answer_splitter.hpp>

#include "support/catch.hpp"

using namespace tokamax;

namespace {

// Reasoning | content | calls, of a text that comes in pieces of so many bytes.
std::string parts_of(std::string_view text, std::size_t size, bool tools, bool reasons) {
  serve::answer_splitter s(tools, reasons);
  serve::answer_parts all;
  const auto add = [&](const serve::answer_parts& p) {
    all.reasoning += p.reasoning, all.content += p.content;
    all.calls.insert(all.calls.end(), p.calls.begin(), p.calls.end());
  };
  for (std::size_t at = 0; at < text.size(); at += size) add(s.put(text.substr(at, size)));
  add(s.finish());
  std::string line = all.reasoning + "|" + all.content + "|";
  for (const serve::tool_call& c : all.calls) line += c.name + c.arguments;
  return line;
}

}  // namespace

TEST_CASE("Answers are split into reasoning, content and calls") {
  const struct {
    const char *said, *parts;
    bool tools = true, reasons = false;
  } rows[] = {{"", "||"},
              {"Hello < world", "|Hello < world|"},
              {"<think>a\nb</think>\n\nc", "a\nb|c|", false},
              {"\n<think></think>c", "|c|", false},
              {"a</think>c", "a|c|", false, true},
              {"a", "a||", false, true},
              {"<think>a", "a||", false},
              {"see <think>", "|see <think>|"},
              {"<thin", "|<thin|"},
              {R"(<tool_call>
{"name": "f", "arguments": {"a": 1}}
</tool_call>)",
               R"(||f{"a":1})"},
              {R"(So: <tool_call>{"name":"f","arguments":{}}</tool_call>
<tool_call>{"name":"g","arguments":"{\"b\":2}"}</tool_call>)",
               "|So: \n|f{}g{\"b\":2}"},
              {R"(<think>x</think><tool_call>{"name":"f"}</tool_call>)", "x||f{}"},
              {"<tool_call>{\"name\":</tool_call>", "|<tool_call>{\"name\":</tool_call>|"},
              {"<tool_call>{\"name\":", "|<tool_call>{\"name\":|"},
              {R"({"name": "f", "parameters": {"z": 1, "a": 2}})", R"(||f{"z":1,"a":2})"},
              {R"(<|python_tag|>{"name": "f", "parameters": {}})", "||f{}"},
              {R"({"name": "f")", R"(|{"name": "f"|)"},
              {R"({"title": 1})", R"(|{"title": 1}|)"},
              {"{\"na", "|{\"na|"},
              {R"([{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}])", "||f{}g{}"},
              {R"([TOOL_CALLS][{"name": "f", "arguments": {}}])", "||f{}"},
              {"[1, 2]", "|[1, 2]|"},
              {"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\"a\": "
               "1}\n```<｜tool▁call▁end｜>\n"
               "<｜tool▁call▁begin｜>function<｜tool▁sep｜>g\n```json\n{}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
               "||f{\"a\": 1}g{}"},
              {R"(<tool_call>{"name":"f"}</tool_call>)", R"(|<tool_call>{"name":"f"}</tool_call>|)", false},
              {R"({"name": "f"})", R"(|{"name": "f"}|)", false}};
  for (const auto& row : rows)
    for (const std::size_t size : {1u, 2u, 7u, 1000u}) {
      INFO(row.said << " in pieces of " << size);
      CHECK(parts_of(row.said, size, row.tools, row.reasons) == row.parts);
    }
}
