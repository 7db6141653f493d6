// tests/backend/systolic/matmul.cpp: blocked products: sums of time, traffic, memory and the speed of the simulation.
#include <tokamax/backend/systolic/matmul.hpp>

#include <tokamax/backend/systolic/chips.hpp>

#include <ctime>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("traffic and work of a blocked product", "[systolic]") {
  const auto t = sys::simulate_matmul(sys::v5e, {1024, 1024, 1024}, {.block = {128, 128, 128}});
  CHECK(t.useful_macs == 1024.0 * 1024 * 1024);
  // Each block of b is read for each of 8 blocks of rows, a's for each of 8 of columns; sums are written once.
  CHECK(t.hbm_bytes == 2.0 * 1024 * 1024 * (8 + 8 + 1));
  CHECK(t.vmem.at(0) == 3 * 2 * 128 * 128 * 2 + 128 * 128 * 4);
  CHECK(t.stalls[0].total() == Approx(t.cycles));
}

TEST_CASE("large blocks are fast, and too large ones do not fit", "[systolic]") {
  const auto fast = sys::simulate_matmul(sys::v5e, {8192, 8192, 8192}, {.block = {512, 1024, 1024}});
  CHECK(fast.utilisation() > 0.9);
  CHECK(sys::simulate_matmul(sys::v5e, {4096, 4096, 4096}, {.block = {128, 128, 128}}).utilisation() < 0.1);
  CHECK_THROWS_WITH(sys::simulate_matmul(sys::v4, {8192, 8192, 8192}, {.block = {2048, 2048, 2048}}),
                    contains("VMEM of core 0") && contains("sums 1 x 16777216") && contains("at most 16777216 (v4)"));
}

TEST_CASE("two cores of a chip share the blocks of rows", "[systolic]") {
  const sys::matmul_options one{.block = {512, 512, 512}};
  sys::matmul_options two = one;
  two.cores = 2;
  const double alone = sys::simulate_matmul(sys::v4, {4096, 4096, 4096}, one).cycles;
  const double together = sys::simulate_matmul(sys::v4, {4096, 4096, 4096}, two).cycles;
  CHECK(together < alone * 0.6);
  CHECK(together > alone * 0.49);
}

TEST_CASE("less memory and fewer buffers never help", "[systolic]") {
  for (const auto& block : {sys::product_shape{128, 128, 128}, {256, 512, 256}, {512, 256, 1024}}) {
    double last = 0;
    for (const int buffers : {4, 3, 2, 1}) {
      const double cycles =
          sys::simulate_matmul(sys::v5e, {2048, 2048, 2048}, {.block = block, .buffers = buffers}).cycles;
      CHECK(cycles >= last);
      last = cycles;
    }
  }
}

TEST_CASE("ragged products compute whole blocks", "[systolic]") {
  const auto t = sys::simulate_matmul(sys::v5e, {300, 200, 100}, {.block = {128, 128, 128}});
  CHECK(t.stalls[0].total() == Approx(t.cycles));
  CHECK_NOTHROW(sys::simulate_matmul(sys::v5e, {1, 1, 1}));
  CHECK_THROWS_WITH(sys::simulate_matmul(sys::v5e, {0, 1, 1}), contains("found 0 x 1 x 1"));
}

TEST_CASE("32768 steps are simulated in less than a second", "[systolic]") {
  const std::clock_t begin = std::clock();  // of this program, whatever else runs
  sys::simulate_matmul(sys::v5e, {4096, 4096, 4096}, {.block = {128, 128, 128}});
  CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 1);
}
