// tests/checkpoint/orbax/byte_store.cpp: the files of a folder as keys, and databases that are none.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/orbax/byte_store.hpp>

#include <tokamax/checkpoint/crc32c.hpp>
#include <tokamax/checkpoint/orbax/ocdbt.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace tk = tokamax;
using namespace tokamax::checkpoint::detail;

namespace {
// A manifest or node without compression around `body`.
std::string framed(const char* magic, const std::string& body) {
  std::string all(magic, 4);
  const std::uint64_t size = 4 + 8 + 2 + body.size() + 4;
  all.append(reinterpret_cast<const char*>(&size), 8).append(2, '\0').append(body);
  const std::uint32_t crc = tk::checkpoint::crc32c(std::as_bytes(std::span(all)));
  return all.append(reinterpret_cast<const char*>(&crc), 4);
}
const std::string zero(1, '\0'), one(1, '\1');
// A table of one file: its length, the part of it that is the base, and its name.
std::string table(const std::string& file) { return one + static_cast<char>(file.size()) + zero + file; }
// A manifest whose only version has a root of a height, `size` bytes from byte 0 of a file on.
std::string manifest(const std::string& file, char height, std::size_t size) {
  return framed("\x0c\xdb\x3a\x2a", std::string(16, 'u') + zero + zero + zero + zero + zero + table(file) + one + one +
                                        height + zero + zero + static_cast<char>(size));
}
// A leaf with one key whose value is in the node.
std::string leaf(const std::string& key, const std::string& value) {
  return framed("\x0c\xdb\x20\xde", zero + zero + one + static_cast<char>(key.size()) + key +
                                        static_cast<char>(value.size()) + zero + value);
}
// A node above, whose only child is `size` bytes from byte 0 of a file on.
std::string inner(char height, const std::string& file, std::size_t size) {
  return framed("\x0c\xdb\x20\xde", height + table(file) + one + one + one + "k" + zero + zero +
                                        static_cast<char>(size) + std::string(3, '\0'));
}
}  // namespace

TEST_CASE("the files of a folder are keys") {
  const temporary_folder folder;
  std::filesystem::create_directories(folder.path / "a/b");
  folder.write("a/b/0.0", "xyz");
  folder.write("c", "");
  const byte_store store = read_file_store(folder.path);
  REQUIRE(store.size() == 2);
  CHECK(store.at("a/b/0.0").read() == "xyz");
  CHECK(store.at("c").read().empty());
  CHECK(byte_place{folder.path / "a/b/0.0", 1, 2}.read() == "yz");
  CHECK_THROWS_WITH((byte_place{folder.path / "a/b/0.0", 2, 2}.read()),
                    contains("found 3 bytes, expected 2 from byte 2"));
  CHECK_THROWS_WITH((byte_place{folder.path / "a/b/0.0", 1, ~std::uint64_t{0}}.read()), contains("0.0"));
  CHECK_THROWS_WITH(read_file_store(folder.path / "none"), contains("none"));
}

TEST_CASE("a database of one leaf, and of a leaf below a node") {
  const temporary_folder folder;
  std::filesystem::create_directories(folder.path / "d");
  const std::string node = leaf("key", "value");
  folder.write("manifest.ocdbt", manifest("d/x", '\0', node.size()));
  folder.write("d/x", node);
  CHECK(read_ocdbt(folder.path).at("key").read() == "value");
  const std::string above = inner('\1', "d/x", node.size());
  folder.write("manifest.ocdbt", manifest("d/y", '\1', above.size()));
  folder.write("d/y", above);
  CHECK(read_ocdbt(folder.path).at("kkey").read() == "value");
}

TEST_CASE("databases that lie are refused") {
  const temporary_folder folder;
  std::filesystem::create_directories(folder.path / "d");
  const auto refused = [&](const std::string& bytes, const char* what) {
    folder.write("manifest.ocdbt", bytes);
    CHECK_THROWS_WITH(read_ocdbt(folder.path), contains(what) && contains(folder.path.string()));
  };
  const std::string node = leaf("key", "value");
  folder.write("d/x", node);
  for (const char* outside : {"../x", "/etc/x", "d/../../x", "d/.."})
    refused(manifest(outside, '\0', node.size()), "expected one below the folder");
  refused(manifest(std::string("d\0x", 3), '\0', node.size()), "expected one below the folder");
  refused(manifest("d/z", '\0', node.size()), "No such file");
  refused(manifest("d/x", '\0', 100), "expected 100 from byte 0");
  refused(manifest("d/x", '\0', node.size() - 1), "expected a header with the length of all");
  refused(manifest("d/x", '\1', node.size()), "found another height, expected 1");
  const std::string loop = inner('\2', "d/l", inner('\2', "d/l", 0).size());
  folder.write("d/l", loop);
  refused(manifest("d/l", '\2', loop.size()), "expected distinct nodes");
  const std::string good = manifest("d/x", '\0', node.size());
  for (std::size_t i = 0; i < good.size(); ++i) {
    refused(good.substr(0, i), "ocdbt");
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 8);
    refused(bad, "ocdbt");
    // The same with a checksum that fits.
    std::string forged = good.substr(0, good.size() - 4);
    if (i >= forged.size()) continue;
    forged[i] = static_cast<char>(forged[i] ^ 8);
    const std::uint32_t crc = tk::checkpoint::crc32c(std::as_bytes(std::span(forged)));
    folder.write("manifest.ocdbt", forged.append(reinterpret_cast<const char*>(&crc), 4));
    try {
      read_ocdbt(folder.path);
    } catch (const tk::error& e) {
      CHECK_THAT(e.what(), contains(folder.path.string()));
    }
  }
}
