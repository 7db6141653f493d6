// tests/fuzz/fuzz.hpp: what the fuzzers share: any bytes give a result or an error of the library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

/// Calls `f`, which may throw a tokamax::error with a message of bounded length and nothing else.
template <class F>
void only_errors(const F& f) {
  try {
    f();
  } catch (const tokamax::error& e) {
    if (std::string_view(e.what()).size() > 10000) std::abort();
  }
}

/// A file of this process with these bytes, in memory where that is possible.
inline std::filesystem::path file_with(std::string_view bytes, const char* name = "bytes") {
  static const struct in_memory {
    std::filesystem::path path;
    in_memory() {
      const std::filesystem::path memory = "/dev/shm", any = std::filesystem::temp_directory_path();
      path = (std::filesystem::exists(memory) ? memory : any) / ("tokamax-fuzz-" + std::to_string(getpid()));
      std::filesystem::create_directories(path);
    }
    ~in_memory() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } folder;
  std::ofstream(folder.path / name, std::ios::binary) << bytes;
  return folder.path / name;
}

void fuzz(std::string_view bytes);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
