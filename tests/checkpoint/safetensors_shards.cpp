// tests/checkpoint/safetensors_shards.cpp: a model in several files, as Hugging Face has it.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/safetensors_shards.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using namespace tokamax::checkpoint;

TEST_CASE("arrays are divided among files, and found by the index") {
  const temporary_folder folder;
  std::vector<named_array> arrays;
  for (const int i : {3, 1, 0, 2, 4})
    arrays.push_back({"layer." + std::to_string(i), tk::array::from(std::vector<float>(i == 4 ? 40 : 10, float(i)))});
  arrays.push_back({"number", tk::array(1.5f)});
  write_safetensors_shards(folder.path, arrays, {.most_bytes = 80});
  const std::filesystem::path index = folder.path / "model.safetensors.index.json";
  CHECK(std::filesystem::exists(folder.path / "model-00001-of-00004.safetensors"));
  CHECK(tk::read_file(index).find("\"total_size\": 324") != std::string::npos);
  const safetensors_shards all(index);
  CHECK(all.arrays().size() == 6);
  CHECK(all.at("layer.4").type.shape == tk::shape{40});
  for (int i = 0; i < 5; ++i) CHECK(all.read("layer." + std::to_string(i)).values<float>()[9] == float(i));
  CHECK(all.arrays().at("layer.0") == all.arrays().at("layer.1"));
  CHECK(all.arrays().at("layer.1") != all.arrays().at("layer.2"));
  CHECK_THROWS_WITH(all.read("layer.5"), contains("array layer.5: found nothing"));
  write_safetensors_shards(folder.path, {{"a", tk::array(1.0f)}}, {.name = "one"});
  CHECK(safetensors_shards(folder.path / "one.safetensors.index.json").read("a").item() == 1);
  CHECK_THROWS_WITH(write_safetensors_shards(folder.path, {{"a", tk::array(1.0f)}, {"a", tk::array(2.0f)}}),
                    contains("a twice"));
}

TEST_CASE("indices that cannot be are refused") {
  const temporary_folder folder;
  write_safetensors(folder.path / "a.safetensors", {{"x", tk::array(1.0f)}});
  const std::pair<const char*, const char*> rows[] = {
      {"[]", "weight_map"},
      {R"({"weight_map": [1]})", "weight_map"},
      {R"({"weight_map": {"x": 1}})", "file of x"},
      {R"({"weight_map": {"x": "../a.safetensors"}})", "in this folder"},
      {R"({"weight_map": {"x": ""}})", "in this folder"},
      {R"({"weight_map": {"x": ".."}})", "in this folder"},
      {R"({"weight_map": {"x": "b.safetensors"}})", "b.safetensors"},
      {R"({"weight_map": {"y": "a.safetensors"}})", "array y: found nothing in a.safetensors"},
      {R"({"weight_map": {"x": "a.safetensors", "x": "a.safetensors"}})", "x twice"}};
  for (const auto& [text, expected] : rows) {
    const auto path = folder.write("index.json", text);
    CHECK_THROWS_WITH(safetensors_shards(path), contains(expected));
  }
  CHECK(safetensors_shards(folder.write("index.json", R"({"weight_map": {"x": "a.safetensors"}})")).read("x").item() ==
        1);
}
