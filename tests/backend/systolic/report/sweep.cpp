// tests/backend/systolic/report/sweep.cpp: sweeps find what simulations of whole grids confirm.
#include <tokamax/backend/systolic/report/sweep.hpp>

#include <tokamax/backend/systolic/chips.hpp>

#include <ctime>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("all blocks that fit, in less than a second", "[systolic]") {
  [[maybe_unused]] const std::clock_t begin = std::clock();  // of this program, whatever else runs
  const auto all = sys::sweep_blocks(sys::v5e, {4096, 4096, 4096});
#if !defined(__SANITIZE_THREAD__)  // under which a call takes some ten times as long
  CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 1);
#endif
  CHECK(all.size() > 150);
  const sys::swept& best = sys::fastest(all);
  CHECK(best.utilisation > 0.9);
  for (const sys::swept& s : all) {
    CHECK(s.cycles >= best.cycles);
    CHECK(s.utilisation <= 1);
  }
  CHECK_THAT(sys::sweep_svg(all, "matmul"), contains(">4096<") && contains("k 1024") && contains("matmul"));
}

TEST_CASE("grids that were cut are extended to the whole", "[systolic]") {
  for (const sys::swept& s : sys::sweep_blocks(sys::v5e, {2048, 2048, 2048})) {
    if (s.block.m < 128 || s.block.m > 512) continue;
    CAPTURE(s.block.m, s.block.k, s.block.n);
    CHECK(s.cycles ==
          Approx(sys::simulate_matmul(sys::v5e, {2048, 2048, 2048}, {.block = s.block}).cycles).epsilon(0.02));
  }
}

TEST_CASE("the best blocks never get faster when memory shrinks", "[systolic]") {
  sys::chip c = sys::v5e;
  double last = 0;
  for (; c.vmem >= 1 << 18; c.vmem.value /= 4) {
    const double cycles = sys::fastest(sys::sweep_blocks(c, {2048, 2048, 2048}, {}, 64)).cycles;
    CHECK(cycles >= last);
    last = cycles;
  }
}

TEST_CASE("small products, and memories that hold nothing", "[systolic]") {
  CHECK(sys::sweep_blocks(sys::v5e, {1, 1, 1}).size() == 1);
  sys::chip c = sys::v5e;
  c.vmem.value = 1;
  CHECK_THROWS_WITH(sys::fastest(sys::sweep_blocks(c, {512, 512, 512})), contains("found none, expected at least one"));
}

TEST_CASE("the sweep as a table has the best k of each pair of sides", "[systolic]") {
  const std::vector<sys::swept> all{{{16, 128, 128}, 50, 0.1}, {{16, 256, 128}, 20, 0.25}, {{32, 128, 256}, 10, 0.5}};
  CHECK(sys::sweep_text(all) ==
        "   m \\ n    128    256\n"
        "      16   25.0      -\n"
        "      32      -   50.0\n");
  CHECK(sys::sweep_text({}) == "   m \\ n\n");
  CHECK_THAT(sys::sweep_svg(all, "three"), contains(">25.0<") && contains("k 256") && contains(">50.0<"));
}
