// tests/backend/systolic/report/compare.cpp: one program on all chips.
#include <tokamax/backend/systolic/report/compare.hpp>

#include <tokamax/backend/systolic/matmul.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("a line for each chip, and the reason where one cannot", "[systolic]") {
  const std::string s = sys::compare_chips(
      [](const sys::chip& c) { return sys::matmul_program(c, {4096, 4096, 4096}, {.block = {1024, 1024, 1024}}); });
  CHECK(std::ranges::count(s, '\n') == 6);
  CHECK_THAT(s, contains("100.0%   MXU"));  // of v4's VMEM: two buffers of three blocks, and the sums
  CHECK_THAT(s, contains("tpu7x") && contains("not validated") && contains("compared") && contains("MXU"));
  const std::string large = sys::compare_chips(
      [](const sys::chip& c) { return sys::matmul_program(c, {4096, 4096, 4096}, {.block = {2048, 2048, 2048}}); });
  CHECK_THAT(large, contains("v4     systolic VMEM of core 0: "));
}
