// tests/fuzz/model.cpp: any bytes as a GGUF file, as config.json beside weights, and as the index of weights.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/cpu.hpp>
#include <tokamax/models/bert_from_pretrained.hpp>
#include <tokamax/models/from_pretrained.hpp>
#include <tokamax/models/t5_from_pretrained.hpp>

#include "fuzz/fuzz.hpp"

namespace tk = tokamax;

namespace {
/// The weights of a Llama with one layer.
void write_weights(const std::filesystem::path& path) {
  std::vector<tk::checkpoint::named_array> all;
  const auto add = [&](const std::string& name, const tk::shape& s) {
    all.push_back({name, tk::array::filled({tk::f32, false, s}, 0.5)});
  };
  add("model.embed_tokens.weight", {6, 4}), add("lm_head.weight", {6, 4}), add("model.norm.weight", {4});
  for (const char* norm : {"input_layernorm", "post_attention_layernorm"})
    add(std::string("model.layers.0.") + norm + ".weight", {4});
  for (const char* square : {"q", "k", "v", "o"})
    add(std::string("model.layers.0.self_attn.") + square + "_proj.weight", {4, 4});
  for (const char* wide : {"gate", "up"}) add(std::string("model.layers.0.mlp.") + wide + "_proj.weight", {8, 4});
  add("model.layers.0.mlp.down_proj.weight", {4, 8});
  tk::checkpoint::write_safetensors(path, all);
}
}  // namespace

void fuzz(std::string_view bytes) {
  if (bytes.starts_with("GGUF"))
    return only_errors([&] { tk::models::from_pretrained(file_with(bytes, "model.gguf")); });
  const std::filesystem::path folder = file_with(bytes, "config.json").parent_path();
  static const bool written =
      (write_weights(folder / "model.safetensors"), std::filesystem::create_directories(folder / "several"),
       write_weights(folder / "several" / "a.safetensors"), true);
  static_cast<void>(written);
  only_errors([&] {
    const tk::models::pretrained p = tk::models::from_pretrained(folder);
    if (p.model.config.layers != 1 || p.model.token.table.size() != 24) std::abort();
  });
  only_errors([&] { tk::models::bert_from_pretrained(folder); });
  only_errors([&] { tk::models::t5_from_pretrained(folder); });
  file_with(bytes, "several/model.safetensors.index.json");
  only_errors([&] {
    const tk::checkpoint::safetensors_folder several(folder / "several");
    for (const auto& [name, stored] : several.arrays()) several.read(name);
  });
}
