// tests/data/tokens.cpp: texts of files and of memory.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/data/tokens.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace data = tokamax::data;

TEST_CASE("tokens are the bytes of a file") {
  const temporary_folder folder;
  const data::tokens text = data::text(folder.write("a.txt", std::string("a\0\xff\n", 4)));
  REQUIRE(text.size() == 4);
  CHECK(text[0] == 'a');
  CHECK(text[1] == 0);
  CHECK(text[2] == 255);
  CHECK(text[4 + 3] == '\n');  // the next epoch
  CHECK_THAT(text.name(), contains("a.txt"));
}

TEST_CASE("parts share the bytes") {
  const data::tokens all("abcdef");
  const data::tokens part = all.part(2, 3, "middle");
  CHECK(part.bytes() == "cde");
  CHECK(part.bytes().data() == all.bytes().data() + 2);
  CHECK(part[1] == 'd');
  CHECK(part.part(1, 2, "end").bytes() == "de");
  CHECK_THROWS_WITH(all.part(4, 3, "beyond"), contains("3 tokens from 4"));
}

TEST_CASE("files that cannot be used are named") {
  const temporary_folder folder;
  CHECK_THROWS_WITH(data::text(folder.path / "missing.txt"), contains("No such file") && contains("missing.txt"));
  CHECK_THROWS_WITH(data::text(folder.write("empty.txt", "")), contains("an empty file") && contains("empty.txt"));
  CHECK_THROWS_WITH(data::text(folder.path), contains("Is a directory") && contains(folder.path.string()));
  if (geteuid() != 0) {  // root may read everything
    const auto path = folder.write("secret.txt", "secret");
    std::filesystem::permissions(path, std::filesystem::perms::none);
    CHECK_THROWS_WITH(data::text(path), contains("Permission denied") && contains("secret.txt"));
  }
  CHECK_THROWS_WITH(data::tokens(""), contains("0 bytes"));
}

TEST_CASE("a text is a regular file") {
  const temporary_folder folder;
  const auto pipe = folder.path / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0666) == 0);
  CHECK_THROWS_WITH(data::text(pipe), contains("a pipe") && contains("/pipe"));
  CHECK_THROWS_WITH(data::text("/dev/zero"), contains("a device"));
}
