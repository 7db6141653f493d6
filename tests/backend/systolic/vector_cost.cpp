// tests/backend/systolic/vector_cost.cpp: the vector units of a TPU v4, against its cycle counter.
#include <tokamax/backend/systolic/vector_cost.hpp>

#include <tokamax/backend/systolic/chips.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("transposes of a TPU v4", "[systolic]") {
  // f32[128, 128] is 16 registers: 16 pushes, then the first result after the latency, then 15 more. Measured: 267, of
  // which the two readings of the counter take 13.
  const auto t = sys::vector_cost(sys::v4, sys::vector_function_of("transpose"), 16);
  CHECK(t.busy == 16 * 8 + 15 * 8);
  CHECK(t.total() == 267 - 13);
}

TEST_CASE("functions of registers", "[systolic]") {
  const auto cost = [](std::string_view name, double registers) {
    return sys::vector_cost(sys::v4, sys::vector_function_of(name), registers);
  };
  CHECK(cost("add", 1).total() == 2);      // its latency
  CHECK(cost("add", 100).busy == 99);      // one slot adds
  CHECK(cost("sin", 100).busy == 9899);    // two slots, several kinds of instructions
  CHECK(cost("exp", 100).busy == 198);     // the EUP takes one every two cycles
  CHECK(cost("divide", 100).busy == 749);  // 15 vector instructions beside the reciprocal
  CHECK(cost("lane_reduce", 1).total() == 79);
  CHECK(cost("tanh", 0).total() == 0);
  CHECK(sys::name_of(sys::unit::xlu) == "XLU");
  CHECK_THROWS_WITH(sys::vector_function_of("tan"), contains("found tan"));
}
