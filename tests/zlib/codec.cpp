// tests/zlib/codec.cpp: deflate within its bounds, and NumPy's files that are compressed by it.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/sources/npy.hpp>
#include <tokamax/zlib/codec.hpp>

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/data_files.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using namespace std::string_literals;

TEST_CASE("bytes come back from deflate") {
  const tk::codec& deflate = tk::deflate_codec("f");
  std::mt19937 random(3);
  for (const std::size_t size : {0, 1, 2, 1000, 300000}) {
    std::string bytes(size, 'a');
    for (std::size_t i = 0; i < size; i += 3) bytes[i] = static_cast<char>(random());
    const std::string small = deflate.compress(bytes);
    CHECK(deflate.decompress(small, size, "f") == bytes);
    CHECK(deflate.decompress(small, ~std::uint64_t{0} >> 1, "f") == bytes);
    if (size > 0)
      CHECK_THROWS_WITH(deflate.decompress(small, size - 1, "f"), contains("found more") && contains("(f)"));
    for (std::size_t i = 0; i < small.size(); i += 1 + small.size() / 50)
      CHECK_THROWS_WITH(deflate.decompress(small.substr(0, i), size, "f"), contains("cut off"));
  }
}

TEST_CASE("deflate within its bounds") {
  const auto inflated = [](const std::string& from, std::uint64_t most) {
    return tk::deflate_codec("f").decompress(from, most, "f");
  };
  CHECK(inflated("\1\3\0\xfc\xff"
                 "abc"s,
                 3) == "abc");
  CHECK(inflated("\x4b\x4c\x84\1\0"s, 10) == "aaaaaaaaaa");  // fixed codes, and a part of what was made
  CHECK_THROWS_WITH(inflated("\x4b\x4c\x84\1\0"s, 9), contains("at most 9 bytes"));
  CHECK_THROWS_WITH(inflated("\1\3\0\xfc\xfe"
                             "abc"s,
                             3),
                    contains("invalid stored block lengths"));
  CHECK_THROWS_WITH(inflated("\7"s, 3), contains("invalid block type"));
  CHECK_THROWS_WITH(inflated("", 0), contains("deflate: found bytes that are cut off"));
  const std::string bomb = tk::deflate_codec("f").compress(std::string(1 << 26, '\0'));
  CHECK(bomb.size() < 100000);
  CHECK_THROWS_WITH(inflated(bomb, 1000), contains("at most 1000 bytes"));
  std::mt19937 random(4);
  for (int i = 0; i < 20000; ++i) {  // any bytes end in a result or an error
    std::string any(random() % 60, '\0');
    for (char& c : any) c = static_cast<char>(random());
    if (!any.empty()) any[0] = static_cast<char>((any[0] & ~7) | (i % 2 == 0 ? 5 : 3));
    const std::uint64_t most = random() % 3000;
    std::size_t size = 0;
    try {
      size = inflated(any, most).size();
    } catch (const tk::error&) {}
    CHECK(size <= most);
  }
}

TEST_CASE("compressed arrays of NumPy") {
  const temporary_folder folder;
  const std::string bytes = golden_files().at("compressed.npz");
  const auto compressed = tk::data::read_npz(folder.write("a.npz", bytes).string());
  const auto x = compressed.at("x").values<std::int32_t>();
  CHECK(std::vector<std::int32_t>(x.begin(), x.end()) == std::vector<std::int32_t>{0, 1, 2, 3, 4});
  const tk::array& squares = compressed.at("y");
  CHECK(squares.shape() == tk::shape{3, 1000});
  for (std::int64_t i = 0; i < 3000; ++i)
    CHECK(squares.values<std::int16_t>()[static_cast<std::size_t>(i)] == i * i % 251);
  std::string longer = bytes;  // the directory promises a byte more than there is
  const std::size_t entry = longer.find("PK\1\2");
  longer[entry + 24] = static_cast<char>(longer[entry + 24] + 1);
  CHECK_THROWS_WITH(tk::data::read_npz(folder.write("longer.npz", longer).string()),
                    contains("npz: array") && contains("longer.npz, x, byte"));
  std::mt19937 random(1);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const bool cut : {true, false}) {
      std::string bad = bytes;
      if (cut)
        bad.resize(i);
      else
        bad[i] = static_cast<char>(bad[i] ^ (1u << random() % 8));
      try {
        tk::data::read_npz(folder.write("bad.npz", bad).string());
      } catch (const tk::error& e) {
        CHECK_THAT(e.what(), contains("bad.npz"));
      }
    }
  }
}
