// tests/support/tiny_models.hpp: the models of tests/golden/models as folders that transformers would write, and what they give.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/checkpoint/json_record.hpp>  // json_record
#include <tokamax/checkpoint/safetensors.hpp>  // write_safetensors

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/temporary_folder.hpp"

namespace tokamax::test {

/// A tensor whose elements follow from its name: from -1/2 to 1/2; norms are near 1, or 0 where a model adds 1.
inline array tiny_tensor(const std::string& name, const shape& s, bool plus_one) {
  std::uint64_t seed = 0xCBF29CE484222325u;
  for (const char byte : name) seed = (seed ^ static_cast<unsigned char>(byte)) * 0x100000001B3u;
  const bool norm = name.find("norm") != std::string::npos || name.find(".ln_") != std::string::npos;
  array a = array::uninitialized({f32, false, s});
  for (std::int64_t i = 0; i < a.size(); ++i) {
    std::uint64_t z = seed + (static_cast<std::uint64_t>(i) + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    double v = static_cast<double>(z >> 40) / 16777216.0 - 0.5;
    if (norm) v = v / 2 + (plus_one || name.ends_with("bias") ? 0 : 1);
    a.mutable_data<float>()[i] = static_cast<float>(v);
  }
  return a;
}

/// Codes of 8 bits, or their scales, that follow from their name too.
inline array tiny_codes(const std::string& name, const shape& s, const std::string& dtype_name) {
  const array numbers = tiny_tensor(name, s, true);
  const dtype type = checkpoint::dtype_stored_as(dtype_name);
  array a = array::uninitialized({type, false, s});
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double number = numbers.values<float>()[static_cast<std::size_t>(i)];  // k / 2^24 - 1/2
    const auto k = static_cast<std::int64_t>((number + 0.5) * 16777216.0);
    if (type == f32)
      a.mutable_data<float>()[i] = static_cast<float>(1 + k % 4) / 1024;
    else
      a.mutable_bytes()[i] = static_cast<std::byte>(name.ends_with("_scales")            ? 121 + k % 4
                                                    : type == f8e4m3fn && k % 128 == 127 ? k % 256 - 1
                                                                                         : k % 256);
  }
  return a;
}

struct tiny_tensor_name {
  std::string name;
  std::vector<std::int64_t> shape;
};

struct tiny_codes_name {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string dtype;
};

/// A file of tests/golden/models.
struct tiny_model {
  checkpoint::json_record file, config;
  std::vector<checkpoint::named_array> tensors;
  std::vector<std::int32_t> ids, greedy;
  std::vector<float> logits;  // [ids, vocabulary]

  explicit tiny_model(const std::string& name) {
    const auto json = checkpoint::json_record::from_file(TOKAMAX_ROOT "/tests/golden/models/" + name + ".json");
    file = json, config = json.record("config");
    const auto shape_of = [](const std::vector<std::int64_t>& extents) {
      shape s;
      for (const std::int64_t extent : extents) s.push_back(extent);
      return s;
    };
    for (const auto& t : json.get<std::vector<tiny_tensor_name>>("tensors"))
      tensors.push_back({t.name, tiny_tensor(t.name, shape_of(t.shape), json.get<bool>("plus_one"))});
    for (const auto& t : json.get<std::vector<tiny_codes_name>>("coded", {}))
      tensors.push_back({t.name, tiny_codes(t.name, shape_of(t.shape), t.dtype)});
    ids = json.get<std::vector<std::int32_t>>("ids"), greedy = json.get<std::vector<std::int32_t>>("greedy");
    logits = json.get<std::vector<float>>("logits");
  }
  /// Writes config.json and model.safetensors.
  void write(const std::filesystem::path& folder) const {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "config.json") << config.text();
    checkpoint::write_safetensors(folder / "model.safetensors", tensors, {{"format", "pt"}});
  }
};

inline const std::vector<std::string> tiny_model_names{
    "llama",   "llama_bias", "llama3",       "llama_yarn",    "mistral",   "qwen2",     "qwen3", "gemma", "gemma2",
    "gemma3",  "phi3",       "phi3_partial", "phi3_longrope", "gpt2",      "olmo",      "olmo2", "olmo3", "olmoe",
    "mixtral", "qwen2_moe",  "qwen3_moe",    "gpt_oss",       "deepseek2", "deepseek3", "llama4"};

}  // namespace tokamax::test
