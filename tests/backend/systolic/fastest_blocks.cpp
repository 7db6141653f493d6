// tests/backend/systolic/fastest_blocks.cpp: an op in the fastest of the blocks that fit, and less memory, bandwidth or ports.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/backend/systolic/fastest_blocks.hpp>

#include <tokamax/backend/systolic/chips.hpp>

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

namespace {

/// Reads and writes so many bytes, and does `work` registers of a function for each 4 KiB.
sys::timeline streamed(const sys::chip& c, double read, double written, double work, double most = 1e5) {
  return sys::fastest_stream(c, sys::count_of(c.megacore) ? 2 : 1, {read}, written, most,
                             [&](sys::program& p, double, double parts, sys::event_id ready) {
                               return p.vector("exp", work * (read + written) / 4096 / parts, {ready});
                             });
}

}  // namespace

TEST_CASE("an op runs in the number of steps that is the fastest", "[systolic]") {
  // One step reads, computes and writes one after the other. Many steps overlap, and each pays for itself.
  const double bytes = 480e3;
  const double one = streamed(sys::v5e, bytes, bytes, 1, 1).cycles, best = streamed(sys::v5e, bytes, bytes, 1).cycles;
  CHECK(best < 0.9 * one);
  for (const double most : {2.0, 3.0, 4.0, 8.0, 16.0, 64.0})
    CHECK(streamed(sys::v5e, bytes, bytes, 1, most).cycles >= best);
  CHECK(streamed(sys::v4, 0, 4, 1).cycles > 0);
  CHECK(streamed(sys::v4, 64e6, 64e6, 1).hbm_bytes == Approx(128e6));
  CHECK(streamed(sys::v4, 64e6, 64e6, 1).stalls.size() == 2);  // both cores
  CHECK(streamed(sys::v4, 1e3, 1e3, 1).stalls.size() == 1);
}

TEST_CASE("a product runs in the fastest of its blocks", "[systolic]") {
  for (const sys::chip& c : sys::tpus) {
    CAPTURE(c.name);
    const int cores = c.megacore ? 2 : 1;
    const sys::timeline t = sys::fastest_product(c, cores, {2048, 2048, 2048}, sys::element::bf16);
    CHECK(t.useful_macs == 2048.0 * 2048 * 2048);
    CHECK(t.cycles <= sys::simulate_matmul(c, {2048, 2048, 2048}, {.block = {512, 1024, 1024}, .cores = cores}).cycles);
    CHECK(sys::fastest_product(c, cores, {1, 1, 1}, sys::element::f32).cycles > 0);
  }
  CHECK_THROWS_WITH(sys::fastest_product(sys::tpu7x, 1, {8, 8, 8}, sys::element::int8), contains("without a rate"));
  sys::chip none = sys::v5e;
  none.vmem.value = 100;
  CHECK_THROWS_WITH(sys::fastest_product(none, 1, {64, 64, 64}, sys::element::bf16), contains("VMEM of core 0"));
}

TEST_CASE("no op ends earlier on a chip with less memory, bandwidth or ports", "[systolic]") {
  std::mt19937 random(5);
  const auto any = [&](double least, double most) {  // each order of magnitude is as likely
    return least * std::pow(most / least, static_cast<double>(random() % 1000) / 999);
  };
  int faster = 0, slower = 0;
  for (int i = 0; i < 3000; ++i) {
    const sys::chip c = sys::tpus[random() % 5];
    sys::chip less = c;
    // One of them, or several: VMEM down to a thirtieth, copies with less bandwidth or more latency, fewer at a time.
    const unsigned which = random() % 15 + 1;
    if (which & 1) less.vmem.value /= any(1, 30);
    if (which & 2) {
      const double times = any(1, 8);
      for (sys::fact* f : {&less.hbm_to_vmem.per_kib, &less.vmem_to_hbm.per_kib, &less.shared_per_kib})
        f->value *= times;
    }
    if (which & 4) less.hbm_to_vmem.fixed.value *= any(1, 8);
    if (which & 8) less.transfers.value = static_cast<double>(random() % 15 + 1);
    double before = 0, after = 0;
    if (i % 3 == 0) {
      const auto size = [&] { return static_cast<long long>(any(1, 3000)); };
      const sys::product_shape p{size(), size(), size()};
      before = sys::fastest_product(c, c.megacore ? 2 : 1, p, sys::element::bf16).cycles;
      after = sys::fastest_product(less, c.megacore ? 2 : 1, p, sys::element::bf16).cycles;
    } else {
      const double read = any(1, 3e7), written = any(1, 3e7), work = any(0.1, 10), most = any(1, 1e4);
      if (read + written > less.vmem / 4 * std::floor(most)) continue;  // even the smallest parts do not fit
      before = streamed(c, read, written, work, most).cycles;
      after = streamed(less, read, written, work, most).cycles;
    }
    if (after < before * (1 - 1e-9)) {
      ++faster;
      UNSCOPED_INFO("case " << i << " on " << c.name << ", " << which << ": " << before << " and then " << after);
    }
    if (after > before) ++slower;
  }
  CHECK(faster == 0);
  CHECK(slower > 500);
}
