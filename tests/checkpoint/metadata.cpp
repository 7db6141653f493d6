// tests/checkpoint/metadata.cpp: values to JSON and back.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/metadata.hpp>

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
  metadata read{0, nlohmann::json::parse(about.entries.dump())};
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
