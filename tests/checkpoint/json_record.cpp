// tests/checkpoint/json_record.cpp: fields of a record, and the errors that name them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/json_record.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

using tokamax::checkpoint::json_record;

TEST_CASE("fields are read by name, with a value for those that are missing or null") {
  const temporary_folder folder;
  const auto path =
      folder.write("config.json", R"({"a": 3, "b": 2.5, "c": null, "d": "text", "e": [1, 2], "f": {"g": true}})");
  const json_record json = json_record::from_file(path);
  CHECK(json.get<int>("a") == 3);
  CHECK(json.get<double>("a") == 3.0);
  CHECK(json.get<double>("b", 1.0) == 2.5);
  CHECK(!json.has("c"));
  CHECK(json.get<int>("c", 7) == 7);
  CHECK(json.get<int>("z", 8) == 8);
  CHECK(json.get<std::string>("d") == "text");
  CHECK(json.get<std::vector<int>>("e") == std::vector{1, 2});
  CHECK(json.record("f").get<bool>("g"));
  CHECK((json.is_number("a") && !json.is_number("e") && !json.is_number("z")));
  CHECK_THROWS_WITH(json.get<int>("b"),
                    contains("config.b: found 2.5, expected an integer") && contains("config.json"));
  CHECK_THROWS_WITH(json.get<int>("z"), contains("config: found no z, expected a record with the field z"));
  CHECK_THROWS_WITH(json.record("a"), contains("config.a: found 3, expected a record"));
  CHECK_THROWS_WITH(json.record("f").get<int>("g"), contains("config.f.g: found true, expected an integer"));
  CHECK_THROWS_WITH(json.refuse("a", "3", "4"), contains("config.a: found 3, expected 4"));
  CHECK_THROWS_WITH(json_record::from_file(folder.write("list.json", "[1]")),
                    contains("config: found [1], expected a record"));
}

TEST_CASE("fields are set, and the text has them") {
  json_record inner, json;
  inner.set("theta", 1e4);
  json.set("rope", inner);
  json.set("name", std::string("x"));
  CHECK(json.record("rope").get<double>("theta") == 1e4);
  CHECK(json.text() == "{\n  \"name\": \"x\",\n  \"rope\": {\n    \"theta\": 10000.0\n  }\n}\n");
  json.remove("rope"), json.remove("none");
  CHECK(json.text() == "{\n  \"name\": \"x\"\n}\n");
}
