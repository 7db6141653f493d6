// tests/backend/systolic/report/trace.cpp: traces and pictures of runs.
#include <tokamax/backend/systolic/report/trace.hpp>

#include <tokamax/backend/systolic/chips.hpp>
#include <tokamax/backend/systolic/matmul.hpp>

#include <algorithm>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("a run as trace events", "[systolic]") {
  sys::program p;
  p.at({0, "the \"first\"", 3});
  const auto a = p.transfer(sys::memory::hbm, sys::memory::vmem, 1024);
  p.at({1, "product", 4});
  p.product({8, 8, 8}, sys::element::bf16, {a});
  const std::string s = sys::trace_json(p, sys::simulate(sys::toy8x8, p));
  CHECK_THAT(
      s, contains(R"({"ph": "X", "pid": 0, "tid": 5, "name": "the \"first\"", "ts": 0.000000, "dur": 0.074000)") &&
             contains(R"("pid": 1, "tid": 0, "name": "product", "ts": 0.074000, "dur": 0.030000, "args": {"step": 4)"));
  CHECK(std::ranges::count(s, '{') == std::ranges::count(s, '}'));
  CHECK(s.ends_with("]}\n"));
}

TEST_CASE("a run as a picture", "[systolic]") {
  const sys::program p = sys::matmul_program(sys::v5e, {512, 512, 512}, {.block = {256, 256, 256}});
  const sys::timeline t = sys::simulate(sys::v5e, p);
  const std::string s = sys::timeline_svg(p, t);
  CHECK_THAT(s, contains("v5e, core 0: cycles 0 to") && contains("product of step 7") && contains(">copies in<") &&
                    contains(">read "));
  const std::string part = sys::timeline_svg(p, t, 0, 0, t.cycles / 4);
  CHECK(part.size() < s.size());
  CHECK_NOTHROW(sys::timeline_svg({}, sys::simulate(sys::v5e, {})));
}
