// tests/fuzz/safetensors.cpp: any bytes as a safetensors file, and any header before its length.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint.hpp>

#include "fuzz/fuzz.hpp"

void fuzz(std::string_view bytes) {
  std::string file(bytes);
  const std::size_t end = bytes.rfind('}');
  if (end != std::string_view::npos && bytes.starts_with('{')) {  // its length comes before it
    const std::uint64_t length = end + 1;
    file.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
  }
  only_errors([&] {
    const tokamax::checkpoint::safetensors_file read(file_with(file));
    std::uint64_t total = 0;
    for (const auto& [name, stored] : read.arrays()) {
      if (stored.end < stored.begin || stored.end > file.size()) std::abort();
      total += stored.end - stored.begin;
      only_errors([&] {
        if (static_cast<std::uint64_t>(read.read(name).size()) > file.size() && stored.begin != stored.end)
          std::abort();
      });
    }
    if (total > file.size()) std::abort();
  });
}
