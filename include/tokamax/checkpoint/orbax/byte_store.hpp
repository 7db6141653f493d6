// tokamax/checkpoint/orbax/byte_store.hpp: bytes by key, as in the files of a folder.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs read what Orbax wrote)
// tested by tests/checkpoint/orbax/byte_store.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_FILES_COMPILED_ONCE

#include <cstdint>     // uint64_t
#include <filesystem>  // path
#include <map>         // map
#include <string>      // string

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/system/file.hpp>  // input_file
#endif

namespace tokamax::checkpoint::detail {

/// Where the bytes of a key are: in a part of a file, or in this record.
struct byte_place {
  std::filesystem::path file;
  std::uint64_t offset = 0, length = 0;
  std::string at_hand = {};
  /// errors  tokamax::error that names the file if it is missing or ends before
  std::string read() const;
};
using byte_store = std::map<std::string, byte_place>;

/// The files below a folder, by names such as `a/b`.
byte_store read_file_store(const std::filesystem::path& folder);

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
TOKAMAX_FILES_COMPILED_ONCE std::string byte_place::read() const {
  if (file.empty()) return at_hand;
  const input_file from(file);
  if (offset > from.size() || length > from.size() - offset)
    throw error(error_kind::file, "file: part", std::to_string(from.size()) + " bytes",
                std::to_string(length) + " from byte " + std::to_string(offset) + " on", file.string());
  std::string bytes(static_cast<std::size_t>(length), '\0');
  from.read(offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}
TOKAMAX_FILES_COMPILED_ONCE byte_store read_file_store(const std::filesystem::path& folder) {
  byte_store result;
  std::error_code failure;
  for (std::filesystem::recursive_directory_iterator at(folder, failure), end; !failure && at != end;
       at.increment(failure)) {
    if (!at->is_regular_file(failure)) continue;
    const std::uint64_t size = at->file_size(failure);
    result[at->path().lexically_relative(folder).generic_string()] = {at->path(), 0, size};
  }
  if (failure) throw error(error_kind::file, "folder", failure.message(), "one that can be read", folder.string());
  return result;
}

#endif

}  // namespace tokamax::checkpoint::detail
