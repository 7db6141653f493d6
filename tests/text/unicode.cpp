// tests/text/unicode.cpp: classes of characters and normal forms.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/text/unicode.hpp>

#include "support/catch.hpp"

namespace text = tokamax::text;

namespace {
std::string in_form(const char* from, text::normal_form form) {
  std::string result;
  for (const text::change& c : text::normalized(from, form)) text::append_utf8(result, c.code);
  return result;
}
std::vector<int> changes(const char* from, text::normal_form form) {
  std::vector<int> result;
  for (const text::change& c : text::normalized(from, form)) result.push_back(c.by);
  return result;
}
}  // namespace

TEST_CASE("Normal forms compose, decompose, order marks and take compatible characters") {
  using enum text::normal_form;
  struct row {
    const char *from, *nfc, *nfd, *nfkc, *nfkd;
  };
  for (const row& r : {
           row{"", "", "", "", ""},
           row{"abc", "abc", "abc", "abc", "abc"},
           row{"\u00e9", "\u00e9", "e\u0301", "\u00e9", "e\u0301"},
           row{"e\u0301", "\u00e9", "e\u0301", "\u00e9", "e\u0301"},
           row{"a\u0301\u0316", "\u00e1\u0316", "a\u0316\u0301", "\u00e1\u0316", "a\u0316\u0301"},
           row{"\u212b", "\u00c5", "A\u030a", "\u00c5", "A\u030a"},
           row{"\ufb01\u00bd", "\ufb01\u00bd", "\ufb01\u00bd", "fi1\u20442", "fi1\u20442"},
           row{"\uac01", "\uac01", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8"},
           row{"\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8", "\uac01", "\u1100\u1161\u11a8"},
           row{"\u0344", "\u0308\u0301", "\u0308\u0301", "\u0308\u0301", "\u0308\u0301"},
           row{"\u1e9b\u0323", "\u1e9b\u0323", "\u017f\u0323\u0307", "\u1e69", "s\u0323\u0307"},
           row{"\u0301a", "\u0301a", "\u0301a", "\u0301a", "\u0301a"},
           row{"q\u0303\u0323\u0303", "q\u0323\u0303\u0303", "q\u0323\u0303\u0303", "q\u0323\u0303\u0303",
               "q\u0323\u0303\u0303"},
       }) {
    CAPTURE(r.from);
    CHECK(in_form(r.from, nfc) == r.nfc);
    CHECK(in_form(r.from, nfd) == r.nfd);
    CHECK(in_form(r.from, nfkc) == r.nfkc);
    CHECK(in_form(r.from, nfkd) == r.nfkd);
    if (text::surely_composed(r.from)) CHECK(std::string(r.from) == r.nfc);
  }
  CHECK(text::surely_composed("caf\u00e9 日本語 \uac01 😀"));
  CHECK(!text::surely_composed("e\u0301"));
  CHECK(changes("\u00e9x", nfd) == std::vector<int>{0, 1, 0});
  CHECK(changes("e\u0301x", nfc) == std::vector<int>{-1, 0});
  CHECK(changes("\u00e9x", nfc) == std::vector<int>{0, 0});
}

TEST_CASE("Characters have the classes of Unicode") {
  CHECK(text::is_whitespace(0x3000));
  CHECK(text::is_whitespace(0x85));
  CHECK(!text::is_whitespace(0x180E));
  CHECK(!text::is_whitespace(0x200B));
  CHECK(text::is_letter(U'é'));
  CHECK(text::is_letter(U'日'));
  CHECK(!text::is_letter(U'1'));
  CHECK(text::is_number(U'½'));
  CHECK(text::is_number(0x2167));
  CHECK(!text::is_number(U'a'));
  CHECK(text::is_mark(0x301));
  CHECK(text::is_nonspacing(0x301));
  CHECK(!text::is_nonspacing(0x903));
  CHECK(text::is_mark(0x903));
  CHECK(text::is_punctuation(U'$'));
  CHECK(text::is_punctuation(U'、'));
  CHECK(!text::is_punctuation(U'€'));
  CHECK(text::is_other(0x200D));
  CHECK(text::is_other(0xE000));
  CHECK(text::is_other(0));
  CHECK(text::is_word(U'_'));
  CHECK(text::is_word(0x24B6));
  CHECK(!text::is_word(U'½'));
  CHECK(text::to_lower(U'Ä') == U'ä');
  CHECK(text::to_lower(U'ǅ') == U'ǆ');
  CHECK(text::to_lower(U'Z') == U'z');
  CHECK(text::is_bert_ideograph(U'日'));
  CHECK(!text::is_bert_ideograph(U'か'));
}
