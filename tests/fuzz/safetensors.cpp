// tests/fuzz/safetensors.cpp: any bytes as a safetensors file, any header before its length, and any bytes as an index of two files.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint.hpp>

#include "fuzz/fuzz.hpp"

namespace {
/// A folder of two files, beside one whose array no index of the folder may reach.
std::filesystem::path folder_of_two() {
  namespace checkpoint = tokamax::checkpoint;
  const std::filesystem::path outside = file_with("", "outside.safetensors"),
                              folder = outside.parent_path() / "several";
  std::filesystem::create_directories(folder);
  const tokamax::array x = tokamax::array::from<float>({1, 2, 3});
  checkpoint::write_safetensors(outside, {{"c", x}});
  checkpoint::write_safetensors(folder / "x", {{"a", x}});
  checkpoint::write_safetensors(folder / "y", {{"b", x}});
  return folder;
}
}  // namespace

void fuzz(std::string_view bytes) {
  static const std::filesystem::path folder = folder_of_two();
  if (bytes.starts_with('{')) {
    file_with(bytes, "several/model.safetensors.index.json");
    only_errors([&] {
      const tokamax::checkpoint::safetensors_folder several(folder);
      for (const auto& [name, stored] : several.arrays())
        if (name == "c" || several.read(name).values<float>()[2] != 3) std::abort();
    });
  }
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
        const tokamax::array all = read.read(name);
        if (static_cast<std::uint64_t>(all.size()) > file.size() && stored.begin != stored.end) std::abort();
        if (read.map(name).size() != all.size()) std::abort();
      });
    }
    if (total > file.size()) std::abort();
  });
}
