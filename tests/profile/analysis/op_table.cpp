// tests/profile/analysis/op_table.cpp: times and work of the steps of programs by what they did.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/analysis/op_table.hpp>

#include "support/catch.hpp"
#include "support/recorded.hpp"

namespace {
using namespace tokamax::profile;
const roofline limits{1e9, 4e9, 1e9};  // one operation and one byte a nanosecond, four of bfloat16

struct expected_row {
  std::string name;
  int count, total, self;
};
struct table_row {
  std::vector<recorded_row> records;
  group_by by;
  std::vector<expected_row> expected;
};
struct bound_row {
  double flops, narrow, bytes;
  std::string bound_by;
  double best, roof, intensity;
};
}  // namespace

TEST_CASE("steps are grouped, and their times are counted once") {
  const std::vector<recorded_row> run = {
      {"main", "dot a", 0, 40, 8, 4, "blocks[0]", "gpt.cpp:12"},
      {"main", "loop [4] mul", 40, 50, 2, 8, "blocks[0]", "gpt.cpp:13"},
      {"main", "dot b", 50, 80, 8, 4, "blocks[1]", "gpt.cpp:12"},
      {"worker", "loop [4] mul", 10, 40, 2, 8, "blocks[0]", "gpt.cpp:13"},
  };
  const std::vector<table_row> rows = {
      {{}, group_by::op, {}},
      {{{"main", "#step", 0, 10}, {"main", "#span f", 0, 5}}, group_by::op, {}},
      {run, group_by::op, {{"dot a", 1, 40, 40}, {"loop [4] mul", 2, 40, 40}, {"dot b", 1, 30, 30}}},
      {run, group_by::kind, {{"dot", 2, 70, 70}, {"loop", 2, 40, 40}}},
      {run, group_by::scope, {{"blocks[0]", 3, 80, 80}, {"blocks[1]", 1, 30, 30}}},
      {run, group_by::place, {{"gpt.cpp:12", 2, 70, 70}, {"gpt.cpp:13", 2, 40, 40}}},
      {run, group_by::track, {{"main", 3, 80, 80}, {"worker", 1, 30, 30}}},
      // a loop that contains steps has its own bookkeeping only
      {{{"main", "add", 10, 30}, {"main", "add", 30, 50}, {"main", "scan", 0, 60}},
       group_by::op,
       {{"add", 2, 40, 40}, {"scan", 1, 60, 20}}},
      // a group within itself counts once in the total
      {{{"main", "scan", 10, 50}, {"main", "scan", 0, 60}}, group_by::op, {{"scan", 2, 60, 60}}},
      {{{"main", "x a", 20, 30}, {"main", "y", 10, 50}, {"main", "x b", 0, 60}},
       group_by::kind,
       {{"x", 2, 60, 30}, {"y", 1, 40, 30}}},
      // a span within a step takes its time, a step within a span keeps it
      {{{"main", "#span f", 10, 30}, {"main", "add", 0, 60}}, group_by::op, {{"add", 1, 60, 40}}},
      {{{"main", "add", 10, 30}, {"main", "#span f", 0, 60}}, group_by::op, {{"add", 1, 20, 20}}},
      {{{"main", "add", 30, 10}}, group_by::op, {{"add", 1, 0, 0}}},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    const std::vector<op_row> table = op_table(recorded(rows[i].records), limits, rows[i].by);
    REQUIRE(table.size() == rows[i].expected.size());
    double share = 0;
    for (std::size_t k = 0; k < table.size(); ++k) {
      const expected_row& e = rows[i].expected[k];
      CHECK(table[k].name == e.name);
      CHECK(table[k].count == e.count);
      CHECK(table[k].total == e.total);
      CHECK(table[k].self == e.self);
      share += table[k].share;
      CHECK(table[k].cumulative == Approx(share));
    }
    if (!table.empty() && table[0].self > 0) CHECK(share == Approx(1));
  }
}

TEST_CASE("work is bound by the slower of arithmetic and memory") {
  const std::vector<bound_row> rows = {
      {0, 0, 0, "none", 0, 0, 0},
      {100, 0, 0, "compute", 100, 0.5, 0},
      {0, 0, 100, "memory", 100, 0.5, 0},
      {100, 0, 50, "compute", 100, 0.5, 2},
      {50, 0, 100, "memory", 100, 0.5, 0.5},
      {100, 0, 100, "compute", 100, 0.5, 1},  // on the ridge
      {99, 0, 100, "memory", 100, 0.5, 0.99},
      {0, 400, 50, "compute", 100, 0.5, 8},
      {0, 400, 150, "memory", 150, 0.75, 400.0 / 150},
      {50, 200, 0, "compute", 100, 0.5, 0},
      {200, 0, 0, "compute", 200, 1, 0},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    const bound_row& r = rows[i];
    const op_row o = op_table(recorded({{"main", "x", 0, 200, r.flops, r.bytes, "", "", r.narrow}}), limits).at(0);
    CHECK(o.bound_by == r.bound_by);
    CHECK(o.best == Approx(r.best));
    CHECK(o.roof == Approx(r.roof));
    CHECK(o.intensity() == Approx(r.intensity));
    CHECK(o.flops_per_second() == Approx((r.flops + r.narrow) / 200e-9));
    CHECK(o.bytes_per_second() == Approx(r.bytes / 200e-9));
  }
}

TEST_CASE("records that name no step, and steps without a line, are no obstacle") {
  recording all = recorded({{"main", "add", 0, 10, 1, 1, "", ""}});
  all.tracks[0].records.push_back({10, 20, 1, 99, 0});
  all.tracks[0].records.push_back({20, 30, 7, 0, 0});
  all.tracks[0].records.push_back({30, 40, 0, 5, 0});
  CHECK(op_table(all, limits).size() == 1);
  CHECK(op_table(all, limits, group_by::place).at(0).name.empty());
  CHECK(name_of(all, all.tracks[0].records[1]) == "?");
}
