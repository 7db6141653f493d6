// tests/backend/systolic/report/svg.cpp: pictures are well-formed, whatever the words in them.
#include <tokamax/backend/systolic/report/svg.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/temporary_folder.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("shapes and words of a picture", "[systolic]") {
  sys::svg p(100, 50);
  p.rectangle(1, 2, 3.5, 4, "red"), p.rectangle(1, 2, 3, 4, "red", "a < b");
  p.line(0, 0, 1, 1, "blue"), p.dot(5, 5, 2, "green"), p.words(1, 2, "x & y > z");
  const std::string s = p.text();
  CHECK_THAT(s, contains("viewBox=\"0 0 100 50\"") && contains("width=\"3.5\"") &&
                    contains("<title>a &lt; b</title>") && contains("x &amp; y &gt; z") && contains("<circle"));
  CHECK(s.ends_with("</svg>\n"));
}

TEST_CASE("files are written, or named in an error", "[systolic]") {
  const temporary_folder folder;
  sys::write_file(folder.path / "a.svg", "text");
  CHECK(std::filesystem::file_size(folder.path / "a.svg") == 4);
  CHECK_THROWS_WITH(sys::write_file(folder.path / "none" / "a.svg", "text"),
                    contains("a writable file") && contains("a.svg"));
}
