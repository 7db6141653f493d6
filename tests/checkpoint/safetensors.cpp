// tests/checkpoint/safetensors.cpp: arrays to a file and back, and files that are none.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/safetensors.hpp>
#include <tokamax/core/print.hpp>

#include <cstring>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using namespace tokamax::checkpoint;

namespace {
std::string bytes_of(std::uint64_t length, const std::string& header, const std::string& data) {
  std::string result(8, '\0');
  std::memcpy(result.data(), &length, 8);
  return result + header + data;
}
std::string with_header(const std::string& header, const std::string& data) {
  return bytes_of(header.size(), header, data);
}
bool same(const tk::array& a, const tk::array& b) {
  return a.type() == b.type() &&
         std::ranges::equal(tokamax::checkpoint::detail::bytes_of(a), tokamax::checkpoint::detail::bytes_of(b));
}
}  // namespace

TEST_CASE("every dtype survives") {
  const temporary_folder folder;
  const auto path = folder.path / "a.safetensors";
  const std::vector<named_array> arrays{
      {"flags", tk::array::from<bool>({true, false, true})},
      {"small", tk::array::from<std::int8_t>({-128, 127, 5})},
      {"ids", tk::array::from<std::int32_t>({-1, 2, -3, 4}, {2, 2})},
      {"key", tk::array::from<std::uint32_t>({0xffffffffu, 7})},
      {"half", tk::array::from<tk::bfloat16>({tk::bfloat16(0.1f), tk::bfloat16(-2.0f), tk::bfloat16(3.0f)}, {1, 3})},
      {"weights", tk::array::from<float>({0.1f, -1e-40f, 3e38f, 1}, {4, 1})},
      {"nibbles", tk::array::from<tk::int4>({tk::int4(-8), tk::int4(7), tk::int4(-1)})},
      {"unsigned nibbles", tk::array::from<tk::uint4>({tk::uint4(15), tk::uint4(1)}, {2, 1})},
      {"scalar", 2.5},
      {"none", tk::array::uninitialized({tk::f32, false, {0, 4}})},
  };
  write_safetensors(path, arrays, {{"made by", "a test"}});
  const safetensors_file file(path);
  REQUIRE(file.arrays().size() == arrays.size());
  CHECK(file.notes().at("made by") == "a test");
  for (const named_array& a : arrays) {
    tk::array expected = a.value;
    expected.materialize();
    CHECK(same(file.read(a.name), expected));
    CHECK(file.arrays().at(a.name).begin % static_cast<std::uint64_t>(tk::size_of(a.value.dtype())) == 0);
  }
  CHECK_THROWS_WITH(file.read("bias"), contains("array bias") && contains("a.safetensors"));
}

TEST_CASE("mapped arrays have the same elements, which stay in the file") {
  const temporary_folder folder;
  const auto path = folder.path / "a.safetensors";
  const std::vector<named_array> arrays{{"flags", tk::array::from<bool>({true, false, true})},
                                        {"nibbles", tk::array::from<tk::int4>({tk::int4(-8), tk::int4(7)})},
                                        {"half", tk::array::from<tk::bfloat16>({tk::bfloat16(0.1f)})},
                                        {"weights", tk::array::from<float>({0.1f, 3e38f, 1}, {3, 1})},
                                        {"none", tk::array::uninitialized({tk::f32, false, {0, 4}})}};
  write_safetensors(path, arrays);
  tk::array kept;
  {
    const safetensors_file file(path);
    for (const named_array& a : arrays) {
      CAPTURE(a.name);
      const tk::array found = file.map(a.name);
      CHECK(same(found, a.value));
      const bool stays = a.name == "half" || a.name == "weights";
      CHECK((found.size() > 0 && found.storage()->read_only) == stays);
    }
    kept = file.map("weights");
    CHECK_THROWS_WITH(file.map("others"), contains("array others: found nothing"));
  }
  std::filesystem::remove(path);
  CHECK(same(kept, arrays[3].value));
  kept.mutable_data<float>()[0] = 5;  // a copy of its own
  CHECK(kept.values<float>()[0] == 5);
  // an array that does not lie at a multiple of its elements is read
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  folder.write("odd.safetensors", with_header(header + std::string(header.size() % 2 == 0 ? 1 : 2, ' '), "abcd"));
  const tk::array odd = safetensors_file(folder.path / "odd.safetensors").map("a");
  CHECK(!odd.storage()->read_only);
  CHECK(std::memcmp(odd.bytes(), "abcd", 4) == 0);
}

TEST_CASE("the bytes are those of the format") {
  const temporary_folder folder;
  const std::string header = R"({"w":{"data_offsets":[0,4],"dtype":"I32","shape":[1]}}  )";
  REQUIRE(header.size() % 8 == 0);
  write_safetensors(folder.path / "a", {{"w", tk::array::from<std::int32_t>({0x64636261})}});
  std::ifstream in(folder.path / "a", std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == with_header(header, "abcd"));
}

TEST_CASE("4-bit integers are two to a byte") {
  const temporary_folder folder;
  const std::string header = R"({"w":{"data_offsets":[0,2],"dtype":"I4","shape":[3]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  write_safetensors(folder.path / "a", {{"w", tk::array::from<tk::int4>({tk::int4(1), tk::int4(-1), tk::int4(5)})}});
  std::ifstream in(folder.path / "a", std::ios::binary);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}) == with_header(padded, "\xf1\x05"));
  CHECK(tk::to_string(safetensors_file(folder.path / "a").read("w")) == "[ 1 -1  5]");
}

TEST_CASE("arrays that cannot be written are named") {
  const temporary_folder folder;
  const tk::array one = tk::array::from<float>({1});
  CHECK_THROWS_WITH(write_safetensors(folder.path / "a", {{"w", tk::array({tk::f32, false, {3}})}}),
                    contains("f32[3]") && contains("(w)"));
  CHECK_THROWS_WITH(write_safetensors(folder.path / "a", {{"w", one}, {"w", one}}), contains("w twice"));
  CHECK_FALSE(std::filesystem::exists(folder.path / "a"));
}

TEST_CASE("every cut is noticed") {
  const temporary_folder folder;
  write_safetensors(folder.path / "a", {{"w", tk::array::from<float>({1, 2})}});
  const auto size = std::filesystem::file_size(folder.path / "a");
  for (std::uintmax_t length = 0; length < size; ++length) {
    std::filesystem::copy_file(folder.path / "a", folder.path / "b", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(folder.path / "b", length);
    CHECK_THROWS_WITH(safetensors_file(folder.path / "b"), contains("safetensors: found") && contains("/b"));
  }
  std::filesystem::resize_file(folder.path / "a", size + 1);
  CHECK_THROWS_WITH(safetensors_file(folder.path / "a"), contains("as the header says"));
}

TEST_CASE("files that are no safetensors are refused") {
  const temporary_folder folder;
  const auto open = [&](const std::string& bytes) {
    return safetensors_file(folder.write("a", bytes)).arrays().size();
  };
  CHECK(open(with_header("{}", "")) == 0);
  CHECK_THROWS_WITH(open(bytes_of(~0ull, "{}", "")), contains("18446744073709551615 bytes"));
  CHECK_THROWS_WITH(open(with_header("{", "")), contains("closes with }"));
  CHECK_THROWS_WITH(open(with_header("{1}", "")), contains("text of the format"));
  CHECK_THROWS_AS(open(with_header("[1]", "")), tk::error);
  CHECK_THROWS_AS(open(with_header(R"({"w": 1})", "")), tk::error);
  CHECK_THROWS_AS(open(with_header(R"({"w": {"dtype": "I32", "shape": [1]}})", "abcd")), tk::error);
  CHECK_THROWS_AS(open(with_header(R"({"w": {"dtype": "I32", "shape": [-1], "data_offsets": [0, 4]}})", "abcd")),
                  tk::error);
  const std::string gap = R"({"w": {"dtype": "I32", "shape": [1], "data_offsets": [4, 8]}})";
  CHECK_THROWS_WITH(open(with_header(gap, "abcdefgh")), contains("at byte 4") && contains("one at 0"));
  const std::string twice = R"({"w": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]},
                                "w": {"dtype": "BOOL", "shape": [1], "data_offsets": [1, 2]}})";
  CHECK_THROWS_AS(open(with_header(twice, "ab")), tk::error);
}

TEST_CASE("headers are read strictly") {
  const temporary_folder folder;
  const auto refused = [&](const std::string& header, const std::string& data, const std::string& expected) {
    INFO(header.substr(0, 100));
    const auto path = folder.write("a", with_header(header, data));
    CHECK_THROWS_WITH(safetensors_file(path), contains(expected) && contains("/a"));
  };
  const std::string good = R"({"w":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})";
  CHECK(safetensors_file(folder.write("a", with_header(good + "   ", "a"))).arrays().size() == 1);
  refused("null", "", "opens with {");
  refused("[]", "", "opens with {");
  refused(" " + good, "a", "opens with {");
  refused("\xef\xbb\xbf" + good, "a", "opens with {");
  refused(good + "\n", "a", "blanks");
  refused(good + "x", "a", "blanks");
  refused(good + std::string("\0}", 2), "a", "a zero byte");
  refused(good + "{}", "a", "format");
  refused(R"({"w":1})", "", "a record of dtype");
  refused(R"({"w":null})", "", "a record of dtype");
  refused(R"({"__metadata__":[]})", "", "texts by name");
  refused(R"({"__metadata__":{"a":1}})", "", "texts by name");
  refused("{\"\xff\":1}", "", "format");
  refused(good.substr(0, good.size() - 1) + "," + good.substr(1), "a", "w twice");
  refused(R"({"w":{"dtype":"BOOL","dtype":"BOOL","shape":[1],"data_offsets":[0,1]}})", "a", "dtype twice");
  const std::string a = R"({"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]},"b":)";
  refused(a + R"({"dtype":"BOOL","shape":[2],"data_offsets":[1,3]}})", "abc", "at byte 1");
  refused(a + R"({"dtype":"C128","shape":[2],"data_offsets":[2,18446744073709551610]}})", "ab", "as the header says");
  refused(a + R"({"dtype":"C128","shape":[2],"data_offsets":[2,1]}})", "ab", "at byte 2");
}

TEST_CASE("depth, memory and messages are bounded") {
  const temporary_folder folder;
  const auto message = [&](const std::string& header) -> std::string {
    try {
      safetensors_file(folder.write("a", with_header(header, ""))).read("w");
    } catch (const tk::error& e) {
      return e.what();
    }
    return "no error";
  };
  CHECK_THAT(message("{\"w\":" + std::string(1000000, '[') + "}"), contains("depth"));
  std::string many = "{\"w\":[0";
  for (int i = 0; i < 4200000; ++i) many += ",0";
  CHECK_THAT(message(many + "]}"), contains("values"));
  std::string ranks = "0";
  for (int i = 0; i < 100000; ++i) ranks += ",0";
  const std::string deep = message(R"({"w":{"dtype":"I32","shape":[)" + ranks + R"(],"data_offsets":[0,0]}})");
  CHECK_THAT(deep, contains("known dtype"));
  CHECK(deep.size() < 9000);
  const std::string name = message("{\"" + std::string(1000000, 'n') + "\":1}");
  CHECK_THAT(name, contains("entry of nnn"));
  CHECK(name.size() < 9000);
}

TEST_CASE("what could not be read again is not written") {
  const temporary_folder folder;
  const tk::array one = tk::array::from<float>({1});
  CHECK_THROWS_WITH(write_safetensors(folder.path / "a", {{"__metadata__", one}}), contains("__metadata__"));
  CHECK_THROWS_WITH(write_safetensors(folder.path / "a", {{"\xff", one}}), contains("UTF-8"));
  CHECK_THROWS_WITH(write_safetensors(folder.path / "a", {{"w", one}}, {{"note", "\xff"}}), contains("UTF-8"));
  CHECK_FALSE(std::filesystem::exists(folder.path / "a"));
}

TEST_CASE("values that cannot be read are refused") {
  const temporary_folder folder;
  const std::string flag = R"({"w": {"dtype": "BOOL", "shape": [1], "data_offsets": [0, 1]}})";
  CHECK_THROWS_WITH(safetensors_file(folder.write("a", with_header(flag, "\2"))).read("w"), contains("above 1"));
  const std::string wide = R"({"w": {"dtype": "C128", "shape": [1], "data_offsets": [0, 4]}})";
  const safetensors_file file(folder.write("b", with_header(wide, "abcd")));
  CHECK_THROWS_WITH(file.read("w"), contains("C128[1]") && contains("known dtype"));
}
