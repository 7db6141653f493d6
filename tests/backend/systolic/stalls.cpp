// tests/backend/systolic/stalls.cpp: what happens at the same time is counted once.
#include <tokamax/backend/systolic/stalls.hpp>

#include "support/catch.hpp"

namespace sys = tokamax::systolic_backend;

TEST_CASE("the first activity counts", "[systolic]") {
  using namespace sys::detail;
  std::vector<edge> edges{{0, reads, 1},    {10, reads, -1}, {4, arrays, 1},
                          {12, arrays, -1}, {6, vectors, 1}, {14, vectors, -1}};
  const auto sums = first_activities(edges, 20);
  CHECK(sums[reads] == 4);
  CHECK(sums[arrays] == 8);
  CHECK(sums[vectors] == 2);
  CHECK(sums[activities] == 6);  // nothing
}

TEST_CASE("products that overlap lose their own losses", "[systolic]") {
  sys::stall_cycles s;
  const sys::product_cycles sum{.useful = 20, .padding = 4, .fill = 8};
  sys::detail::divide_products(s, sum, 26);
  CHECK(s[sys::bucket::useful] == 20);
  CHECK(s[sys::bucket::padding] == 2);
  CHECK(s[sys::bucket::fill] == 4);
  CHECK(s.total() == 26);
  CHECK(s.worst() == sys::bucket::fill);
  CHECK(sys::name_of(sys::bucket::idle) == "idle");
}
