// tests/checkpoint/stored_array.cpp: entries of a safetensors header.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/stored_array.hpp>

#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;
using namespace tokamax::checkpoint;
using nlohmann::json;

TEST_CASE("dtypes have the format's names") {
  CHECK(stored_name(tk::bool_) == "BOOL");
  CHECK(stored_name(tk::bf16) == "BF16");
  CHECK(stored_name(tk::i8) == "I8");
  for (std::size_t i = 1; i < std::size(tk::dtype_table); ++i)
    CHECK(dtype_stored_as(stored_name(static_cast<tk::dtype>(i))) == static_cast<tk::dtype>(i));
  CHECK(dtype_stored_as("none") == tk::dtype::none);
  CHECK(dtype_stored_as("C128") == tk::dtype::none);
}

TEST_CASE("an entry is read as it was made") {
  const tk::array_type type{tk::u32, false, {2, 3}};
  const json entry = stored_entry(type, 16);
  CHECK(entry == json::parse(R"({"dtype": "U32", "shape": [2, 3], "data_offsets": [16, 40]})"));
  const stored_array read = parse_stored("w", entry);
  CHECK(read.type == type);
  CHECK(read.text == "u32[2,3]");
  CHECK(parse_stored("w", stored_entry({tk::f32, false, {}}, 0)).end == 4);
  CHECK(parse_stored("w", stored_entry({tk::f32, false, {0, 7}}, 8)).end == 8);
}

TEST_CASE("unknown types can be named but not used") {
  const stored_array read =
      parse_stored("w", json::parse(R"({"dtype": "C128", "shape": [2], "data_offsets": [0, 32]})"));
  CHECK(read.type.dtype == tk::dtype::none);
  CHECK(read.text == "C128[2]");
  const json deep = {{"dtype", "F32"}, {"shape", std::vector<int>(tk::max_rank + 1, 1)}, {"data_offsets", {0, 4}}};
  CHECK(parse_stored("w", deep).type.dtype == tk::dtype::none);
}

TEST_CASE("entries that contradict themselves are refused") {
  json entry = stored_entry({tk::f32, false, {2, 3}}, 0);
  entry["data_offsets"] = {0, 20};
  CHECK_THROWS_WITH(parse_stored("w", entry), contains("bytes of w") && contains("[0,20]") && contains("f32[2,3]"));
  entry["data_offsets"] = {24, 0};
  CHECK_THROWS_AS(parse_stored("w", entry), tk::error);
  entry["shape"] = {1ull << 62, 16};
  CHECK_THROWS_AS(parse_stored("w", entry), tk::error);
  entry = stored_entry({tk::f32, false, {0, 7}}, 0);
  CHECK(parse_stored("w", entry).end == 0);
  entry["shape"] = {0, 1ull << 62, 4};  // no elements, but strides beyond 2^63
  CHECK_THROWS_AS(parse_stored("w", entry), tk::error);
}

TEST_CASE("entries are read strictly") {
  const auto refused = [](const char* text) {
    INFO(text);
    CHECK_THROWS_AS(parse_stored("w", json::parse(text)), tk::error);
  };
  refused(R"({"dtype": "I32", "shape": [18446744073709551616], "data_offsets": [0, 0]})");
  refused(R"({"dtype": "I32", "shape": [4.9], "data_offsets": [0, 16.7]})");
  refused(R"({"dtype": "I32", "shape": [4.0], "data_offsets": [0, 16]})");
  refused(R"({"dtype": "I32", "shape": [1e300], "data_offsets": [0, 16]})");
  refused(R"({"dtype": "I32", "shape": [true], "data_offsets": [0, 4]})");
  refused(R"({"dtype": "I32", "shape": [-1], "data_offsets": [0, 4]})");
  refused(R"({"dtype": "I32", "shape": "large", "data_offsets": [0, 4]})");
  refused(R"({"dtype": "I32", "shape": {"a": 1}, "data_offsets": [0, 4]})");
  refused(R"({"dtype": "I32", "shape": [1], "data_offsets": [0, 4, 4]})");
  refused(R"({"dtype": "I32", "shape": [1], "data_offsets": [4]})");
  refused(R"({"dtype": "I32", "shape": [1], "data_offsets": 4})");
  refused(R"({"dtype": 1, "shape": [1], "data_offsets": [0, 4]})");
  refused(R"({"dtype": "I32", "shape": [1], "data_offsets": [0, 4], "more": 1})");
  refused(R"({"dtype": "I32", "shape": [1]})");
  refused("null");
  refused("[]");
  refused(R"({"dtype": "I32", "shape": [0], "data_offsets": [9223372036854775807, 9223372036854775806]})");
  const json wide = {{"dtype", "F32"}, {"shape", std::vector<int>(100000, 1)}, {"data_offsets", {0, 4}}};
  CHECK(parse_stored("w", wide).text.size() < 1000);
}
