// tests/backend/cuda/code_cache.cpp: compiled code is found again under its own key only, also beside broken files.
#include <tokamax/backend/cuda/code_cache.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

using tokamax::cuda_backend::code_cache;

TEST_CASE("a cache of code keeps what it is given") {
  const temporary_folder folder;
  const code_cache cache(folder.path / "new" / "folder");
  CHECK(!cache.find("text"));
  cache.keep("text", std::string("\0code\n", 6));
  CHECK(cache.find("text") == std::string("\0code\n", 6));
  CHECK(!cache.find("other text"));
  CHECK(code_cache(folder.path / "new" / "folder").find("text").has_value());
}

TEST_CASE("a file that is cut off or damaged counts as absent") {
  const temporary_folder folder;
  const code_cache cache(folder.path);
  const std::string code = "code that is long enough";
  cache.keep("text", code);
  const std::filesystem::path file = *std::filesystem::directory_iterator(folder.path);
  for (auto kept = std::filesystem::file_size(file); kept-- > 0;) {
    std::filesystem::resize_file(file, kept);
    CHECK(!cache.find("text"));
  }
  cache.keep("text", code);
  std::fstream(file, std::ios::binary | std::ios::in | std::ios::out).seekp(-40, std::ios::end).put('\0');
  CHECK(!cache.find("text"));
  cache.keep("text", code);
  CHECK(cache.find("text") == code);
}

TEST_CASE("two processes keep code in one folder, and find whole files only") {
  const temporary_folder folder;
  const code_cache cache(folder.path);
  const std::string code(100'000, 'c');
  const auto work = [&] {
    bool right = true;
    for (int i = 0; i < 100; ++i) {
      cache.keep("text", code);
      const auto found = cache.find("text");
      right = right && found && *found == code;
    }
    return right;
  };
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  CHECK(work());
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);  // no drafts are left
}

TEST_CASE("a folder that cannot be written keeps nothing") {
  const temporary_folder folder;
  const code_cache cache(folder.write("file", "") / "folder");
  cache.keep("text", "code");
  CHECK(!cache.find("text"));
}
