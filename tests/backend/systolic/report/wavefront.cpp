// tests/backend/systolic/report/wavefront.cpp: pictures of an array show what its cells hold.
#include <tokamax/backend/systolic/report/wavefront.hpp>

#include <tokamax/backend/systolic/mxu.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("the wavefront as text", "[systolic]") {
  const int a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  std::vector<std::string> frames;
  sys::pe_array<int> array({2, 2});
  array.run(a, b, {2, 2, 2}, [&](long long, const auto& now) { frames.push_back(sys::wavefront_text(now)); });
  CHECK(frames == std::vector<std::string>{"w.\n..\n", "ww\nw.\n", "0w\n.w\n", "10\n0.\n", ".1\n10\n", "..\n.1\n"});
}

TEST_CASE("a picture for each cycle, with the values of the cells", "[systolic]") {
  const int a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  const auto frames = sys::wavefront_frames<int>({2, 2}, a, b, {2, 2, 2});
  REQUIRE(frames.size() == 6);
  CHECK_THAT(frames[3],
             contains("cycle 3") && contains(">3 x 5<") && contains(">15<") && contains("row 0: 2 x 7, sum 19"));
}

TEST_CASE("all cycles on one page", "[systolic]") {
  const int one = 1;
  const auto frames = sys::wavefront_frames<int>({1, 1}, &one, &one, {1, 1, 1});
  const std::string page = sys::wavefront_page(frames);
  CHECK_THAT(page, contains("max=\"1\"") && contains("<div id=\"c0\"><svg") && contains("<div id=\"c1\" hidden><svg"));
  CHECK_THAT(sys::wavefront_page({}), contains("max=\"0\""));
}

TEST_CASE("frames of a 32 x 32 array", "[systolic]") {
  std::vector<float> a(32 * 40), b(40 * 32);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7), b[i] = static_cast<float>(i % 5);
  const auto frames = sys::wavefront_frames<float>({32, 32}, a.data(), b.data(), {32, 40, 32}, 12);
  CHECK(static_cast<long long>(frames.size()) == sys::pipelined_cycles({32, 32}, {32, 40, 32}).total());
  CHECK(frames[70].size() < 200000);
}
