// tests/backend/systolic/report/measurements.cpp: how far the model is from published numbers of real chips.
#include <tokamax/backend/systolic/report/measurements.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("errors on numbers that fitted nothing", "[systolic]") {
  const auto errors = sys::model_errors();
  CHECK(errors.at("v4 dots").judged == 2);
  CHECK(errors.at("v4 dots").worst < 0.006);
  CHECK(errors.at("v4 DMA").mean < 0.06);
  CHECK(errors.at("v4 transposes").mean < 0.03);
  CHECK(errors.at("v4 units").mean < 0.025);
  CHECK(errors.at("rates").worst < 0.01);
  CHECK(errors.at("v5e matmul").judged == 0);
  CHECK(errors.at("v5e matmul").fitted == 3);
  for (const auto& m : sys::measurements)
    if (m.what == sys::measured_case::product) CHECK(std::abs(sys::predicted(m) - m.value) <= 1);
}

TEST_CASE("constants meet the numbers that they were fitted to", "[systolic]") {
  for (const auto& m : sys::measurements) {
    CAPTURE(m.id);
    if (!m.fits.empty()) CHECK(std::abs(sys::predicted(m) / m.value - 1) < 0.003);
  }
}

TEST_CASE("v5e follows from the constants of v4 within 5 %", "[systolic]") {
  // Nothing of v5e but its published rates, and the launch: no step, and v4's bubble.
  sys::chip c = sys::v5e;
  c.step = {0}, c.swap_bubble = sys::v4.swap_bubble;
  for (const auto& m : sys::measurements)
    if (m.id == "P003" || m.id == "P006") CHECK(std::abs(sys::predicted(m, c) / m.value - 1) < 0.05);
}

TEST_CASE("the table names what fitted a constant, and takes other numbers", "[systolic]") {
  CHECK_THAT(sys::measurement_table(), contains("fits swap_bubble") &&
                                           contains("v5e matmul     not judged: its 3 numbers") &&
                                           contains("v4 dots        mean "));
  const sys::measurement mine{"mine", "own", &sys::v5e, sys::measured_case::roots, {8}, 33.75};
  CHECK(sys::model_errors({&mine, 1}).at("own").mean == Approx(0.2));
}
