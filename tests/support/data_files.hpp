// tests/support/data_files.hpp: the files that tests/golden/make_data_files.py and make_images.py wrote.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <map>
#include <sstream>
#include <string>

// Their bytes by name.
inline std::map<std::string, std::string> golden_files(const std::string& list = "data_files.txt") {
  std::map<std::string, std::string> result;
  std::ifstream in(std::string(TOKAMAX_ROOT) + "/tests/golden/" + list);
  std::string text, name;
  while (std::getline(in, text)) {
    if (text.starts_with('#')) continue;
    std::istringstream words(text);
    if (!text.starts_with(' ')) {
      std::size_t size = 0;
      words >> name >> size;
      result[name].assign(size, '\0');
      continue;
    }
    std::size_t at = 0;
    std::string hex;
    words >> at >> hex;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      result[name][at + i / 2] = static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return result;
}
