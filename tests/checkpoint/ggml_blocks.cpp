// tests/checkpoint/ggml_blocks.cpp: blocks of ggml are the floats that its Python package makes of them, bit by bit.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/ggml_blocks.hpp>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/ggml_bytes.hpp"

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
  CHECK(names.size() == 9);
}

TEST_CASE("codes with their scales are the elements, rounded once") {
  int with_codes = 0;
  for (const ggml_format& f : ggml_formats) {
    CAPTURE(f.name);
    if (f.codes.bits == 0) continue;
    ++with_codes;
    const std::string bytes = tk::test::ggml_bytes(f, 1, f.number);
    const auto* const from = reinterpret_cast<const std::byte*>(bytes.data());
    std::vector<float> floats(static_cast<std::size_t>(f.elements));
    f.read(from, floats.data());
    ggml_block block;
    f.codes.read(from, block);
    for (std::int64_t i = 0; i < f.elements; ++i) {
      const auto g = static_cast<std::size_t>(i / f.codes.group);
      const double code = f.codes.floats ? tk::detail::fp4_levels[block.code[i]] : block.code[i],
                   offset = f.codes.has_offset ? double{block.offset[g]} : 0.0;
      CHECK(floats[static_cast<std::size_t>(i)] == static_cast<float>(code * double{block.scale[g]} + offset));
      if (f.codes.bits == 4 && !f.codes.floats)
        CHECK((f.codes.has_offset ? code >= 0 && code < 16 : code >= -8 && code < 8));
      if (f.codes.half) CHECK(static_cast<float>(tk::float16(block.scale[g])) == block.scale[g]);
    }
  }
  CHECK(with_codes == 9);
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
