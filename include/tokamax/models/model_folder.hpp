// tokamax/models/model_folder.hpp: what folders of all models have in common.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/base/system/file.hpp>        // replace_file
#include <tokamax/checkpoint/json_record.hpp>  // json_record
#include <tokamax/models/tensor_source.hpp>    // tensor_source

namespace tokamax::models::detail {

/// What a model needs beside config.json and its weights: its tokenizer, its template of chats, how it ends, and how its tokens become one row.
inline constexpr std::string_view files_beside_weights[] = {"tokenizer.json",
                                                            "tokenizer_config.json",
                                                            "tokenizer.model",
                                                            "spiece.model",
                                                            "special_tokens_map.json",
                                                            "added_tokens.json",
                                                            "vocab.json",
                                                            "vocab.txt",
                                                            "merges.txt",
                                                            "chat_template.jinja",
                                                            "chat_template.json",
                                                            "generation_config.json",
                                                            "modules.json",
                                                            "sentence_bert_config.json",
                                                            "config_sentence_transformers.json",
                                                            "1_Pooling/config.json"};

/// Throws if the config says that weights are packed.
inline void require_plain_weights(const checkpoint::json_record& config) {
  if (!config.has("quantization_config")) return;
  const checkpoint::json_record packed = config.record("quantization_config");
  packed.refuse("quant_method", packed.get<std::string>("quant_method", "no name"), "weights that are not packed");
}

/// Throws unless the config is that of one of the architectures, or names none and is of the type.
inline void require_architecture(const checkpoint::json_record& config, std::string_view expected,
                                 std::string_view model_type) {
  const auto names = config.get<std::vector<std::string>>("architectures", {});
  const std::string found = names.empty() ? config.get<std::string>("model_type", "none") : names[0];
  if (names.empty() ? found != model_type
                    : (", " + std::string(expected) + ",").find(" " + found + ",") == std::string::npos)
    config.refuse("architectures", found, std::string(expected));
  require_plain_weights(config);
}

/// The same tensors without `prefix`, if any has it; those without it are left out then.
inline tensor_source without_prefix(tensor_source from, const std::string& prefix) {
  std::map<std::string, shape> shapes;
  for (const auto& [name, s] : from.shapes)
    if (name.starts_with(prefix)) shapes.emplace(name.substr(prefix.size()), s);
  if (shapes.empty()) return from;
  return {.shapes = std::move(shapes),
          .read = [read = from.read, prefix](const std::string& name, dtype as) { return read(prefix + name, as); },
          .where = from.where};
}

/// Writes config.json and the tensors, and copies from the folder `source`, unless it is empty or no folder, what stands beside them there.
/// errors  tokamax::error if the folder exists already, or cannot be written
inline void write_model_folder(const std::filesystem::path& path, const std::vector<checkpoint::named_array>& tensors,
                               const checkpoint::json_record& config, const std::filesystem::path& source,
                               std::uint64_t most_bytes) {
  std::error_code failure;
  const auto refuse = [&](std::string found, std::string expected) {
    throw error(error_kind::file, "save_pretrained", std::move(found), std::move(expected), path.string());
  };
  if (std::filesystem::exists(path)) refuse("a folder that exists already", "a new one");
  std::filesystem::create_directories(path, failure);
  if (failure) refuse(failure.message(), "a folder that can be made");
  checkpoint::write_safetensors_folder(path, tensors, most_bytes);
  for (const std::string_view name : files_beside_weights) {
    if (source.empty() || !std::filesystem::is_regular_file(source / name, failure)) continue;
    std::filesystem::create_directories((path / name).parent_path(), failure);
    std::filesystem::copy_file(source / name, path / name, failure);
    if (failure) refuse(failure.message(), "a copy of " + (source / name).string());
  }
  replace_file(path / "config.json", config.text());
}

}  // namespace tokamax::models::detail
