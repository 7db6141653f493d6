// tests/base/system/file.cpp: files, and messages that name them.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/base/system/folder.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

using tokamax::input_file;
using tokamax::output_file;

namespace {
std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
}  // namespace

TEST_CASE("what was written is read") {
  const temporary_folder folder;
  const std::string text = "some bytes";
  output_file out(folder.path / "a");
  out.write(bytes(text));
  out.write({});
  out.finish();
  tokamax::sync_folder(folder.path);
  const input_file in(folder.path / "a");
  REQUIRE(in.size() == text.size());
  std::string read(5, ' ');
  in.read(5, std::as_writable_bytes(std::span(read)));
  CHECK(read == "bytes");
  CHECK_THROWS_WITH(in.read(6, std::as_writable_bytes(std::span(read))), contains("its end at byte 10"));
}

TEST_CASE("files and folders that cannot be opened are named") {
  const temporary_folder folder;
  CHECK_THROWS_WITH(input_file(folder.path / "b"), contains("No such file") && contains("/b"));
  CHECK_THROWS_WITH(input_file(folder.path), contains("Is a directory") && contains(folder.path.string()));
  CHECK_THROWS_WITH(output_file(folder.path / "no" / "c"), contains("No such file") && contains("no/c"));
  CHECK_THROWS_WITH(tokamax::sync_folder(folder.write("d", "")), contains("Not a directory"));
  if (std::filesystem::exists("/dev/full")) {
    output_file full("/dev/full");
    CHECK_THROWS_WITH(full.write(bytes("x")), contains("No space left") && contains("/dev/full"));
  }
}

TEST_CASE("pipes and devices are refused, and nobody waits for them") {
  const temporary_folder folder;
  const auto pipe = folder.path / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0666) == 0);
  CHECK_THROWS_WITH(input_file(pipe), contains("a pipe") && contains("a regular file"));
  CHECK_THROWS_WITH(input_file("/dev/zero"), contains("a device") && contains("/dev/zero"));
  CHECK_THROWS_WITH(tokamax::read_file("/dev/zero"), contains("a device"));
}

TEST_CASE("a file grows from its end on") {
  const temporary_folder folder;
  const auto path = folder.write("a", "old ");
  output_file file(path, output_file::start::at_the_end);
  file.write(bytes("and "));
  file.write(bytes("new"));
  file.sync();
  CHECK(tokamax::read_file(path) == "old and new");
  CHECK(tokamax::read_file(path, 11).size() == 11);
  CHECK_THROWS_WITH(tokamax::read_file(path, 10), contains("11 bytes") && contains("at most 10"));
}

TEST_CASE("a file too large for memory is named") {
  const temporary_folder folder;
  const auto path = folder.write("a", "");
  std::error_code failure;
  std::filesystem::resize_file(path, std::uintmax_t{1} << 62, failure);
  if (!failure) CHECK_THROWS_WITH(tokamax::read_file(path), contains("what memory holds"));
}

TEST_CASE("new content replaces all of the old, or nothing") {
  const temporary_folder folder;
  const auto path = folder.path / "a";
  tokamax::replace_file(path, "one");
  tokamax::replace_file(path, "two");
  CHECK(tokamax::read_file(path) == "two");
  std::filesystem::create_directories(folder.path / "b" / "c");
  CHECK_THROWS_WITH(tokamax::replace_file(folder.path / "b", "three"), contains("Is a directory"));
  CHECK_THROWS_WITH(tokamax::replace_file(folder.path / "no" / "a", "x"), contains("No such file"));
  CHECK(tokamax::folder_names(folder.path)->size() == 2);  // no file is left beside them
}

TEST_CASE("only what is not there is no folder") {
  const temporary_folder folder;
  CHECK_FALSE(tokamax::folder_names(folder.path / "no"));
  CHECK(tokamax::folder_names(folder.path)->empty());
  const auto file = folder.write("file", "");
  CHECK_THROWS_WITH(tokamax::folder_names(file), contains("Not a directory") && contains("/file"));
  CHECK_FALSE(tokamax::file_exists(folder.path / "no"));
  CHECK(tokamax::file_exists(file));
  CHECK_FALSE(tokamax::folder_exists(file));
  CHECK_THROWS_WITH(tokamax::file_exists(file / "a"), contains("Not a directory"));
}

TEST_CASE("folders are made with those above them") {
  const temporary_folder folder;
  tokamax::make_folders(folder.path / "a" / "b" / "c" / "");
  tokamax::make_folders(folder.path / "a" / "b" / "c");
  CHECK(tokamax::folder_exists(folder.path / "a" / "b" / "c"));
  CHECK_THROWS_WITH(tokamax::make_folders(folder.write("file", "") / "a"), contains("Not a directory"));
  CHECK_THROWS_WITH(tokamax::make_folders(folder.path / "file"), contains("File exists"));
}
