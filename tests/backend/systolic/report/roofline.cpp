// tests/backend/systolic/report/roofline.cpp: roofs, and factors that multiply out to the utilisation.
#include <tokamax/backend/systolic/report/roofline.hpp>

#include <tokamax/backend/systolic/chips.hpp>
#include <tokamax/backend/systolic/matmul.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("no run is above its roofs, and the factors are exact", "[systolic]") {
  for (const sys::chip& c : sys::tpus)
    for (const sys::product_shape& block : {sys::product_shape{128, 128, 128}, {512, 512, 512}, {100, 300, 500}})
      for (const int cores : {1, 2}) {
        CAPTURE(c.name, block.m, cores);
        if (cores > c.cores) continue;
        const auto t = sys::simulate_matmul(c, {2048, 1024, 1500}, {.block = block, .cores = cores});
        const auto r = sys::roofline(t);
        // The transfers of v4 were measured, and may differ a little from the bandwidth that is published.
        CHECK(r.reached <= r.roof() * 1.001);
        double product = 1;
        for (const sys::factor& f : sys::loss_factors(t)) {
          CHECK(f.kept <= 1);
          product *= f.kept;
        }
        CHECK(product == Approx(t.utilisation()).epsilon(1e-12));
      }
}

TEST_CASE("the roofline as a picture", "[systolic]") {
  const auto t = sys::simulate_matmul(sys::v6e, {1024, 1024, 1024}, {.block = {512, 512, 512}});
  CHECK_THAT(sys::roofline_svg(t, "matmul"), contains("matmul on v6e") && contains(">HBM<") && contains(">VMEM<") &&
                                                 contains("utilisation") && contains("no time of this chip"));
  CHECK_NOTHROW(sys::roofline_svg(sys::simulate(sys::v5e, {}), "nothing"));
}

TEST_CASE("the roofline in words", "[systolic]") {
  // One row: 2 operations for each of the 2 bytes of a weight, so HBM is the lowest roof: 1 x 0.82 TFLOP/s.
  const auto row = sys::simulate_matmul(sys::v5e, {1, 4096, 4096}, {.block = {1, 1024, 1024}});
  const sys::roofline_point r = sys::roofline(row);
  CHECK(r.hbm_roof == Approx(r.intensity * sys::v5e.hbm_gbps * 1e-3));
  CHECK(r.vmem_roof == Approx(r.hbm_roof * 22));
  CHECK_THAT(sys::roofline_text(row, "one row"), contains("one row on v5e") && contains("HBM is the lowest"));
  const auto square = sys::simulate_matmul(sys::v5e, {4096, 4096, 4096});
  CHECK_THAT(sys::roofline_text(square, "square"),
             contains("MXU is the lowest") && contains("= padding 1.000 x arrays 0.9"));
  CHECK_NOTHROW(sys::roofline_text(sys::simulate(sys::v5e, {}), "nothing"));
}
