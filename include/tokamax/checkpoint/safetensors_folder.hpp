// tokamax/checkpoint/safetensors_folder.hpp: the arrays of a model's folder, in one safetensors file or several with an index.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (readers of models use it)
#pragma once

#include <tokamax/checkpoint/json.hpp>         // parse_json
#include <tokamax/checkpoint/safetensors.hpp>  // safetensors_file

#include <memory>  // unique_ptr

namespace tokamax::checkpoint {

/// `model.safetensors`, or else the files that `model.safetensors.index.json` names, opened for reading.
/// source  save_pretrained of transformers
class safetensors_folder {
 public:
  /// errors  tokamax::error of the kind `file`: as safetensors_file; if the index names a file outside of the folder, or an array
  ///         that its file does not have; if an array is in two files
  explicit safetensors_folder(const std::filesystem::path& path);

  /// Dtypes and shapes by name.
  const std::map<std::string, stored_array>& arrays() const { return arrays_; }
  array read(const std::string& name) const;
  /// As safetensors_file::map.
  array map(const std::string& name) const;

 private:
  void open(const std::filesystem::path& path);

  std::vector<std::unique_ptr<const safetensors_file>> files_;
  std::map<std::string, stored_array> arrays_;
  std::map<std::string, std::size_t> file_of_;
};

/// Writes arrays into a folder, which must exist: one file, or several of at most `most_bytes` (or one array) with an index.
/// errors  as write_safetensors
void write_safetensors_folder(const std::filesystem::path& path, const std::vector<named_array>& arrays,
                              std::uint64_t most_bytes);

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
TOKAMAX_FILES_COMPILED_ONCE safetensors_folder::safetensors_folder(const std::filesystem::path& path) {
  const std::filesystem::path whole = path / "model.safetensors", index = path / "model.safetensors.index.json";
  if (std::filesystem::exists(whole) || !std::filesystem::exists(index)) {
    open(whole);
    return;
  }
  const std::string where = index.string();
  const nlohmann::json json = parse_json(read_file(index, std::uint64_t{1} << 26), where);
  const auto refuse = [&](const std::string& what, const std::string& found, const std::string& expected) {
    throw error(error_kind::file, "safetensors index: " + what, found, expected, where);
  };
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
    refuse("weight_map", "none", "a record of files by the names of arrays");
  std::map<std::string, std::size_t> opened;
  for (const auto& [name, file] : json["weight_map"].items()) {
    if (!file.is_string()) refuse(name, detail::brief(file), "the name of a file");
    const auto text = file.get<std::string>();
    if (text.empty() || std::filesystem::path(text).filename().string() != text || text == "." || text == "..")
      refuse(name, detail::brief(file), "the name of a file in this folder");
    if (!opened.contains(text)) {
      open(path / text);
      opened[text] = files_.size() - 1;
    }
    const auto found = file_of_.find(name);
    if (found == file_of_.end() || found->second != opened[text])
      refuse(name, "no such array in " + text, "the file that has it");
  }
  for (const auto& [name, stored] : arrays_)
    if (!json["weight_map"].contains(name)) refuse(name, "an array of its files", "that the index names it");
}
TOKAMAX_FILES_COMPILED_ONCE void safetensors_folder::open(const std::filesystem::path& path) {
  files_.push_back(std::make_unique<safetensors_file>(path));
  for (const auto& [name, stored] : files_.back()->arrays()) {
    if (!arrays_.emplace(name, stored).second)
      throw error(error_kind::file, "safetensors: array " + name, "one in another file too", "distinct names",
                  path.string());
    file_of_[name] = files_.size() - 1;
  }
}
TOKAMAX_FILES_COMPILED_ONCE array safetensors_folder::read(const std::string& name) const {
  return files_.at(file_of_.at(name))->read(name);
}
TOKAMAX_FILES_COMPILED_ONCE array safetensors_folder::map(const std::string& name) const {
  return files_.at(file_of_.at(name))->map(name);
}
TOKAMAX_FILES_COMPILED_ONCE void write_safetensors_folder(const std::filesystem::path& path,
                                                          const std::vector<named_array>& arrays,
                                                          std::uint64_t most_bytes) {
  std::vector<std::vector<named_array>> shards(1);
  std::uint64_t size = 0, total = 0;
  for (const named_array& a : arrays) {
    const std::uint64_t bytes = stored_bytes(a.value.dtype(), static_cast<std::uint64_t>(a.value.size()));
    if (size > 0 && size + bytes > most_bytes) shards.emplace_back(), size = 0;
    shards.back().push_back(a);
    size += bytes, total += bytes;
  }
  const std::map<std::string, std::string> notes{{"format", "pt"}};  // transformers asks for it
  if (shards.size() == 1) return write_safetensors(path / "model.safetensors", shards[0], notes);
  const auto five = [](std::size_t n) {
    const std::string digits = std::to_string(n);
    return std::string(5 - std::min<std::size_t>(5, digits.size()), '0') + digits;
  };
  nlohmann::json map = nlohmann::json::object();
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string name = "model-" + five(i + 1) + "-of-" + five(shards.size()) + ".safetensors";
    for (const named_array& a : shards[i]) {
      if (map.contains(a.name))
        throw error("safetensors: name of an array", a.name + " twice", "distinct names", path.string());
      map[a.name] = name;
    }
    write_safetensors(path / name, shards[i], notes);
  }
  replace_file(path / "model.safetensors.index.json",
               nlohmann::json{{"metadata", {{"total_size", total}}}, {"weight_map", map}}.dump(2) + "\n");
}
#endif

}  // namespace tokamax::checkpoint
