// tokamax/checkpoint/state.hpp: a tree of arrays and its metadata as one folder, written whole or not at all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree.hpp>               // for_each_leaf_with_path
#include <tokamax/checkpoint/crc32c.hpp>       // crc32c
#include <tokamax/checkpoint/metadata.hpp>     // metadata
#include <tokamax/checkpoint/safetensors.hpp>  // write_safetensors, safetensors_file

#include <set>  // names

namespace tokamax::checkpoint {

struct restore_options {
  bool partial = false;  ///< the folder may hold more than the tree: restore the model and leave the optimiser
};

namespace detail {

inline constexpr std::string_view temporary_mark = ".tokamax-tmp";
inline constexpr int format_version = 1;

template <class Tree>
std::vector<named_array> leaves_of(const Tree& tree) {
  std::vector<named_array> result;
  for_each_leaf_with_path(
      [&](std::string_view path, const auto& leaf) {
        result.push_back({std::string(path.empty() ? "value" : path), leaf});
      },
      tree);
  return result;
}

inline void write_metadata(const std::filesystem::path& path, const metadata& about, const nlohmann::json& checksums) {
  std::string text;
  try {
    nlohmann::json json = {
        {"format", format_version}, {"step", about.step}, {"entries", about.entries}, {"arrays", checksums}};
    const std::string content = json.dump();
    json["crc32c"] = crc32c(std::as_bytes(std::span(content)));
    text = json.dump(2) + "\n";
  } catch (const nlohmann::json::exception& e) {
    throw error("metadata", e.what(), "texts in UTF-8", path.string());
  }
  output_file file(path);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
}

inline nlohmann::json read_metadata(const std::filesystem::path& path) {
  const input_file file(path);
  std::string text(static_cast<std::size_t>(file.size()), ' ');
  file.read(0, std::as_writable_bytes(std::span(text)));
  try {
    nlohmann::json json = nlohmann::json::parse(text);
    const int format = json.at("format").get<int>();
    if (format != format_version)
      throw error("checkpoint: format", std::to_string(format), std::to_string(format_version), path.string());
    const auto expected = json.at("crc32c").get<std::uint32_t>();
    json.erase("crc32c");
    const std::string content = json.dump();
    if (crc32c(std::as_bytes(std::span(content))) != expected)
      throw error("checkpoint: damaged metadata", "another checksum", "the one that was saved", path.string());
    return json;
  } catch (const nlohmann::json::exception& e) {
    throw error("checkpoint: damaged metadata", e.what(), "the text that was saved", path.string());
  }
}

// The arrays of `file` for `leaves`, in their order.
inline std::vector<array> read_leaves(const safetensors_file& file, const std::vector<named_array>& leaves,
                                      const nlohmann::json& checksums, restore_options options) {
  const std::string where = file.path().string();
  std::set<std::string> names;
  for (const auto& [name, leaf] : leaves) {
    const std::string expected(text{leaf.type()}.view());
    const auto found = file.arrays().find(name);
    if (found == file.arrays().end()) throw error("checkpoint: leaf " + name, "nothing", expected, where);
    if (found->second.type != leaf.type()) throw error("checkpoint: leaf " + name, found->second.text, expected, where);
    names.insert(name);
  }
  for (const auto& [name, stored] : file.arrays()) {
    if (!options.partial && !names.contains(name))
      throw error("checkpoint: leaf " + name, stored.text, "no such leaf", where);
  }
  std::vector<array> result;
  for (const auto& [name, leaf] : leaves) {
    const array value = file.read(name);
    const auto expected = checksums.find(name);
    if (expected == checksums.end() || *expected != crc32c(bytes_of(value)))
      throw error("checkpoint: damaged leaf " + name, "another checksum", "the one that was saved", where);
    array_type type = value.type();
    type.weak = leaf.type().weak;
    result.emplace_back(value.storage(), type);
  }
  return result;
}

}  // namespace detail

/// Saves `tree` in the new folder `path`: `arrays.safetensors`, where arrays are named by their paths in the tree such as
/// `model.blocks[3].attend.qkv`, and `metadata.json`. Both are written to a temporary folder beside `path` that gets its
/// name when all is on the disk, so whatever ends the program, there is a whole folder or none.
/// errors  tokamax::error if `path` exists, a leaf has no data, or a file cannot be written; nothing is left then
template <class Tree>
void save(std::filesystem::path path, const Tree& tree, const metadata& about = {}) {
  namespace fs = std::filesystem;
  path = fs::absolute(path).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "runs/7/" is "runs/7"
  if (fs::exists(path)) throw error("checkpoint", "a folder that is there already", "a new one", path.string());
  std::vector<named_array> leaves = detail::leaves_of(tree);
  nlohmann::json checksums = nlohmann::json::object();
  for (auto& [name, leaf] : leaves) {
    if (!leaf.is_concrete())
      throw error("checkpoint: leaf " + name, std::string(text{leaf.type()}.view()) + " without data", "data",
                  path.string());
    leaf.materialize();
    checksums[name] = crc32c(detail::bytes_of(leaf));
  }
  fs::path temporary = path;
  temporary += std::string(detail::temporary_mark) + "-" + std::to_string(::getpid());
  std::error_code ignored;
  try {
    fs::remove_all(temporary);
    fs::create_directories(temporary);
    write_safetensors(temporary / "arrays.safetensors", std::move(leaves));
    detail::write_metadata(temporary / "metadata.json", about, checksums);
    sync_folder(temporary);
    fs::rename(temporary, path);
    sync_folder(path.parent_path());
  } catch (const fs::filesystem_error& e) {
    fs::remove_all(temporary, ignored);
    throw error("checkpoint", e.code().message(), "a place where folders can be made", path.string());
  } catch (...) {
    fs::remove_all(temporary, ignored);
    throw;
  }
}

/// Puts the arrays of folder `path` into `tree`, whose leaves, with or without data, say which dtypes and shapes they
/// must have. All is read and checked before the first leaf changes.
/// errors  tokamax::error that names the leaf if it is missing, not in the tree, of another type, or damaged; or the file
template <class Tree>
metadata restore(const std::filesystem::path& path, Tree& tree, restore_options options = {}) {
  const nlohmann::json json = detail::read_metadata(path / "metadata.json");
  const std::vector<array> values = detail::read_leaves(safetensors_file(path / "arrays.safetensors"),
                                                        detail::leaves_of(tree), json.at("arrays"), options);
  std::size_t next = 0;
  for_each_leaf([&](auto& leaf) { leaf = values[next++]; }, tree);
  return {json.at("step").get<std::int64_t>(), json.at("entries")};
}

}  // namespace tokamax::checkpoint
