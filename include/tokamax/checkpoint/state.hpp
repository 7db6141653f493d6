// tokamax/checkpoint/state.hpp: a tree of arrays and its metadata as one folder, written whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/checkpoint/restoration.hpp>  // restoration

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/system/folder.hpp>        // make_folders
  #include <tokamax/checkpoint/metadata_file.hpp>  // read_metadata, write_metadata
#endif

namespace tokamax::checkpoint {

namespace detail {

inline constexpr std::string_view temporary_mark = ".tokamax-tmp";

// What the templates below do once the leaves of a tree are in a list.
void save_content(const std::filesystem::path& path, content all);
// Makes the new folder `path`, by way of a temporary one that `fill` puts files into.
void write_whole(std::filesystem::path path, const std::function<void(const std::filesystem::path&)>& fill);
// Deletes a folder, which gets a temporary name before its files are deleted.
void remove_whole(const std::filesystem::path& path);
// Refuses leaves without data.
void check_content(const content& all, const std::filesystem::path& path);

}  // namespace detail

/// Saves `tree`, or `items`, in the new folder `path`. The file `arrays.safetensors` has the arrays, named by their paths in the tree
/// such as `model.blocks[3].attend.qkv`, and `metadata.json` the rest. Both are written to a temporary folder, which is
/// renamed when everything is on the disk. So whatever ends the program, the folder is there as a whole or not at all.
///
/// errors  tokamax::error if `path` exists, a leaf has no data, or a file cannot be written; then nothing is left. If the
///         error begins with "checkpoint: saved", the folder is whole, but a power failure may still remove it
template <class Tree>
void save(const std::filesystem::path& path, const Tree& tree, metadata about = {}) {
  detail::save_content(path, detail::content_of(tree, std::move(about)));
}

/// The metadata of the checkpoint in folder `path`, without its arrays.
/// errors  tokamax::error that names the file if it is missing or damaged
metadata about(const std::filesystem::path& path);

/// Throws if the checkpoint in folder `path` is not as it was saved. It may hold any tree.
/// errors  tokamax::error that names the file, and the leaf, that is missing or damaged
void check(const std::filesystem::path& path);

/// Deletes the checkpoint in folder `path`. It gets another name first, so that nobody finds half of one.
/// errors  tokamax::error if there is none, or the system refuses
void remove_checkpoint(const std::filesystem::path& path);

/// The dtypes and shapes of all arrays in folder `path`, by name, without their data.
/// errors  as `about`; an array whose dtype is not known here has the dtype none
std::map<std::string, array_type> types(const std::filesystem::path& path);

/// The bytes of an item.
/// errors  tokamax::error if there is no such item, or it is damaged
std::string read_bytes(const std::filesystem::path& path, const std::string& item);

/// Puts the arrays of folder `path` into `tree`. The leaves of the tree, with or without data, state the dtypes and shapes
/// that are expected. Everything is checked before the first leaf changes. Then each leaf is replaced in turn, so that the
/// old and the new arrays are never in memory together.
///
/// errors  tokamax::error that names the leaf if it is missing, not in the tree, of another type, or damaged; or the file.
///         The options allow for some of these
template <class Tree>
metadata restore(const std::filesystem::path& path, Tree& tree, restore_options options = {}) {
  detail::restoration from(path, detail::expected_leaves(tree, options.item), options);
  return detail::put_leaves(tree, from);
}

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
namespace detail {

TOKAMAX_FILES_COMPILED_ONCE void check_content(const content& all, const std::filesystem::path& path) {
  for (const auto& [name, leaf] : all.leaves) {
    if (!leaf.is_concrete())
      throw error("checkpoint: leaf " + name, std::string(message{leaf.type()}.view()) + " without data", "data",
                  path.string());
  }
}

// The checksums of leaves. Leaves that are literals get data first.
TOKAMAX_FILES_COMPILED_ONCE std::map<std::string, std::uint32_t> checksums_of(std::vector<named_array>& leaves) {
  std::map<std::string, std::uint32_t> checksums;
  for (auto& [name, leaf] : leaves) {
    leaf.materialize();
    std::uint32_t& checksum = checksums[name] = 0;
    for_each_piece(leaf, [&](std::span<const std::byte> piece) { checksum = crc32c(piece, checksum); });
  }
  return checksums;
}

TOKAMAX_FILES_COMPILED_ONCE void write_whole(std::filesystem::path path,
                                             const std::function<void(const std::filesystem::path&)>& fill) {
  std::error_code failure;
  path = std::filesystem::absolute(path, failure).lexically_normal();
  if (failure)
    throw error(error_kind::file, "checkpoint", failure.message(), "a path that can be made absolute", path.string());
  if (!path.has_filename()) path = path.parent_path();  // "runs/7/" is "runs/7"
  if (file_exists(path))
    throw error(error_kind::file, "checkpoint", "a folder that exists already", "a new one", path.string());
  std::filesystem::path temporary = path;
  temporary += std::string(temporary_mark) + "-" + std::to_string(::getpid());
  std::filesystem::remove_all(temporary, failure);
  try {
    make_folders(temporary);
    fill(temporary);
    sync_folder(temporary);
    rename_file(temporary, path);
  } catch (...) {
    std::filesystem::remove_all(temporary, failure);
    throw;
  }
  try {
    sync_folder(path.parent_path());
  } catch (const error& e) {
    throw error(e.kind, "checkpoint: saved, but its name may not be on the disk yet", e.found, e.expected,
                path.string());
  }
}

TOKAMAX_FILES_COMPILED_ONCE void remove_whole(const std::filesystem::path& path) {
  std::filesystem::path dying = path;
  dying += std::string(temporary_mark) + "-deleted";
  rename_file(path, dying);
  std::error_code failure;
  std::filesystem::remove_all(dying, failure);
  if (failure) throw error(error_kind::file, "checkpoint: one to delete", failure.message(), "its end", dying.string());
}

TOKAMAX_FILES_COMPILED_ONCE void save_content(const std::filesystem::path& path, content all) {
  check_content(all, path);
  write_whole(path, [&](const std::filesystem::path& folder) {
    const auto checksums = checksums_of(all.leaves);
    write_safetensors(folder / "arrays.safetensors", std::move(all.leaves));
    write_metadata(folder / "metadata.json", {std::move(all.about), checksums});
  });
}

}  // namespace detail

TOKAMAX_FILES_COMPILED_ONCE metadata about(const std::filesystem::path& path) {
  return detail::read_metadata(path / "metadata.json").about;
}
TOKAMAX_FILES_COMPILED_ONCE void remove_checkpoint(const std::filesystem::path& path) {
  if (!file_exists(path / "metadata.json"))
    throw error(error_kind::file, "checkpoint: one to delete", "nothing", "a folder with a checkpoint", path.string());
  detail::remove_whole(path);
}
TOKAMAX_FILES_COMPILED_ONCE std::map<std::string, array_type> types(const std::filesystem::path& path) {
  std::map<std::string, array_type> result;
  const safetensors_file file(path / "arrays.safetensors");
  for (const auto& [name, stored] : file.arrays()) result[name] = stored.type;
  return result;
}
// The list of all arrays of a checkpoint as a tree without data, against which it can be checked.
TOKAMAX_FILES_COMPILED_ONCE void check(const std::filesystem::path& path) {
  std::vector<detail::expected_leaf> leaves;
  for (const auto& [name, type] : types(path)) leaves.push_back({name, type, true});
  const detail::restoration whole(path, leaves, {});
  if (leaves.size() != whole.saved())
    throw error(error_kind::file, "checkpoint: arrays", std::to_string(leaves.size()), std::to_string(whole.saved()),
                (path / "arrays.safetensors").string());
}
TOKAMAX_FILES_COMPILED_ONCE std::string read_bytes(const std::filesystem::path& path, const std::string& item) {
  const auto all = types(path);
  const auto found = all.find(item);
  if (found == all.end() || found->second.dtype != u8)
    throw error(error_kind::file, "checkpoint: item " + item, found == all.end() ? "nothing" : "no bytes", "bytes",
                path.string());
  detail::restoration from(path, {{item, found->second, false}}, {.partial = true});
  const array bytes = from.read(0);
  return std::string(reinterpret_cast<const char*>(bytes.bytes()), static_cast<std::size_t>(bytes.size()));
}
#endif

}  // namespace tokamax::checkpoint
