// tests/text/pattern.cpp: regular expressions that mean to PCRE2 what they mean to Oniguruma, and those that do not.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/text/pattern.hpp>

#include "support/catch.hpp"
#include "support/error_of.hpp"

using tokamax::test::error_of;
using tokamax::text::pattern;

namespace {
// The parts of a text, those that match in brackets.
std::string cut(const pattern& p, std::string_view text) {
  std::string result;
  p.cut(text, [&](std::size_t begin, std::size_t end, bool matched) {
    result += matched ? "[" : "";
    result += text.substr(begin, end - begin);
    result += matched ? "]" : "|";
  });
  return result;
}
std::string cut(const char* expression, std::string_view text) { return cut(pattern(expression, "here"), text); }
}  // namespace

TEST_CASE("A pattern cuts a text") {
  CHECK(cut(R"(\p{L}+)", "ab 12é日") == "[ab] 12|[é日]");
  CHECK(cut(R"(\s+(?!\S)|\s+)", "a   b  ") == "a|[  ][ ]b|[  ]");
  CHECK(cut(R"(\s)", "a\u0085b\u180ec\u3000") == "a|[\u0085]b\u180ec|[\u3000]");  // PCRE2's own \s has U+180E
  CHECK(cut(R"([^\s]+)", "a\u180eb c") == "[a\u180eb] |[c]");
  CHECK(cut(R"(\w+)", "e\u0301_x½") == "[e\u0301_x]½|");
  CHECK(cut(R"(\h+)", "xbeefy") == "x|[beef]y|");
  CHECK(cut("(?i:'s|'ll)", "I'LL it's 'ſ") == "I|['LL] it|['s] |['ſ]");
  CHECK(cut("x*", "axxb") == "[]a|[xx]b|[]");
  CHECK(cut("[]a]", "]ab") == "[]][a]b|");
  CHECK(cut(R"([\]\[])", "a[b]") == "a|[[]b|[]]");
  CHECK(cut("a", "") == "");
  CHECK(cut("b", "aaa") == "aaa|");
  CHECK(cut(pattern::literal("a.", "here"), "a.a.ab") == "[a.][a.]ab|");
}

TEST_CASE("What Oniguruma and PCRE2 take for different things is refused by name") {
  for (const char* wrong : {"[a[bc]]", "[a-z&&b]", "a{2}+", R"(\Ra)", R"([\S])", R"(\g<1>)", R"(a\)", R"([[:alpha:]])"})
    CHECK(error_of([&] { cut(wrong, "a"); }).find("expected what Oniguruma and PCRE2 both know (here)") !=
          std::string::npos);
  CHECK(error_of([] { cut("(a", "a"); }) ==
        "tokenizer: pattern (a: found missing closing parenthesis, expected a regular expression (here)");
  CHECK(error_of([] { pattern::literal("", "here"); }) ==
        "tokenizer: pattern: found an empty text, expected a text (here)");
}

TEST_CASE("A pattern that needs too many steps is an error, and long texts are none") {
  const pattern slow("(a|aa)+$", "here");
  CHECK(error_of([&] { cut(slow, std::string(60, 'a') + "!"); }).find("expected a match in bounded time") !=
        std::string::npos);
  const std::string spaces(1 << 20, ' ');
  std::size_t count = 0;
  pattern(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", "here").cut(spaces + "a", [&](std::size_t, std::size_t, bool) { ++count; });
  CHECK(count == 3);
  pattern(R"((?:\s|a)*b|\s+)", "here").cut(spaces, [&](std::size_t, std::size_t, bool) { ++count; });
  CHECK(count == 4);
}
