// tests/serve/grammar/regex.cpp: texts that regular expressions have and have not, and what is refused.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/grammar/regex.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/error_of.hpp"
#include "support/grammar_checks.hpp"

using namespace tokamax;
using test::has_text;

TEST_CASE("Regular expressions match whole texts") {
  const struct {
    const char* regex;
    std::vector<std::string> yes, no;
  } rows[] = {{"", {""}, {"a"}},
              {"abc", {"abc"}, {"", "ab", "abcd"}},
              {"a|bc|", {"a", "bc", ""}, {"b", "abc"}},
              {"a*b+c?", {"b", "aabb", "abc"}, {"", "a", "bcc"}},
              {"(ab){2,3}", {"abab", "ababab"}, {"ab", "abababab"}},
              {"a{2}", {"aa"}, {"a", "aaa"}},
              {"a{2,}", {"aa", "aaaaa"}, {"a"}},
              {"a{,2}", {"a{,2}"}, {"a"}},
              {"[a-c\\d_-]+", {"a1-", "_", "c9"}, {"", "d", "A"}},
              {"[^a-c]", {"d", "é", "\n", "日"}, {"a", "", "dd"}},
              {"[]a]", {"]", "a"}, {"b"}},
              {"\\d\\D\\w\\W\\s\\S", {"1x_- é"}, {"xx_- é", "1x_-xé"}},
              {".", {"a", "é", "😀", "\t"}, {"\n", "", "ab"}},
              {"^a$|^b$", {"a", "b"}, {"ab", "^a$"}},
              {"(?:a|b)(?P<n>c)(?<m>d)", {"acd", "bcd"}, {"cd"}},
              {"a+?b*?", {"a", "aab"}, {"b"}},
              {"\\x41\\u00e9\\.\\n\\/", {"Aé.\n/"}, {"A"}},
              {"日本|é", {"日本", "é"}, {"日", "e"}},
              {"(a*)*b", {"b", "aab"}, {"a"}},
              {"[\\[\\]\\\\]", {"[", "]", "\\"}, {"a"}},
              {"(a|ab)(c|bcd)", {"ac", "abc", "abcd", "abbcd"}, {"a", "abcdc"}}};
  for (const auto& row : rows) {
    INFO(row.regex);
    test::check_texts(serve::regex_grammar(row.regex), row.yes, row.no);
  }
}

TEST_CASE("What a regular expression cannot have is refused with its place") {
  const std::pair<std::string, const char*> rows[] = {
      {"a(?=b)", "regex: found '=b)' at byte 3, expected a group without look-around"},
      {"(?<!a)b", "look-around"},
      {"(?i)a", "flags"},
      {"\\bword", "'bword' at byte 1, expected an escape"},
      {"(a)\\1", "at byte 4"},
      {"a**", ""},
      {"*a", "'*a' at byte 0"},
      {"(a", "found the end, expected )"},
      {"a)", "')' at byte 1"},
      {"[a", "found the end"},
      {"[z-a]", "a range of characters"},
      {"a{3,2}", "a count such as {2,4}"},
      {"a{99999}", "at most 10000"},
      {"a++", "gives back"},
      {"a^b", "'^b' at byte 1"},
      {"\\", "found the end"},
      {"\\x4", "2 hexadecimal digits"},
      {"\\p{L}", "an escape"},
      {"\xff", "UTF-8"},
      {std::string(200, '(') + std::string(200, ')'), "at most 100 groups"}};
  for (const auto& [regex, message] : rows) {
    INFO(regex);
    const std::string found = test::error_of([&, r = regex] { serve::regex_grammar(r); });
    if (*message == '\0')
      CHECK(found == "none");
    else
      CHECK_THAT(found, contains(message));
  }
  for (const char* large : {"((a{1000}){1000}){1000}", "((){9999}){9999}", "((a?){9999}){9999}"})
    CHECK_THAT(test::error_of([&] { serve::byte_program p{serve::regex_grammar(large)}; }),
               contains("grammar: states: found more, expected at most 524288"));
}
