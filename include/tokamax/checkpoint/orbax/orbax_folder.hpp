// tokamax/checkpoint/orbax/orbax_folder.hpp: the arrays of a checkpoint that Orbax wrote.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs read what Orbax wrote)
// tested by tests/zstd/orbax.cpp
#pragma once

#include <tokamax/checkpoint/orbax/zarr_chunks.hpp>  // read_zarr
#include <tokamax/checkpoint/restoration.hpp>        // restoration

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/system/folder.hpp>      // folder_names
  #include <tokamax/checkpoint/orbax/ocdbt.hpp>  // read_ocdbt
#endif

namespace tokamax::checkpoint {

/// A folder that Orbax wrote, opened for reading: the folder of a step, or of one of its items. Arrays may be in zarr 2 or 3, in files
/// or in OCDBT, from one process or several, sharded, and compressed by zstd. A key of a record is `.key` in the name of an array, and
/// one of a list, or one made of digits, is `[key]`: `params.layers[0].kernel`.
/// source  github.com/google/orbax, version 0.12.8, its APIs v0 and v1
class orbax_folder final : public array_source {
 public:
  /// errors  tokamax::error of the kind `file` that names the file if the folder is not one of Orbax, `item` is none of its items, or
  ///         the metadata are damaged
  explicit orbax_folder(const std::filesystem::path& path, const std::string& item = {});
  const std::filesystem::path& path() const override { return path_; }
  const std::map<std::string, stored_array>& arrays() const override { return arrays_; }
  array read(const std::string& name) const override;
  std::uint32_t checksum(const std::string& name) const override;

 private:
  struct stored_chunks {
    std::string key;
    detail::zarr_layout layout;
  };
  void add(const nlohmann::json& leaf, const std::string& where);

  std::filesystem::path path_;
  detail::byte_store bytes_;
  std::map<std::string, stored_array> arrays_;
  std::map<std::string, stored_chunks> places_;
};

/// Puts the arrays of a checkpoint of Orbax into `tree`, as `restore` does; `options.item` is one of the items of a step.
/// errors  as orbax_folder, and as `restore`
template <class Tree>
void restore_orbax(const std::filesystem::path& path, Tree& tree, restore_options options = {}) {
  const std::string item = std::exchange(options.item, {});
  detail::restoration from(std::make_unique<orbax_folder>(path, item), detail::expected_leaves(tree, {}), options);
  detail::put_leaves(tree, from);
}

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
namespace detail {

// The folder that has the arrays: this one, or that of the item, or the only item of a step.
inline std::filesystem::path orbax_item(const std::filesystem::path& path, const std::string& item) {
  const auto has_arrays = [](const std::filesystem::path& p) { return file_exists(p / "_METADATA"); };
  if (item.empty() && has_arrays(path)) return path;
  std::string all;
  std::vector<std::string> found;
  for (const std::string& name : folder_names(path).value_or(std::vector<std::string>())) {
    if (!folder_exists(path / name) || !has_arrays(path / name)) continue;
    if (item.empty() || item == name) found.push_back(name);
    all += (all.empty() ? "" : ", ") + name;
  }
  if (found.size() != 1)
    throw error(error_kind::file, item.empty() ? "orbax: arrays" : "orbax: item " + item,
                all.empty() ? "no _METADATA" : "the items " + all, "one item with arrays", path.string());
  return path / found[0];
}

}  // namespace detail

TOKAMAX_FILES_COMPILED_ONCE orbax_folder::orbax_folder(const std::filesystem::path& path, const std::string& item)
    : path_(detail::orbax_item(path, item)) {
  const std::string where = (path_ / "_METADATA").string();
  const nlohmann::json json = parse_json(read_file(where, json_limits{}.bytes), where);
  if (!json.is_object() || !json.contains("tree_metadata") || !json["tree_metadata"].is_object())
    throw error(error_kind::file, "orbax: metadata", detail::brief(json), "a record with tree_metadata", where);
  const bool database = file_exists(path_ / "manifest.ocdbt");
  bytes_ = database ? detail::read_ocdbt(path_) : detail::read_file_store(path_);
  for (const nlohmann::json& leaf : json["tree_metadata"]) add(leaf, where);
}
TOKAMAX_FILES_COMPILED_ONCE void orbax_folder::add(const nlohmann::json& leaf, const std::string& where) {
  const auto fail = [&](const char* expected) {
    throw error(error_kind::file, "orbax: leaf", detail::brief(leaf), expected, where);
  };
  if (!leaf.is_object() || !leaf.contains("key_metadata") || !leaf["key_metadata"].is_array()) fail("key_metadata");
  std::string name, key;
  for (const nlohmann::json& one : leaf["key_metadata"]) {
    if (!one.is_object() || !one.contains("key")) fail("keys");
    const nlohmann::json& text = one["key"];
    if (!text.is_string() && !natural(text)) fail("keys that are texts or numbers");
    const std::string part = text.is_string() ? text.get<std::string>() : text.dump();
    const bool number = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    name += number ? "[" + part + "]" : (name.empty() ? "" : ".") + part;
    key += (key.empty() ? "" : ".") + part;
  }
  for (const int version : {2, 3}) {
    const auto found = bytes_.find(key + (version == 2 ? "/.zarray" : "/zarr.json"));
    if (found == bytes_.end()) continue;
    const detail::byte_place& place = found->second;
    if (place.length > std::uint64_t{1} << 24) fail("metadata of at most 16 MiB");
    const std::string from = place.file.empty() ? path_.string() + ", " + found->first : place.file.string();
    detail::zarr_layout layout = detail::parse_zarr(name, place.read(), version, from);
    if (!arrays_.emplace(name, layout.stored).second) fail("distinct names");
    places_.emplace(name, stored_chunks{key, std::move(layout)});
    return;
  }
  const nlohmann::json about = leaf.value("value_metadata", nlohmann::json::object());
  const nlohmann::json type = about.is_object() ? about.value("value_type", nlohmann::json()) : nlohmann::json();
  if (type == "jax.Array" || type == "np.ndarray" || type == "scalar")
    throw error(error_kind::file, "orbax: array " + name, "nothing", "zarr's metadata", path_.string());
}
TOKAMAX_FILES_COMPILED_ONCE array orbax_folder::read(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end())
    throw error(error_kind::file, "orbax: array " + name, "nothing", "an array", path_.string());
  const detail::zarr_layout& layout = found->second.layout;
  if (layout.stored.type.dtype == dtype::none)
    throw error(error_kind::file, "orbax: type of " + name, layout.stored.text,
                "a known dtype, at most " + std::to_string(max_rank) + " axes", path_.string());
  return detail::read_zarr(layout, bytes_, found->second.key, name, path_.string());
}
TOKAMAX_FILES_COMPILED_ONCE std::uint32_t orbax_folder::checksum(const std::string& name) const {
  return crc32c(detail::bytes_of(read(name)));
}
#endif

}  // namespace tokamax::checkpoint
