// tests/backend/cuda/code_cache.cpp: compiled code is found again under its own key only, also beside broken files.
#include <tokamax/backend/cuda/code_cache.hpp>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

#include <fstream>

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

TEST_CASE("a file that is cut off counts as absent") {
  const temporary_folder folder;
  const code_cache cache(folder.path);
  cache.keep("text", "code");
  for (const auto& file : std::filesystem::directory_iterator(folder.path))
    std::filesystem::resize_file(file.path(), 10);
  CHECK(!cache.find("text"));
}
