// tests/text/normalized_text.cpp: texts that are changed and cut, with where each byte comes from.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/text/normalized_text.hpp>

#include "support/catch.hpp"

namespace text = tokamax::text;
using writer = text::normalized_text::writer;
using extent = text::extent_of_text;

namespace {
std::string all(const text::normalized_text& t) {
  std::string result;
  for (const text::piece& p : t.pieces()) result += std::string(t.text(p)) + (p.token >= 0 ? "!" : "|");
  return result;
}
}  // namespace

TEST_CASE("A text that is not changed comes from itself, whole characters at a time") {
  const text::normalized_text t("aé日");
  CHECK(all(t) == "aé日|");
  CHECK(t.origin(0) == extent{0, 1});
  CHECK(t.origin(2) == extent{1, 3});
  CHECK(t.origin(4) == extent{3, 6});
  CHECK(t.origin(0, 4) == extent{0, 6});
  CHECK(text::normalized_text("").pieces().empty());
}

TEST_CASE("Changes keep the origin of each byte") {
  text::normalized_text t("aé b");
  t.rewrite([](std::string_view old, writer& to) {
    to.insert("__", 1);  // it comes from the first character
    text::for_each_code(old, [&](char32_t c, std::size_t at) { to.put(c == U'é' ? U'日' : c, at); });
  });
  CHECK(all(t) == "__a日 b|");
  CHECK(t.origin(0) == extent{0, 1});
  CHECK(t.origin(1) == extent{0, 1});
  CHECK(t.origin(3) == extent{1, 3});
  CHECK(t.origin(5) == extent{1, 3});
  CHECK(t.origin(7) == extent{4, 5});
  t.split([](std::string_view, auto take) { take(0, 3), take(3, 6, 7), take(6, 6), take(7, 8); });
  CHECK(all(t) == "__a|日!b|");
  t.rewrite([](std::string_view old, writer& to) {
    if (to.origin() == 0) return;  // the first piece is left out
    to.keep(0, old.size());
    to.insert("x", old.size());
    to.insert("y", 0);
  });
  CHECK(all(t) == "日!bxy|");
  CHECK(t.origin(0) == extent{1, 3});
  CHECK(t.origin(4) == extent{4, 5});
  CHECK(t.origin(5) == extent{4, 4});
}

TEST_CASE("Changes of characters take in those that they stand for") {
  text::normalized_text t("e\u0301xy");
  t.rewrite([](std::string_view, writer& to) { to.put({{U'é', -1}, {U'X', 0}, {U'!', 1}, {U'Y', 0}}); });
  CHECK(all(t) == "éX!Y|");
  CHECK(t.origin(1) == extent{0, 1});
  CHECK(t.origin(2) == extent{3, 4});
  CHECK(t.origin(3) == extent{3, 4});
  CHECK(t.origin(4) == extent{4, 5});
}
