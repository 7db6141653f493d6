// tests/checkpoint/crc32c.cpp: the checksum's published values.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/crc32c.hpp>

#include <string_view>

#include "support/catch.hpp"

using tokamax::checkpoint::crc32c;

namespace {
constexpr std::array<std::byte, 32> filled(int first, int step) {
  std::array<std::byte, 32> result{};
  for (int i = 0; i < 32; ++i) result[static_cast<std::size_t>(i)] = static_cast<std::byte>(first + i * step);
  return result;
}
}  // namespace

// RFC 3720, appendix B.4
static_assert(crc32c(filled(0, 0)) == 0x8a9136aa);
static_assert(crc32c(filled(0xff, 0)) == 0x62a8ab43);
static_assert(crc32c(filled(0, 1)) == 0x46dd794e);
static_assert(crc32c(filled(31, -1)) == 0x113fdb5c);
static_assert(crc32c({}) == 0);

TEST_CASE("a checksum can be made in parts") {
  const std::string_view text = "123456789";
  const auto bytes = std::as_bytes(std::span(text));
  CHECK(crc32c(bytes) == 0xe3069283);
  for (std::size_t i = 0; i <= bytes.size(); ++i) CHECK(crc32c(bytes.subspan(i), crc32c(bytes.first(i))) == 0xe3069283);
}

TEST_CASE("the CPU and the tables agree") {
  constexpr auto pattern = [] {
    std::array<std::byte, 1003> result{};
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = static_cast<std::byte>(i * i + 17 * i);
    return result;
  }();
  constexpr std::uint32_t by_tables = crc32c(pattern), of_tail = crc32c(std::span(pattern).subspan(3));
  const auto bytes = pattern;
  CHECK(crc32c(bytes) == by_tables);
  CHECK(crc32c(std::span(bytes).subspan(3)) == of_tail);
}
