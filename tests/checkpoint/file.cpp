// tests/checkpoint/file.cpp: files, and messages that name them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/checkpoint/file.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace checkpoint = tokamax::checkpoint;

TEST_CASE("what was written is read") {
  const temporary_folder folder;
  const std::string text = "some bytes";
  checkpoint::output_file out(folder.path / "a");
  out.write(std::as_bytes(std::span(text)));
  out.write({});
  out.finish();
  checkpoint::sync_folder(folder.path);
  const checkpoint::input_file in(folder.path / "a");
  REQUIRE(in.size() == text.size());
  std::string read(5, ' ');
  in.read(5, std::as_writable_bytes(std::span(read)));
  CHECK(read == "bytes");
  CHECK_THROWS_WITH(in.read(6, std::as_writable_bytes(std::span(read))), contains("its end at byte 10"));
}

TEST_CASE("files that cannot be used are named") {
  const temporary_folder folder;
  CHECK_THROWS_WITH(checkpoint::input_file(folder.path / "b"), contains("No such file") && contains("/b"));
  CHECK_THROWS_WITH(checkpoint::input_file(folder.path), contains("something else") && contains(folder.path.string()));
  CHECK_THROWS_WITH(checkpoint::output_file(folder.path / "no" / "c"), contains("No such file") && contains("no/c"));
  CHECK_THROWS_WITH(checkpoint::sync_folder(folder.write("d", "")), contains("Not a directory"));
  if (std::filesystem::exists("/dev/full")) {
    checkpoint::output_file full("/dev/full");
    CHECK_THROWS_WITH(full.write(std::as_bytes(std::span("x"))), contains("No space left") && contains("/dev/full"));
  }
}
