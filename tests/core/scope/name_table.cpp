// tests/core/scope/name_table.cpp: names of any length, each kept once.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/core/scope/name_table.hpp>

#include <string>

#include "support/catch.hpp"

namespace {
using tokamax::name_table;

std::string text(const name_table& t, int name) { return std::string(t.text(name).view()); }

constexpr bool made_while_compiling() {
  name_table t;
  const int block = t.element(t.field(0, "blocks"), 3);
  const int attend = t.field(block, "attend");
  return t.read(0, "blocks[3].attend") == attend && t.read(block, "attend") == attend && t.around(attend) == block &&
         t.around(attend, 3) == 0 && t.text(attend).view() == "blocks[3].attend" && t.read(0, "") == 0;
}
static_assert(made_while_compiling());
}  // namespace

TEST_CASE("a name that is read has the text that was given, and equal texts have equal numbers") {
  name_table t;
  const std::string long_name(300, 'x');
  const std::vector<std::string> names = {"a",
                                          "a.b",
                                          "a[0]",
                                          "a[0][12].b",
                                          "[3]",
                                          "[3].a",
                                          "a[03]",
                                          "a[-1]",
                                          "a[]",
                                          "a[",
                                          "a[b",
                                          "a]",
                                          "a..b",
                                          ".a",
                                          "a.",
                                          ".",
                                          "..",
                                          "a.[3]",
                                          "a[\"k.x\"].b",
                                          "a[\"k\"]x\"]",
                                          "a b",
                                          "quote\"and\\",
                                          "line\nline",
                                          long_name,
                                          long_name + "." + long_name + "[7]",
                                          "a[9223372036854775807]",
                                          "a[99999999999999999999]",
                                          "\xC3\xA4[1]",
                                          "[",
                                          "]",
                                          "[]",
                                          "[1]b",
                                          "a[1]b.c"};
  std::vector<int> numbers;
  for (const std::string& name : names) {
    CAPTURE(name);
    numbers.push_back(t.read(0, name));
    CHECK(text(t, numbers.back()) == name);
    CHECK(t.read(0, name) == numbers.back());
  }
  for (std::size_t i = 0; i < names.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) CHECK(numbers[i] != numbers[j]);
}

TEST_CASE("what a walk over a tree names is what its text names") {
  name_table t;
  const int map = t.field(0, "layers");
  CHECK(t.key(map, "up") == t.read(0, "layers.up"));
  CHECK(t.key(map, "a b") == t.read(0, "layers[\"a b\"]"));
  CHECK(t.key(map, "") == t.read(0, "layers[\"\"]"));
  CHECK(t.element(map, 10) == t.read(map, "[10]"));
  CHECK(t.element(map, 2) == t.read(map, "[2]"));  // after a greater one
  CHECK(t.element(map, 10) == t.read(map, "[10]"));
}

TEST_CASE("many elements and many levels cost no more than a look at their parts") {
  name_table t;
  const int list = t.field(0, "list");
  for (int i = 0; i < 100000; ++i) t.element(list, i);
  CHECK(text(t, t.element(list, 99999)) == "list[99999]");
  int deep = 0;
  for (int i = 0; i < 1000; ++i) deep = t.field(deep, "in");
  CHECK(text(t, deep).size() == 2999);
}

TEST_CASE("names move between tables, within others") {
  name_table from, to;
  const int inner = from.read(0, "attend.scores[1]");
  const int around = to.read(0, "blocks[3]");
  CHECK(text(to, to.import(around, from, inner)) == "blocks[3].attend.scores[1]");
  const int whole = from.read(0, "blocks[3].attend");
  CHECK(text(to, to.import(around, from, whole)) == "blocks[3].attend");
  CHECK(text(to, to.import(around, from, from.read(0, "blocks[4].attend"))) == "blocks[3].blocks[4].attend");
  CHECK(to.join(around, to.read(0, "blocks[3].mlp")) == to.read(0, "blocks[3].mlp"));
  CHECK(text(to, to.join(around, to.read(0, "mlp"))) == "blocks[3].mlp");
  CHECK(to.import(0, from, 0) == 0);
}
