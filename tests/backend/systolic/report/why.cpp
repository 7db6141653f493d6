// tests/backend/systolic/report/why.cpp: reports name the loss, and a change that gains what they say.
#include <tokamax/backend/systolic/report/why.hpp>

#include <tokamax/backend/systolic/chips.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("small blocks wait for copies", "[systolic]") {
  const std::string s = sys::why_matmul(sys::v5e, {4096, 4096, 4096}, {.block = {128, 128, 128}});
  CHECK_THAT(s, contains("core 0: read 5") && contains("if copies start at once: ") &&
                    contains("one side: block 128 128 128 -> ") && contains("best: block"));
}

TEST_CASE("a cost that is taken away never makes a run slower", "[systolic]") {
  const sys::program p = sys::matmul_program(sys::v4, {1024, 1024, 1024}, {.block = {256, 256, 256}, .cores = 2});
  const double now = sys::simulate(sys::v4, p).cycles;
  for (const sys::what_if& w : sys::what_ifs(sys::v4, p)) CHECK(w.cycles <= now);
  CHECK_THAT(sys::why(sys::tpu7x, p), contains("not validated") && contains("core 1:"));
}
