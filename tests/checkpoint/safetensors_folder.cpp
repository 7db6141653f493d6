// tests/checkpoint/safetensors_folder.cpp: arrays of a folder in one file and in several, and indices that lie.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/safetensors_folder.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using namespace tokamax::checkpoint;

namespace {
const std::vector<named_array> arrays{{"b", tk::array::from<float>({1, 2, 3})},
                                      {"a", tk::array::from<float>({4})},
                                      {"c", tk::array::from<float>({5, 6})}};
}

TEST_CASE("arrays come back from one file and from several") {
  for (const auto& [most, files] : {std::pair<std::uint64_t, int>{1000, 1}, {16, 2}, {12, 2}, {1, 3}}) {
    const temporary_folder folder;
    write_safetensors_folder(folder.path, arrays, most);
    int found = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path))
      found += entry.path().extension() == ".safetensors";
    CHECK(found == files);
    const safetensors_folder saved(folder.path);
    REQUIRE(saved.arrays().size() == 3);
    CHECK(saved.arrays().at("b").type == tk::array_type{tk::f32, false, {3}});
    for (const named_array& a : arrays)
      for (const tk::array& value : {saved.read(a.name), saved.map(a.name)})
        CHECK(std::ranges::equal(value.values<float>(), a.value.values<float>()));
  }
}

TEST_CASE("an array has one name, also where several files have them") {
  const temporary_folder folder;
  for (const std::uint64_t most : {std::uint64_t{1000}, std::uint64_t{1}})
    CHECK_THROWS_WITH(write_safetensors_folder(folder.path, {arrays[0], arrays[1], arrays[0]}, most),
                      contains("found b twice"));
}

TEST_CASE("an index that its files contradict is refused") {
  const temporary_folder folder;
  write_safetensors(folder.path / "x.safetensors", {arrays[0]});
  write_safetensors(folder.path / "y.safetensors", {arrays[0], arrays[1]});
  const auto refused = [&](const std::string& map) {
    folder.write("model.safetensors.index.json", map);
    return [&] { safetensors_folder{folder.path}; };
  };
  CHECK_THROWS_WITH(refused("{}")(), contains("safetensors index: weight_map: found none"));
  CHECK_THROWS_WITH(refused(R"({"weight_map": {"b": 3}})")(),
                    contains("index: b: found 3, expected the name of a file"));
  for (const char* outside : {"../x.safetensors", "/x.safetensors", "..", ".", "", "a/x.safetensors"})
    CHECK_THROWS_WITH(refused(R"({"weight_map": {"b": ")" + std::string(outside) + "\"}}")(),
                      contains("in this folder"));
  CHECK_THROWS_WITH(refused(R"({"weight_map": {"b": "z.safetensors"}})")(), contains("No such file"));
  CHECK_THROWS_WITH(refused(R"({"weight_map": {"b": "x.safetensors", "q": "x.safetensors"}})")(),
                    contains("index: q: found no such array in x"));
  CHECK_THROWS_WITH(refused(R"({"weight_map": {"b": "x.safetensors", "a": "y.safetensors"}})")(),
                    contains("array b: found one in another file"));
  CHECK_THROWS_WITH(refused(R"({"weight_map": {"b": "y.safetensors"}})")(),
                    contains("index: a: found an array of its files"));
  std::filesystem::remove(folder.path / "model.safetensors.index.json");
  CHECK_THROWS_WITH(safetensors_folder(folder.path), contains("model.safetensors"));
}
