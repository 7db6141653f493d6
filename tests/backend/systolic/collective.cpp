// tests/backend/systolic/collective.cpp: rings of chips, counted by hand.
#include <tokamax/backend/systolic/collective.hpp>

#include <tokamax/backend/systolic/chips.hpp>
#include <tokamax/backend/systolic/simulate.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("rings of a toy", "[systolic]") {
  const auto cycles = [](sys::collective what, const sys::ring_options& o) {
    return sys::simulate(sys::toy8x8, sys::collective_program(sys::toy8x8, what, 4096, o)).cycles;
  };
  // A message of 1 KiB takes 10 + 64 cycles, and the sum of its 4 registers 4.
  const sys::ring_options one{.barrier = false}, two{.both_directions = true, .barrier = false};
  CHECK(cycles(sys::collective::all_gather, one) == 3 * 74);
  CHECK(cycles(sys::collective::reduce_scatter, one) == 3 * (74 + 4));
  CHECK(cycles(sys::collective::all_reduce, one) == 3 * (74 + 4) + 3 * 74);
  CHECK(cycles(sys::collective::all_gather, two) == 3 * (10 + 32));  // half the bytes each way
  CHECK(cycles(sys::collective::all_gather, {}) == 20 + 3 * 74);
  // The sums of the two directions take turns in the vector unit: the later one waits for 2 registers of the other.
  CHECK(cycles(sys::collective::all_reduce, two) == 3 * (10 + 32 + 2) + 3 * (10 + 32) + 1);
}

TEST_CASE("all chips of a ring do the same, and more chips need more messages", "[systolic]") {
  const auto run = [](int chips) {
    return sys::simulate(sys::v4,
                         sys::collective_program(sys::v4, sys::collective::all_reduce, 1 << 20, {.chips = chips}));
  };
  const auto four = run(4);
  CHECK(four.stalls.size() == 4);
  for (const auto& s : four.stalls) CHECK(s.cycles == four.stalls[0].cycles);
  CHECK(run(8).cycles > four.cycles * 0.9);
  CHECK_THROWS_WITH(run(1), contains("collective: chips: found 1, expected at least 2"));
}
