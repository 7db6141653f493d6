// tests/checkpoint/json_text.cpp: records read from bytes are those that json_value reads, and nothing else is.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/error.hpp>
#include <tokamax/checkpoint/json_text.hpp>

#include <cmath>
#include <optional>
#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using namespace tokamax::checkpoint;

namespace {
enum class colour : std::int8_t { red, green };
struct inner {
  double number;
  std::vector<std::string> words;
  bool operator==(const inner&) const = default;
};
struct record {
  std::string text;
  std::vector<int> ids;
  std::uint64_t big;
  std::int8_t small;
  float real;
  bool yes;
  colour kind;
  inner part;
  std::vector<inner> parts;
  std::tuple<int, std::string> pair;
  bool operator==(const record&) const = default;
};
const std::string good =
    R"({"text": "plain \u00e4\ud83d\ude00\n\"\\\/\b\f\r\t é 😀", "ids": [1, -2, 0,3], "big": 18446744073709551615, "small": -128,)"
    R"("real": 1.5e-3, "yes": true, "kind": 1, "part": {"words": [], "number": -0.1}, "parts": [{"number": 12, "words":)"
    R"(["a", ""]}, {"number": 1E+2, "words": ["b"]}], "pair": [7, "x"], "other": {"a": [null, false, 1.25, "t"], "b": {}}})";

std::optional<record> slowly(const std::string& text) {
  try {
    return json_value::parse(text, "f").as<record>("record", "f");
  } catch (const tk::error&) {
    return std::nullopt;
  }
}
// What is taken is taken by json_value too, and is the same.
bool taken(const std::string& text) {
  record quick{};
  if (!detail::json_text(text).whole(quick)) return false;
  const std::optional<record> slow = slowly(text);
  INFO(text);
  REQUIRE(slow);
  REQUIRE(quick == *slow);
  return true;
}
}  // namespace

TEST_CASE("records are read from the bytes of a text") {
  REQUIRE(taken(good));
  record found{};
  REQUIRE(detail::json_text(" \r\n" + good + "\t").whole(found));
  CHECK(found.text == "plain ä😀\n\"\\/\b\f\r\t é 😀");
  CHECK(found.ids == std::vector{1, -2, 0, 3});
  CHECK(found.big == ~std::uint64_t{0});
  CHECK(found.real == 1.5e-3f);
  CHECK(found.parts[1] == inner{100, {"b"}});
  CHECK(parse_json_as<record>(good, "record", "f") == found);
  CHECK(parse_json_as<std::vector<double>>("[1, 2.5]", "list", "f") == std::vector{1, 2.5});
  // What is not read from the bytes is read by json_value.
  const auto number = parse_json_as<inner>(R"({"w\u006frds": [], "number": "inf"})", "record", "f").number;
  CHECK(std::isinf(number));
  CHECK_THROWS_WITH(parse_json_as<inner>(R"({"number": 1})", "record", [] { return "f, line 3"; }),
                    contains("record: found no words") && contains("(f, line 3)"));
}

TEST_CASE("what differs from a record is left to json_value") {
  const std::vector<std::pair<std::string, std::string>> changes = {{"-2", "-02"},
                                                                    {"-2", "+2"},
                                                                    {"-2", "2."},
                                                                    {"-2", "2.0"},
                                                                    {"-2", "2147483648"},
                                                                    {"-128", "-129"},
                                                                    {"true", "True"},
                                                                    {"true", "1"},
                                                                    {"1.5e-3", "1e39"},
                                                                    {"1.5e-3", "1.5e"},
                                                                    {"1.5e-3", "1e999"},
                                                                    {"1.5e-3", ".5"},
                                                                    {"\"x\"]", "\"x\", 1]"},
                                                                    {", \"x\"]", "]"},
                                                                    {"\"ids\"", "\"big\""},
                                                                    {"\"b\": {}", "\"a\": {}"},
                                                                    {"null", "nul"},
                                                                    {"\\ud83d\\ude00", "\\ud83d"},
                                                                    {"\\ude00", "\\u0041"},
                                                                    {"\\u00e4", "\\u00g4"},
                                                                    {"\\n", "\n"},
                                                                    {"é", "\xc3"},
                                                                    {"é", "\xc0\xaf"},
                                                                    {"é", "\xed\xa0\x80"},
                                                                    {"😀\"", "\xf4\x90\x80\x80\""},
                                                                    {"[1, ", "[1,, "},
                                                                    {"3]", "3,]"},
                                                                    {"\"kind\": 1", "\"kind\": 200"},
                                                                    {"1.25", "1e999"},
                                                                    {"{\"text\"", "\xef\xbb\xbf{\"text\""},
                                                                    {"\"yes\": true, ", ""},
                                                                    {"\"part\": {", "\"part\": [{"},
                                                                    {"plain", std::string("pl\0in", 5)}};
  for (const auto& [from, to] : changes) {
    std::string text = good;
    const std::size_t at = text.rfind(from);
    REQUIRE(at != text.npos);
    text.replace(at, from.size(), to);
    INFO(text);
    CHECK(!taken(text));
  }
  for (const char* tail : {"x", "}", "{}", ","}) CHECK(!taken(good + tail));
  for (std::size_t i = 0; i < good.size(); ++i) CHECK(!taken(good.substr(0, i)));
  const auto deep = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  const auto with = [](const std::string& value) {
    return good.substr(0, good.size() - 1) + ", \"more\": " + value + "}";
  };
  CHECK(taken(with(deep(63))));
  CHECK(!taken(with(deep(64))));
  CHECK(!slowly(with(deep(64))));
  std::string many = "[0";
  for (int i = 1; i < (1 << 20); ++i) many += ",0";
  std::vector<int> list;
  CHECK(detail::json_text(many.substr(0, many.size() - 4) + "]").whole(list));
  CHECK(!detail::json_text(many + "]").whole(list));
}

TEST_CASE("random changes of a record are read alike, or left") {
  std::mt19937 random(5);
  const std::string_view bytes = "\"\\{}[],:0123456789.eE+-truefalsn \t\x80\xc3\xa4\xf0\x1f";
  int same = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (std::uint32_t k = random() % 3 + 1; k > 0; --k) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = bytes[random() % bytes.size()];
          break;
        case 1:
          text.erase(at, random() % 4);
          break;
        default:
          text.insert(at, 1, bytes[random() % bytes.size()]);
      }
    }
    same += taken(text);
  }
  CHECK(same > 1000);
}
