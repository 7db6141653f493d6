// tests/backend/systolic/chip.cpp: the numbers of the chips agree with each other and with what is published.
#include <tokamax/backend/systolic/chip.hpp>

#include <tokamax/backend/systolic/chips.hpp>

#include <cmath>

#include "support/catch.hpp"

namespace sys = tokamax::systolic_backend;
using sys::element;

static_assert(sys::v4.cores == 2 && sys::v4.mxus == 4 && sys::v4.dim == 128);
static_assert(sys::count_of(sys::v5e.vmem) == 128 << 20 && sys::count_of(sys::v4.smem) == 1 << 20);
static_assert(sys::v4.hbm_to_vmem.cycles(1024) == 483.6 + 1.105);
static_assert(sys::bytes_of(element::bf16) == 2 && sys::packed_rows(element::bf16) == 16);

TEST_CASE("peaks follow from the parts of a chip", "[systolic]") {
  for (const sys::chip& c : sys::tpus) {
    CAPTURE(c.name);
    const auto agrees = [&](element e, const sys::fact& published) {
      if (published == 0) {
        CHECK(c.rows_per_cycle(e) == 0);
      } else {
        CHECK(std::abs(c.peak(e) / published - 1) < 0.01);
      }
    };
    agrees(element::bf16, c.peak_bf16);
    agrees(element::int8, c.peak_int8);
    agrees(element::fp8, c.peak_fp8);
    CHECK(c.peak_per_cycle(element::bf16) * c.cores * c.clock_ghz == Approx(c.peak(element::bf16) * 1e3));
    CHECK(c.microseconds(c.cycles_of(3)) == Approx(3));
  }
  CHECK(sys::toy8x8.peak(element::bf16) == Approx(0.128));
}

TEST_CASE("critical intensities are those of the roofline that is published", "[systolic]") {
  const double published[] = {224, 240, 166, 560, 312};  // v5p is of the larger of two published bandwidths
  for (std::size_t i = 0; i < sys::tpus.size(); ++i) {
    CAPTURE(sys::tpus[i].name);
    CHECK(std::abs(sys::tpus[i].critical_intensity(element::bf16) / published[i] - 1) < 0.13);
  }
  CHECK(sys::v5e.critical_intensity(element::bf16) == Approx(240).epsilon(0.01));
}

TEST_CASE("every number says where it comes from", "[systolic]") {
  CHECK(sys::v4.mxu_near.latency.from == sys::provenance::measured);
  CHECK(sys::v5e.step.from == sys::provenance::fitted);
  // What products of a TPU v5e fitted, other chips take over as a guess that names it.
  CHECK(sys::v5e.swap_bubble.from == sys::provenance::fitted);
  for (const sys::chip* c : {&sys::v4, &sys::v5p, &sys::v6e, &sys::tpu7x})
    for (const sys::fact& f : {c->swap_bubble, c->step, c->launch_us}) {
      CHECK(f.from == sys::provenance::guessed);
      CHECK(f.source.find("of a TPU v5e") != std::string_view::npos);
    }
  CHECK(sys::v4.swap_bubble == sys::v5e.swap_bubble);
  CHECK(sys::v4.launch_us == sys::v5e.launch_us);
  CHECK(sys::v6e.clock_ghz.from == sys::provenance::guessed);
  CHECK(sys::v6e.mxu_near.latency.from == sys::provenance::guessed);
  CHECK(sys::name_of(sys::v5p.hbm_gbps.from) == "published");
  CHECK(sys::v5p.hbm_gbps.source.find("2765") != std::string_view::npos);  // the other document disagrees
  CHECK_FALSE(sys::v6e.timing_is_validated);
  CHECK(sys::fact{}.from == sys::provenance::guessed);
}
