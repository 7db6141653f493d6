// tests/base/error.cpp
#include <tokamax/base/error.hpp>

#include "support/catch.hpp"

TEST_CASE("an error has four parts and says them in one line") {
  const tokamax::error e("reshape: number of elements", "f32[2,3]", "[4]", "file.cpp:7");
  CHECK(e.subject == "reshape: number of elements");
  CHECK(e.found == "f32[2,3]");
  CHECK(e.expected == "[4]");
  CHECK(e.where == "file.cpp:7");
  CHECK(std::string(e.what()) == "reshape: number of elements: found f32[2,3], expected [4] (file.cpp:7)");
  CHECK(std::string(tokamax::error("a", "b", "c").what()) == "a: found b, expected c");
}
