// tokamax/backend/cuda/driver/code_cache.hpp: keeps compiled device text on disk, so that a program compiles it once on a machine.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of the GPU backend includes it)
// tested by tests/backend/cuda/driver/code_cache.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // checked before all else

#include <cstdint>      // uint64_t
#include <cstdlib>      // getenv
#include <filesystem>   // path
#include <fstream>      // ifstream
#include <optional>     // optional
#include <sstream>      // ostringstream
#include <string>       // string
#include <string_view>  // string_view

#include <unistd.h>  // getpid

namespace tokamax::cuda_backend {

/// A folder with one file for each key: the key itself, then what it stands for, and a checksum. The name of a file is a hash
/// of its key. A file with another key counts as absent, and so does one that is cut off or damaged, because the driver would
/// read beyond the end of such code. A file appears as a whole by renaming, so any number of processes may share the folder.
/// A folder that cannot be written is no error; then nothing is kept.
class code_cache {
 public:
  /// The folder of the user: TOKAMAX_CACHE, or "tokamax" in XDG_CACHE_HOME or ~/.cache.
  static std::filesystem::path default_folder() {
    if (const char* const f = std::getenv("TOKAMAX_CACHE")) return f;
    if (const char* const f = std::getenv("XDG_CACHE_HOME")) return std::filesystem::path(f) / "tokamax";
    if (const char* const f = std::getenv("HOME")) return std::filesystem::path(f) / ".cache" / "tokamax";
    return std::filesystem::temp_directory_path() / "tokamax";
  }
  /// The folder of code that is delivered with the program: TOKAMAX_CUDA_CODE, or the program's file with ".cubins" behind its
  /// name.
  static std::filesystem::path shipped_folder() {
    if (const char* const f = std::getenv("TOKAMAX_CUDA_CODE")) return f;
    std::error_code failed;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? std::filesystem::path() : std::filesystem::path(program.string() + ".cubins");
  }
  explicit code_cache(std::filesystem::path folder = default_folder()) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }
  bool exists() const {
    std::error_code failed;
    return std::filesystem::is_directory(folder_, failed);
  }

  std::optional<std::string> find(std::string_view key) const {
    std::ifstream in(file_of(key), std::ios::binary);
    std::ostringstream all;
    if (!in || !(all << in.rdbuf())) return {};
    const std::string found = std::move(all).str(), head = head_of(key);
    if (found.size() <= head.size() + checksum_size || !std::string_view(found).starts_with(head)) return {};
    const std::string_view whole = std::string_view(found).substr(0, found.size() - checksum_size);
    if (found.substr(whole.size()) != hash_of(whole)) return {};
    return std::string(whole.substr(head.size()));
  }
  void keep(std::string_view key, std::string_view code) const {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    const std::filesystem::path file = file_of(key);
    const std::filesystem::path draft = file.string() + "." + std::to_string(getpid()) + "." +
                                        std::to_string(reinterpret_cast<std::uintptr_t>(&failed));
    const std::string whole = head_of(key).append(code);
    std::ofstream out(draft, std::ios::binary);
    if (out << whole << hash_of(whole) << std::flush)
      std::filesystem::rename(draft, file, failed);
    else
      std::filesystem::remove(draft, failed);
  }

 private:
  static std::string head_of(std::string_view key) {
    return "tokamax device code 2\n" + std::to_string(key.size()) + "\n" + std::string(key) + "\n";
  }
  static constexpr std::size_t checksum_size = 32;
  static std::string hash_of(std::string_view text) {
    std::uint64_t a = 0xcbf29ce484222325u, b = 0x9e3779b97f4a7c15u;  // FNV-1a, and the same with other numbers
    for (const char c : text) {
      a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
      b = (b + static_cast<unsigned char>(c)) * 0xff51afd7ed558ccdu;
      b ^= b >> 29;
    }
    constexpr char digits[] = "0123456789abcdef";
    std::string name;
    for (int i = 60; i >= 0; i -= 4) name += digits[a >> i & 15];
    for (int i = 60; i >= 0; i -= 4) name += digits[b >> i & 15];
    return name;
  }
  std::filesystem::path file_of(std::string_view key) const { return folder_ / (hash_of(key) + ".cubin"); }
  std::filesystem::path folder_;
};

}  // namespace tokamax::cuda_backend
