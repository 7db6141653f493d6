// tokamax/models/tensor_source.hpp: the tensors of a model's file or folder, by name.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models that are read from files use it)
// tested by tests/models/from_pretrained.cpp
#pragma once

#include <tokamax/checkpoint/safetensors_folder.hpp>  // safetensors_folder
#include <tokamax/lax/convert.hpp>                    // astype
#include <tokamax/ops/quantized/packed_weights.hpp>   // packed_weights

#include <functional>  // function
#include <span>        // span

namespace tokamax::models {

/// What is there, and how it is read. Nothing is read before it is asked for.
struct tensor_source {
  std::map<std::string, shape> shapes;
  std::function<array(const std::string& name, dtype as)> read;
  std::function<bool(const std::string& name)> has_codes = [](const std::string&) { return false; };
  /// Rows of a matrix of codes, as the columns of packed weights.
  std::function<packed_weights(const std::string& name, std::span<const std::int64_t> rows)> read_packed = {};
  std::string where;  ///< the file or folder, for messages
};

/// The tensors of a folder as `transformers` writes it. Those whose dtype is asked for stay in their files, which must not change as
/// long as they are used.
/// errors  as safetensors_folder; a tensor whose dtype is not known
inline tensor_source tensors_of_folder(const std::filesystem::path& path) {
  const auto folder = std::make_shared<const checkpoint::safetensors_folder>(path);
  tensor_source result{.shapes = {},
                       .read = [folder](const std::string& name, dtype as) { return astype(folder->map(name), as); },
                       .where = path.string()};
  for (const auto& [name, stored] : folder->arrays()) {
    if (!is_floating(stored.type.dtype))
      if (!name.ends_with(".bias") && !name.ends_with("masked_bias") &&
          !name.ends_with("position_ids"))  // of old files
        throw error(error_kind::file, "model: tensor " + name, stored.text, "floats", path.string());
    result.shapes.emplace(name, stored.type.shape);
  }
  return result;
}

namespace detail {
/// Throws if a config has more layers than its files have tensors, so that no number of a file alone takes memory.
inline void require_layers(const char* model, int layers, const tensor_source& from, const std::string& where) {
  if (static_cast<std::size_t>(layers) <= from.shapes.size()) return;
  throw error(error_kind::file, std::string(model) + ": layers", std::to_string(layers),
              "at most the " + std::to_string(from.shapes.size()) + " tensors", where);
}
}  // namespace detail

}  // namespace tokamax::models
