// tests/zstd/codec.cpp: compressed bytes come back, within their bound, and damaged ones are refused.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/zstd/codec.hpp>

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;

TEST_CASE("bytes come back") {
  const tk::codec& zstd = tk::zstd_codec("f");
  std::mt19937 random(1);
  for (const std::size_t size : {0u, 1u, 1000u, 300'000u, 3'000'000u}) {
    std::string bytes(size, 'a');
    for (std::size_t i = 0; i < size / 3; ++i) bytes[i] = static_cast<char>(random());
    const std::string small = zstd.compress(bytes);
    CHECK(zstd.decompress(small, size, "f") == bytes);
    CHECK(zstd.decompress(small, ~std::uint64_t{0} >> 1, "f") == bytes);
    CHECK(zstd.decompress(small + zstd.compress("b"), size + 1, "f") == bytes + "b");  // frames one behind the other
    if (size > 0) CHECK_THROWS_WITH(zstd.decompress(small, size - 1, "f"), contains("found more") && contains("(f)"));
  }
}

TEST_CASE("memory and errors are bounded whatever the bytes are") {
  const tk::codec& zstd = tk::zstd_codec("f");
  const std::string bomb = zstd.compress(std::string(1 << 28, '\0'));  // 256 MiB in a few KiB
  CHECK(bomb.size() < 20'000);
  CHECK_THROWS_WITH(zstd.decompress(bomb, 1000, "f"), contains("at most 1000 bytes"));
  CHECK_THROWS_WITH(zstd.decompress("", 10, "f"), contains("cut off"));
  CHECK_THROWS_WITH(zstd.decompress("no frame at all", 10, "f"), contains("zstd"));
  const std::string good = zstd.compress("some bytes, some bytes, some bytes, and others");
  std::mt19937 random(2);
  for (std::size_t i = 0; i < good.size(); ++i) {
    CHECK_THROWS_AS(zstd.decompress(std::string_view(good).substr(0, i), 1000, "f"), tk::error);
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1u << random() % 8));
    try {
      const std::string made = zstd.decompress(bad, 1000, "f");
      CHECK(made.size() <= 1000);
    } catch (const tk::error& e) {
      CHECK_THAT(e.what(), contains("zstd"));
    }
  }
}
