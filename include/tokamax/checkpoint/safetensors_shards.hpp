// tokamax/checkpoint/safetensors_shards.hpp: arrays by name in several safetensors files with an index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/checkpoint/json.hpp>         // parse_json
#include <tokamax/checkpoint/safetensors.hpp>  // safetensors_file

#include <memory>  // shared_ptr

namespace tokamax::checkpoint {

struct shards_options {
  std::uint64_t most_bytes = 5'000'000'000;  ///< of arrays in a file; one array may have more
  std::string name = "model";                ///< of the files: model-00001-of-00002.safetensors
};

/// Writes arrays to files of a folder, in the order of their names, and `NAME.safetensors.index.json`, which says where each
/// is. The index is written last, when the files are on the disk.
/// errors  as write_safetensors
/// source  github.com/huggingface/transformers, save_pretrained
void write_safetensors_shards(const std::filesystem::path& folder, std::vector<named_array> arrays,
                              const shards_options& options = {});

/// The arrays of a model in several files, by its index. The files stay open.
class safetensors_shards {
 public:
  /// errors  tokamax::error that names the file if it is damaged, or an array that is not in its file; names of files with
  ///         folders are refused
  explicit safetensors_shards(const std::filesystem::path& index);
  const std::map<std::string, std::shared_ptr<const safetensors_file>>& arrays() const { return arrays_; }
  const stored_array& at(const std::string& name) const { return file_of(name).arrays().at(name); }
  /// errors  tokamax::error if there is no array of this name, or as safetensors_file::read
  array read(const std::string& name) const { return file_of(name).read(name); }

 private:
  const safetensors_file& file_of(const std::string& name) const;

  std::filesystem::path index_;
  std::map<std::string, std::shared_ptr<const safetensors_file>> arrays_;
};

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
namespace detail {
TOKAMAX_FILES_COMPILED_ONCE std::string shard_name(const std::string& name, std::size_t i, std::size_t count) {
  const auto digits = [](std::size_t n) {
    const std::string text = std::to_string(n);
    return std::string(text.size() < 5 ? 5 - text.size() : 0, '0') + text;
  };
  return name + "-" + digits(i) + "-of-" + digits(count) + ".safetensors";
}
}  // namespace detail

TOKAMAX_FILES_COMPILED_ONCE void write_safetensors_shards(const std::filesystem::path& folder,
                                                          std::vector<named_array> arrays,
                                                          const shards_options& options) {
  std::ranges::sort(arrays, {}, &named_array::name);
  std::vector<std::vector<named_array>> shards(1);
  std::uint64_t all = 0, in_shard = 0;
  for (named_array& a : arrays) {
    const std::uint64_t bytes = stored_bytes(a.value.dtype(), static_cast<std::uint64_t>(a.value.size()));
    if (!shards.back().empty() && in_shard + bytes > options.most_bytes) shards.emplace_back(), in_shard = 0;
    in_shard += bytes;
    all += bytes;
    shards.back().push_back(std::move(a));
  }
  nlohmann::json places = nlohmann::json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string file = detail::shard_name(options.name, i + 1, shards.size());
    for (const named_array& a : shards[i]) {
      if (places.contains(a.name))
        throw error("safetensors: name of an array", a.name + " twice", "distinct names", folder.string());
      places[a.name] = file;
    }
    write_safetensors(folder / file, std::move(shards[i]), {{"format", "pt"}});
  }
  const nlohmann::json index = {{"metadata", {{"total_size", all}}}, {"weight_map", places}};
  replace_file(folder / (options.name + ".safetensors.index.json"), index.dump(2) + "\n");
}

TOKAMAX_FILES_COMPILED_ONCE safetensors_shards::safetensors_shards(const std::filesystem::path& index) : index_(index) {
  const auto fail = [&](const std::string& what, const std::string& found, const std::string& expected) {
    throw error(error_kind::file, "safetensors index: " + what, found, expected, index.string());
  };
  const nlohmann::json all = parse_json(read_file(index, json_limits{}.bytes), index.string());
  if (!all.is_object() || !all.contains("weight_map") || !all["weight_map"].is_object())
    fail("weight_map", detail::brief(all), "a record of files by name");
  std::map<std::string, std::shared_ptr<const safetensors_file>> files;
  for (const auto& [name, place] : all["weight_map"].items()) {
    if (!place.is_string()) fail("file of " + name, detail::brief(place), "a text");
    const auto file = place.get<std::string>();
    if (file.empty() || file.find_first_of("/\\") != std::string::npos || file.starts_with('.'))
      fail("file of " + name, file, "the name of a file in this folder");
    std::shared_ptr<const safetensors_file>& open = files[file];
    if (!open) open = std::make_shared<const safetensors_file>(index.parent_path() / file);
    if (!open->arrays().contains(name)) fail("array " + name, "nothing in " + file, "the array");
    arrays_.emplace(name, open);
  }
}
TOKAMAX_FILES_COMPILED_ONCE const safetensors_file& safetensors_shards::file_of(const std::string& name) const {
  const auto found = arrays_.find(name);
  if (found == arrays_.end())
    throw error(error_kind::file, "safetensors: array " + name, "nothing", "an array", index_.string());
  return *found->second;
}
#endif

}  // namespace tokamax::checkpoint
