// tests/backend/systolic/product_cost.cpp: products on the arrays of chips, against the array that does the work and v4's counter.
#include <tokamax/backend/systolic/product_cost.hpp>

#include <tokamax/backend/systolic/chips.hpp>
#include <tokamax/backend/systolic/mxu.hpp>

#include <random>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("on one array without other costs a product takes the array's cycles", "[systolic]") {
  int wrong = 0;
  for (long long m = 1; m < 40; ++m)
    for (long long k = 1; k < 30; ++k)
      for (long long n = 1; n < 30; n += 3)
        if (sys::product_cost(sys::toy8x8, {m, k, n}).total() !=
            static_cast<double>(sys::pipelined_cycles({8, 8}, {m, k, n}).total()))
          ++wrong;
  CHECK(wrong == 0);
}

TEST_CASE("products of a TPU v4 are within a cycle of its counter", "[systolic]") {
  // bf16[m, 128] x [128, 128] in VMEM; the two readings of the counter take 13 cycles. The first row fitted product_edge.
  const double measured[][2] = {{16, 176}, {128, 211}, {1024, 435}};
  for (const auto& [m, cycles] : measured) {
    CAPTURE(m);
    CHECK(std::abs(13 + sys::product_cost(sys::v4, {static_cast<long long>(m), 128, 128}).total() - cycles) <= 1);
  }
}

TEST_CASE("the parts of a product's cycles", "[systolic]") {
  const auto whole = sys::product_cost(sys::v4, {512, 1024, 1024});
  CHECK(whole.useful == 16 * 512);
  CHECK(whole.padding == 0);
  CHECK(whole.swap == 15 * 19);
  CHECK(whole.weights == 0);
  CHECK(whole.fill == 64 + 8 + 101 - 8);
  const auto few_rows = sys::product_cost(sys::v4, {16, 1024, 1024});
  CHECK(few_rows.weights == 15 * 48);
  CHECK(sys::product_cost(sys::v4, {1, 128, 128}).padding == Approx(16 - 1.0 / 4));
  // Without accumulators the vector unit adds all tiles of K: with few columns of weights and all arrays on one row block.
  CHECK(sys::product_cost(sys::v4, {1024, 1024, 128}).accumulate == 0);
  sys::chip slow = sys::v4;
  slow.vector_f32.interval.value = 8;
  CHECK(sys::product_cost(slow, {1024, 1024, 128}).accumulate > 0);
  CHECK(sys::product_cost(sys::v5e, {512, 512, 512}, sys::element::int8).useful ==
        sys::product_cost(sys::v5e, {512, 512, 512}).useful / 2);
}

TEST_CASE("cycles never fall when an array becomes slower", "[systolic]") {
  std::mt19937 random(3);
  int wrong = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto size = [&] { return static_cast<long long>(random() % 1500 + 1); };
    const sys::product_shape p{size(), size(), size()};
    sys::chip c = sys::tpus[random() % 5], slower = c;
    sys::fact* parts[] = {&slower.swap_bubble,     &slower.weight_push,  &slower.mxu_near.latency,
                          &slower.mxu_far.latency, &slower.product_edge, &slower.vector_f32.interval};
    parts[random() % 6]->value *= 1 + static_cast<double>(random() % 100) / 20;
    if (random() % 3 == 0) slower.mxus.value = 1;
    if (sys::product_cost(slower, p).total() + 1e-9 < sys::product_cost(c, p).total()) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("types that a chip does not multiply, and empty products, are rejected", "[systolic]") {
  CHECK_THROWS_WITH(sys::product_cost(sys::tpu7x, {8, 8, 8}, sys::element::int8), contains("tpu7x without a rate"));
  CHECK_THROWS_WITH(sys::product_cost(sys::v4, {0, 8, 8}), contains("found 0 x 8 x 8"));
}
