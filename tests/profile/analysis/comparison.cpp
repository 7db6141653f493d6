// tests/profile/analysis/comparison.cpp: two recordings differ by more than noise, or do not.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/analysis/comparison.hpp>

#include "support/catch.hpp"
#include "support/recorded.hpp"

namespace {
using namespace tokamax::profile;
const roofline limits{1e9, 4e9, 1e9};

recording steps_of(const std::vector<int>& microseconds) {
  std::vector<recorded_row> rows;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < microseconds.size(); ++i) {
    const std::int64_t end = begin + 1000 * microseconds[i];
    rows.push_back({"main", "dot", begin, begin + (end - begin) / 2});
    rows.push_back({"main", "#step", begin, end, double(i)});
    begin = end;
  }
  return recorded(rows);
}
}  // namespace

TEST_CASE("a difference counts beyond noise and 1 %") {
  struct row {
    std::vector<int> before, after;
    change verdict;
  };
  const std::vector<row> rows = {
      {{}, {}, change::unknown},
      {{100, 100}, {50, 50}, change::unknown},
      {{100, 100, 100}, {100, 100, 100}, change::none},
      {{1000, 1000, 1000}, {1009, 1009, 1009}, change::none},
      {{1000, 1000, 1000}, {1011, 1011, 1011}, change::slower},
      {{1000, 1000, 1000}, {989, 989, 989}, change::faster},
      {{100, 110, 90, 105, 95}, {102, 112, 92, 107, 97}, change::none},
      {{100, 110, 90, 105, 95}, {150, 160, 140, 155, 145}, change::slower},
      {{150, 160, 140, 155, 145}, {100, 110, 90, 105, 95}, change::faster},
      {{100, 100, 100, 100, 900}, {100, 100, 100, 100, 100}, change::none},  // an outlier is not a difference
      {{100, 100, 100, 100, 900}, {50, 50, 50, 50, 800}, change::faster},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    const comparison c = compare(steps_of(rows[i].before), steps_of(rows[i].after), limits);
    CHECK(c.verdict == rows[i].verdict);
    CHECK(compare(steps_of(rows[i].after), steps_of(rows[i].before), limits).verdict ==
          (c.verdict == change::faster   ? change::slower
           : c.verdict == change::slower ? change::faster
                                         : c.verdict));
  }
  const comparison c = compare(steps_of({200, 200, 200}), steps_of({100, 100, 100}), limits);
  CHECK(c.ratio == Approx(0.5));
  CHECK(c.text == "0.200 ms a step before, 0.100 ms after: 50.0 % faster (3 standard errors are 0.000 ms)");
}

TEST_CASE("ops are compared by their time in a step, those of one recording too") {
  const recording before = recorded({{"main", "a", 0, 100}, {"main", "b", 100, 150}, {"main", "#step", 0, 200, 1}});
  const recording after = recorded({{"main", "a", 0, 90},
                                    {"main", "#step", 0, 100, 1},
                                    {"main", "a", 200, 290},
                                    {"main", "c", 290, 490},
                                    {"main", "#step", 200, 500, 2}});
  const comparison c = compare(before, after, limits);
  REQUIRE(c.ops.size() == 3);
  CHECK(c.ops[0].name == "c");
  CHECK(c.ops[0].before == 0);
  CHECK(c.ops[0].after == 100);
  CHECK(c.ops[0].count_after == 0.5);
  CHECK(c.ops[1].name == "b");
  CHECK(c.ops[1].before == 50);
  CHECK(c.ops[2].before == 100);
  CHECK(c.ops[2].after == 90);
  CHECK(compare(before, after, limits, group_by::kind).ops.size() == 3);
}
