// tests/checkpoint/ggml_blocks.cpp: blocks of ggml are the floats that its Python package makes of them, bit by bit.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/ggml_blocks.hpp>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace tk = tokamax;
using namespace tokamax::checkpoint;

TEST_CASE("blocks of all formats are those of ggml") {
  std::ifstream rows(TOKAMAX_ROOT "/tests/golden/ggml.txt");
  std::set<std::string> names;
  for (std::string line; std::getline(rows, line);) {
    std::istringstream row(line);
    std::string name, hex, word;
    row >> name >> hex;
    CAPTURE(name);
    names.insert(name);
    const auto* const format = std::ranges::find_if(ggml_formats, [&](const ggml_format& f) { return f.name == name; });
    REQUIRE(format != std::end(ggml_formats));
    CHECK(ggml_format_of(format->number) == format);
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    REQUIRE(static_cast<std::int64_t>(bytes.size()) == format->bytes);
    std::vector<float> found(static_cast<std::size_t>(format->elements));
    format->read(bytes.data(), found.data());
    for (const float f : found) {
      row >> word;
      CHECK(std::bit_cast<std::uint32_t>(f) == std::stoul(word, nullptr, 16));
    }
  }
  CHECK(names.size() == 8);
}

TEST_CASE("plain numbers are blocks of one, and other formats are not known") {
  const std::byte one[] = {std::byte{0x80}, std::byte{0x3f}, std::byte{0x80}, std::byte{0x3f}};
  float to = 0;
  ggml_format_of(0)->read(one, &to);
  CHECK(to == std::bit_cast<float>(0x3f803f80u));
  ggml_format_of(30)->read(one, &to);
  CHECK(to == 1.0f);
  ggml_format_of(1)->read(one, &to);
  CHECK(to == 1.875f);
  for (const std::uint64_t unknown : {std::uint64_t{4}, std::uint64_t{10}, std::uint64_t{31}, ~std::uint64_t{0}})
    CHECK(ggml_format_of(unknown) == nullptr);
}
