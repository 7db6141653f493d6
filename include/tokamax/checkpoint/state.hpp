// tokamax/checkpoint/state.hpp: a tree of arrays and its metadata as one folder, written whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree.hpp>               // for_each_leaf_with_path
#include <tokamax/checkpoint/metadata.hpp>     // metadata
#include <tokamax/checkpoint/safetensors.hpp>  // named_array
#include <tokamax/core/partition.hpp>          // is_absent

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/system/folder.hpp>        // make_folders
  #include <tokamax/checkpoint/metadata_file.hpp>  // read_metadata, write_metadata

  #include <set>  // names
#endif

namespace tokamax::checkpoint {

struct restore_options {
  bool partial = false;  ///< the folder may hold more than the tree, as when only the model of a state is restored
};

namespace detail {

inline constexpr std::string_view temporary_mark = ".tokamax-tmp";

template <class Tree>
std::vector<named_array> leaves_of(const Tree& tree) {
  std::vector<named_array> result;
  for_each_leaf_with_path(
      [&](std::string_view path, const auto& leaf) {
        if (!is_absent(leaf)) result.push_back({std::string(path.empty() ? "value" : path), leaf});
      },
      tree);
  return result;
}

// What the templates below do once the leaves of a tree are in a list.
void save_leaves(std::filesystem::path path, std::vector<named_array> leaves, const metadata& about);
metadata restore_leaves(const std::filesystem::path& path, std::vector<named_array>& leaves, restore_options options);

// Puts the restored leaves into the tree from which the list was made.
template <class Tree>
void replace_leaves(Tree& tree, const std::vector<named_array>& leaves) {
  auto next = leaves.begin();
  for_each_leaf(
      [&](auto& leaf) {
        if (!is_absent(leaf)) leaf = std::remove_cvref_t<decltype(leaf)>((next++)->value);
      },
      tree);
}

}  // namespace detail

/// Saves `tree` in the new folder `path`. The file `arrays.safetensors` has the arrays, named by their paths in the tree
/// such as `model.blocks[3].attend.qkv`, and `metadata.json` the rest. Both are written to a temporary folder, which is
/// renamed when everything is on the disk. So whatever ends the program, the folder is there as a whole or not at all.
///
/// errors  tokamax::error if `path` exists, a leaf has no data, or a file cannot be written; then nothing is left. If the
///         error begins with "checkpoint: saved", the folder is whole, but a power failure may still remove it
template <class Tree>
void save(const std::filesystem::path& path, const Tree& tree, const metadata& about = {}) {
  detail::save_leaves(path, detail::leaves_of(tree), about);
}

/// The metadata of the checkpoint in folder `path`, without its arrays.
/// errors  tokamax::error that names the file if it is missing or damaged
metadata about(const std::filesystem::path& path);

/// Throws if the checkpoint in folder `path` is not as it was saved. It may hold any tree.
/// errors  tokamax::error that names the file, and the leaf, that is missing or damaged
void check(const std::filesystem::path& path);

/// Puts the arrays of folder `path` into `tree`. The leaves of the tree, with or without data, state the dtypes and shapes
/// that are expected. Everything is read and checked before the first leaf changes.
///
/// errors  tokamax::error that names the leaf if it is missing, not in the tree, of another type, or damaged; or the file
template <class Tree>
metadata restore(const std::filesystem::path& path, Tree& tree, restore_options options = {}) {
  std::vector<named_array> leaves = detail::leaves_of(tree);
  metadata about = detail::restore_leaves(path, leaves, options);
  detail::replace_leaves(tree, leaves);
  return about;
}

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
namespace detail {

// The checksums of leaves. Leaves that are literals get data first.
TOKAMAX_FILES_COMPILED_ONCE std::map<std::string, std::uint32_t> checksums_of(std::vector<named_array>& leaves,
                                                                              const std::string& where) {
  std::map<std::string, std::uint32_t> checksums;
  for (auto& [name, leaf] : leaves) {
    if (!leaf.is_concrete())
      throw error("checkpoint: leaf " + name, std::string(message{leaf.type()}.view()) + " without data", "data",
                  where);
    leaf.materialize();
    std::uint32_t& checksum = checksums[name] = 0;
    for_each_piece(leaf, [&](std::span<const std::byte> piece) { checksum = crc32c(piece, checksum); });
  }
  return checksums;
}

// Reads array `name` of a file, and compares its checksum with the saved one.
TOKAMAX_FILES_COMPILED_ONCE array read_checked(const safetensors_file& file, const std::string& name,
                                               const std::map<std::string, std::uint32_t>& checksums) {
  const array value = file.read(name);
  const auto expected = checksums.find(name);
  if (expected == checksums.end() || expected->second != crc32c(bytes_of(value)))
    throw error(error_kind::file, "checkpoint: damaged leaf " + name, "another checksum", "the one that was saved",
                file.path().string());
  return value;
}

// The arrays of `file` for `leaves`, in their order.
TOKAMAX_FILES_COMPILED_ONCE std::vector<array> read_leaves(const safetensors_file& file,
                                                           const std::vector<named_array>& leaves,
                                                           const std::map<std::string, std::uint32_t>& checksums,
                                                           restore_options options) {
  const std::string where = file.path().string();
  std::set<std::string> names;
  for (const auto& [name, leaf] : leaves) {
    const std::string expected(message{leaf.type()}.view());
    const auto found = file.arrays().find(name);
    if (found == file.arrays().end())
      throw error(error_kind::file, "checkpoint: leaf " + name, "nothing", expected, where);
    if (found->second.type != leaf.type())
      throw error(error_kind::file, "checkpoint: leaf " + name, found->second.text, expected, where);
    names.insert(name);
  }
  for (const auto& [name, stored] : file.arrays()) {
    if (!options.partial && !names.contains(name))
      throw error(error_kind::file, "checkpoint: leaf " + name, stored.text, "no such leaf", where);
  }
  std::vector<array> result;
  for (const auto& [name, leaf] : leaves) {
    const array value = read_checked(file, name, checksums);
    array_type type = value.type();
    type.weak = leaf.type().weak;
    result.emplace_back(value.storage(), type);
  }
  return result;
}

// Writes the files of a checkpoint. The folder gets the name `path` when it is complete and on the disk.
TOKAMAX_FILES_COMPILED_ONCE void write_folder(const std::filesystem::path& path, std::vector<named_array> leaves,
                                              const stored_metadata& all) {
  std::filesystem::path temporary = path;
  temporary += std::string(temporary_mark) + "-" + std::to_string(::getpid());
  std::error_code ignored;
  std::filesystem::remove_all(temporary, ignored);
  try {
    make_folders(temporary);
    write_safetensors(temporary / "arrays.safetensors", std::move(leaves));
    write_metadata(temporary / "metadata.json", all);
    sync_folder(temporary);
    rename_file(temporary, path);
  } catch (...) {
    std::filesystem::remove_all(temporary, ignored);
    throw;
  }
  try {
    sync_folder(path.parent_path());
  } catch (const error& e) {
    throw error(e.kind, "checkpoint: saved, but its name may not be on the disk yet", e.found, e.expected,
                path.string());
  }
}

TOKAMAX_FILES_COMPILED_ONCE void save_leaves(std::filesystem::path path, std::vector<named_array> leaves,
                                             const metadata& about) {
  std::error_code failure;
  path = std::filesystem::absolute(path, failure).lexically_normal();
  if (failure)
    throw error(error_kind::file, "checkpoint", failure.message(), "a path that can be made absolute", path.string());
  if (!path.has_filename()) path = path.parent_path();  // "runs/7/" is "runs/7"
  if (file_exists(path))
    throw error(error_kind::file, "checkpoint", "a folder that exists already", "a new one", path.string());
  const auto checksums = checksums_of(leaves, path.string());
  write_folder(path, std::move(leaves), {about, checksums});
}

TOKAMAX_FILES_COMPILED_ONCE metadata restore_leaves(const std::filesystem::path& path, std::vector<named_array>& leaves,
                                                    restore_options options) {
  stored_metadata all = read_metadata(path / "metadata.json");
  const std::vector<array> values =
      read_leaves(safetensors_file(path / "arrays.safetensors"), leaves, all.checksums, options);
  for (std::size_t i = 0; i < leaves.size(); ++i) leaves[i].value = values[i];
  return std::move(all.about);
}

}  // namespace detail

TOKAMAX_FILES_COMPILED_ONCE metadata about(const std::filesystem::path& path) {
  return detail::read_metadata(path / "metadata.json").about;
}
TOKAMAX_FILES_COMPILED_ONCE void check(const std::filesystem::path& path) {
  const detail::stored_metadata all = detail::read_metadata(path / "metadata.json");
  const safetensors_file file(path / "arrays.safetensors");
  for (const auto& [name, stored] : file.arrays()) detail::read_checked(file, name, all.checksums);
  if (file.arrays().size() != all.checksums.size())
    throw error(error_kind::file, "checkpoint: arrays", std::to_string(file.arrays().size()),
                std::to_string(all.checksums.size()), file.path().string());
}
#endif

}  // namespace tokamax::checkpoint
