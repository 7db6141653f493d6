// tests/checkpoint/metadata.cpp: values to JSON and back.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/metadata.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <limits>

#include "support/catch.hpp"
#include "support/contains.hpp"

using tokamax::checkpoint::metadata;

namespace {
enum class schedule { constant, cosine };
struct place {
  std::int64_t epoch = 0, index = 0;
  bool operator==(const place&) const = default;
};
struct settings {
  double rate = 0;
  float decay = 0;
  bool bias = false;
  schedule kind = schedule::constant;
  std::string name;
  std::vector<place> places;
  std::uint64_t seed = 0;
  bool operator==(const settings&) const = default;
};
}  // namespace

TEST_CASE("records, numbers and texts survive") {
  const settings s{0.1, 0.1f, true, schedule::cosine, "\xc3\xa9", {{1, 2}, {3, 1ll << 60}}, ~0ull};
  metadata about;
  about.set("settings", s).set("loss", 1.88).set("note", "text").set("epoch", 7);
  metadata read;
  *read.entries = nlohmann::json::parse(about.entries.text());
  CHECK(read.get<settings>("settings") == s);
  CHECK(read.get<double>("loss") == 1.88);
  CHECK(read.get<std::string>("note") == "text");
  CHECK(read.get<int>("epoch") == 7);
  CHECK(read.has("loss"));
  CHECK_FALSE(read.has("gain"));
  CHECK(about.entries["settings"]["places"][1]["epoch"] == 3);
}

TEST_CASE("numbers that JSON lacks survive") {
  metadata about;
  about.set("a", std::numeric_limits<double>::infinity())
      .set("b", -std::numeric_limits<float>::infinity())
      .set("c", std::nan(""));
  CHECK(about.get<double>("a") == std::numeric_limits<double>::infinity());
  CHECK(about.get<float>("b") == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(about.get<double>("c")));
}

TEST_CASE("what is missing or different is named") {
  metadata about;
  about.set("at", place{1, 2}).set("large", 1ll << 40).set("negative", -1).set("half", 0.5);
  CHECK_THROWS_WITH(about.get<int>("loss"), contains("metadata loss") && contains("nothing"));
  CHECK_THROWS_WITH(about.get<int>("large"), contains("1099511627776") && contains("can hold"));
  CHECK_THROWS_AS(about.get<std::uint64_t>("negative"), tokamax::error);
  CHECK_THROWS_WITH(about.get<int>("half"), contains("0.5") && contains("an integer"));
  CHECK_THROWS_WITH(about.get<bool>("half"), contains("true or false"));
  CHECK_THROWS_WITH(about.get<std::string>("half"), contains("a text"));
  CHECK_THROWS_WITH(about.get<double>("at"), contains("a number"));
  CHECK_THROWS_WITH(about.get<std::vector<int>>("at"), contains("a list"));
  CHECK_THROWS_WITH(about.get<settings>("at"), contains("metadata at") && contains("no rate"));
  about.entries["at"]["index"] = "two";
  CHECK_THROWS_WITH(about.get<place>("at"), contains("at.index") && contains("\"two\""));
}

TEST_CASE("numbers that the type cannot hold are refused") {
  metadata about;
  about.set("large", 1e300);
  CHECK_THROWS_WITH(about.get<float>("large"), contains("fits the type"));
  about.set("long", std::string(100000, 'x'));
  try {
    about.get<int>("long");
    CHECK(false);
  } catch (const tokamax::error& e) {
    CHECK(std::string(e.what()).size() < 1000);
  }
}

TEST_CASE("JSON is read within bounds") {
  using tokamax::checkpoint::parse_json;
  CHECK(parse_json(R"({"a": [1, {"a": 2.5}], "b": "c"})", "here")["a"][1]["a"] == 2.5);
  CHECK_THROWS_WITH(parse_json(R"({"a": 1, "a": 1})", "here"), contains("a twice") && contains("(here)"));
  CHECK_THROWS_WITH(parse_json(R"([{"a": {"b": 1, "c": 1, "b": 1}}])", "here"), contains("b twice"));
  CHECK_THROWS_WITH(parse_json("[[1]]", "here", {.depth = 1}), contains("depth"));
  CHECK_THROWS_WITH(parse_json(std::string(100000, '['), "here"), contains("depth"));
  CHECK_THROWS_WITH(parse_json("[1, 2]", "here", {.values = 2}), contains("values"));
  CHECK_THROWS_WITH(parse_json("[1, 2]", "here", {.bytes = 5}), contains("6 bytes"));
  CHECK_THROWS_WITH(parse_json(std::string("[1]\0x", 5), "here"), contains("zero byte"));
  for (const char* bad : {"", "{", "[1] 2", "[1,]", "nul", "1e999", "\"\xff\"", "[01]", "// a\n1"})
    CHECK_THROWS_AS(parse_json(bad, "here"), tokamax::error);
}

TEST_CASE("naturals are integers") {
  using tokamax::checkpoint::natural;
  CHECK(natural(nlohmann::json::parse("18446744073709551615")) == ~0ull);
  CHECK(natural(nlohmann::json(7)) == 7);
  for (const char* bad : {"18446744073709551616", "1.0", "-1", "true", "\"1\"", "null", "[1]"})
    CHECK_FALSE(natural(nlohmann::json::parse(bad)));
}
