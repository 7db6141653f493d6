// tests/backend/systolic/pipeline.cpp: which copies a grid makes, and when its steps begin.
#include <tokamax/backend/systolic/pipeline.hpp>

#include <tokamax/backend/systolic/chips.hpp>
#include <tokamax/backend/systolic/simulate.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

namespace {

/// Cycles of a pipeline on toy8x8 whose steps compute for `compute` cycles.
double cycles(const std::vector<sys::operand>& operands, double compute) {
  sys::program p;
  sys::run_pipeline(p, operands, {0, "work"}, [&](int, sys::event_id ready) { return p.scalar(compute, 0, {ready}); });
  return sys::simulate(sys::toy8x8, p).cycles;
}
int copies(const std::vector<sys::operand>& operands) {
  sys::program p;
  sys::run_pipeline(p, operands, {0, "work"}, [&](int, sys::event_id ready) { return p.scalar(1, 0, {ready}); });
  int count = 0;
  for (const auto& i : p.instructions()) count += i.on == sys::unit::dma;
  return count;
}

}  // namespace

TEST_CASE("blocks are copied when they change", "[systolic]") {
  CHECK(copies({{"x", 64, {0, 1, 2, 3}}}) == 4);
  CHECK(copies({{"x", 64, {0, 0, 0, 0}}}) == 1);
  CHECK(copies({{"x", 64, {0, 1, 1, 0}}}) == 3);
  CHECK(copies({{"x", 64, {0, 1, 2, 3}}, {"y", 64, {5, 5, 6, 6}, 2, true}}) == 6);
  CHECK(copies({}) == 0);
}

TEST_CASE("copies hide behind steps, and steps behind copies", "[systolic]") {
  // A copy of 128 bytes takes 18 cycles.
  CHECK(cycles({{"x", 128, {0, 1, 2, 3}, 1}}, 100) == 4 * (18 + 100));  // one buffer: nothing overlaps
  CHECK(cycles({{"x", 128, {0, 1, 2, 3}, 2}}, 100) == 18 + 8 + 4 * 100 - 8);
  // Steps of a cycle: each copy starts with the step before its own, and pays its fixed cost there.
  CHECK(cycles({{"x", 128, {0, 1, 2, 3}, 2}}, 1) == 18 + 1 + 18 + 8 + 1);
  CHECK(cycles({{"x", 128, {0, 1, 2, 3}, 4}}, 1) == 10 + 4 * 8 + 1);  // all are asked for at once
  CHECK(cycles({{"y", 128, {0, 1, 2, 3}, 2, true}}, 100) == 4 * 100 + 18);
  CHECK(cycles({{"y", 128, {0, 1}, 1, true}}, 100) == 100 + 18 + 100 + 18);  // the only buffer is being written
}

TEST_CASE("operands of one pipeline have the same steps", "[systolic]") {
  CHECK_THROWS_WITH(cycles({{"x", 64, {0, 1}}, {"y", 64, {0}}}, 1),
                    contains("steps of operand y: found 1, expected 2"));
}
