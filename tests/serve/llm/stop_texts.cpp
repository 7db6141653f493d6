// tests/serve/llm/stop_texts.cpp: a text ends at the same place however it is cut, and no byte of an end is said too early.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/llm/stop_texts.hpp>

#include "support/catch.hpp"

using tokamax::serve::stop_texts;

namespace {
struct row {
  std::string text;
  std::vector<std::string> ends;
  std::string said, found, included;
};
const std::vector<row> rows{
    {"abcdef", {"cd"}, "ab", "cd", "abcd"},
    {"abcdef", {"x"}, "abcdef", "", "abcdef"},
    {"abcdef", {}, "abcdef", "", "abcdef"},
    {"abcdef", {"abcdef"}, "", "abcdef", "abcdef"},
    {"abcdef", {"f"}, "abcde", "f", "abcdef"},
    {"abcdef", {"def!"}, "abcdef", "", "abcdef"},   // what might have been an end is said at the end
    {"aaab", {"aab"}, "a", "aab", "aaab"},          // an end that begins within another try
    {"abcabd", {"abd", "ca"}, "ab", "ca", "abca"},  // whose last byte comes first
    {"xabcd", {"bcd", "bc"}, "xa", "bc", "xabc"},
    {"xabcd", {"cd", "abcd"}, "x", "abcd", "xabcd"},  // and of these the longest
    {"a\n\nb", {"\n\n"}, "a", "\n\n", "a\n\n"},
    {"stopstop", {"stop"}, "", "stop", "stop"},
    {"\xC3\xA9\xC3\xA8", {"\xC3\xA8"}, "\xC3\xA9", "\xC3\xA8", "\xC3\xA9\xC3\xA8"},
    {"", {"a"}, "", "", ""},
};
}  // namespace

TEST_CASE("ends are found in texts that are cut anywhere") {
  for (const row& r : rows)
    for (std::size_t cut = 0; cut <= r.text.size(); ++cut)
      for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{100}})
        for (const bool include : {false, true}) {
          CAPTURE(r.text, cut, piece, include);
          stop_texts stops(r.ends, include);
          std::string said = stops.put(r.text.substr(0, cut));
          for (std::size_t i = cut; i < r.text.size(); i += piece) said += stops.put(r.text.substr(i, piece));
          said += stops.finish();
          CHECK(said == (include ? r.included : r.said));
          CHECK(stops.found().value_or("") == r.found);
        }
}

TEST_CASE("only what may become an end is kept back") {
  stop_texts stops({"end", "enough"});
  CHECK(stops.put("the e") == "the ");
  CHECK(stops.put("n") == "");
  CHECK(stops.put("t") == "ent");
  CHECK(stops.put("e", false) == "e");  // nothing is looked for
  CHECK(stops.put("nd") == "nd");
  CHECK(stops.put("end it") == "");
  CHECK(stops.put("more") == "");
  CHECK(stops.found() == "end");
}
