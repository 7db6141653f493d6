// tokamax/profile/files/file_bytes.hpp: whole files as bytes.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/profile/files/xspace.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <filesystem>   // path
#include <fstream>      // ifstream, ofstream
#include <iterator>     // istreambuf_iterator
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::profile {

/// errors  tokamax::error for a file that cannot be written, such as on a full disk
inline void write_bytes(const std::filesystem::path& file, std::string_view bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw error(error_kind::file, "profile", "a file that cannot be written", "a writable file", file.string());
}

/// errors  tokamax::error for what is no readable file
inline std::string read_bytes(const std::filesystem::path& file) {
  if (std::error_code failed; !std::filesystem::is_regular_file(file, failed))
    throw error(error_kind::file, "profile", "no file", "a readable file", file.string());
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw error(error_kind::file, "profile", "a file that cannot be read", "a readable file", file.string());
  return bytes;
}

}  // namespace tokamax::profile
