// tests/profile/analysis/step_breakdown.cpp: what steps are spent on, across threads, devices and hosts.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/analysis/device_time.hpp>
#include <tokamax/profile/analysis/input_verdict.hpp>
#include <tokamax/profile/analysis/merged.hpp>
#include <tokamax/profile/analysis/step_breakdown.hpp>

#include "support/catch.hpp"
#include "support/recorded.hpp"

namespace {
using namespace tokamax::profile;
using rows_of = std::vector<recorded_row>;

struct expected_step {
  double number;
  std::int64_t length;
  std::array<std::int64_t, activities> by;  // compute, transfer, compile, input, wait, host, idle
};
struct breakdown_row {
  rows_of records;
  bool marked;
  std::vector<expected_step> steps;
};
}  // namespace

TEST_CASE("every nanosecond of a step has one activity") {
  const std::vector<breakdown_row> rows = {
      {{}, false, {}},
      {{{"main", "#step", 0, 100, 7}}, true, {{7, 100, {0, 0, 0, 0, 0, 0, 100}}}},
      // without marks the whole recording is one step
      {{{"main", "dot", 10, 40}, {"main", "add", 60, 70}}, false, {{0, 60, {40, 0, 0, 0, 0, 0, 20}}}},
      {{{"main", "#wait data", 0, 40}, {"main", "add", 40, 70}}, false, {{0, 70, {30, 0, 0, 40, 0, 0, 0}}}},
      // one of each
      {{{"main", "dot", 0, 10},
        {"main", "transfer in", 10, 30},
        {"main", "#compile f", 30, 60},
        {"main", "#wait data.prefetch", 60, 100},
        {"main", "#wait checkpoint.save", 100, 150},
        {"main", "#span log", 150, 210},
        {"main", "#step", 0, 280, 1}},
       true,
       {{1, 280, {10, 20, 30, 40, 50, 60, 70}}}},
      // the first activity counts where several happen: on one thread and on several tracks
      {{{"main", "dot", 10, 20}, {"main", "#span f", 0, 50}, {"main", "#step", 0, 60, 1}},
       true,
       {{1, 60, {10, 0, 0, 0, 0, 40, 10}}}},
      {{{"main", "#wait device", 0, 60}, {"main", "#step", 0, 60, 1}, {"gpu:0", "dot", 20, 50}},
       true,
       {{1, 60, {30, 0, 0, 0, 30, 0, 0}}}},
      {{{"main", "#step", 0, 60, 1}, {"gpu:0", "dot", 20, 50}, {"gpu:0 copies", "Memcpy H2D", 10, 30}},
       true,
       {{1, 60, {30, 10, 0, 0, 0, 0, 20}}}},
      // two streams that overlap count once
      {{{"main", "#step", 0, 60, 1}, {"gpu:0 a", "dot", 10, 40}, {"gpu:0 b", "add", 30, 50}},
       true,
       {{1, 60, {40, 0, 0, 0, 0, 0, 20}}}},
      // a thread that reads ahead waits for itself, and computes for all
      {{{"main", "#step", 0, 60, 1}, {"reader", "#wait data.read", 0, 60}, {"reader", "#span decode", 0, 60}},
       true,
       {{1, 60, {0, 0, 0, 0, 0, 0, 60}}}},
      {{{"main", "#step", 0, 60, 1}, {"worker", "dot", 0, 30}}, true, {{1, 60, {30, 0, 0, 0, 0, 0, 30}}}},
      // work that crosses the border of two steps
      {{{"main", "#step", 0, 50, 1}, {"main", "#step", 50, 100, 2}, {"gpu:0", "dot", 30, 80}},
       true,
       {{1, 50, {20, 0, 0, 0, 0, 0, 30}}, {2, 50, {30, 0, 0, 0, 0, 0, 20}}}},
      // work between steps and outside of them belongs to none
      {{{"main", "dot", 0, 10}, {"main", "#step", 20, 50, 1}, {"main", "dot", 60, 70}, {"main", "#step", 80, 90, 2}},
       true,
       {{1, 30, {0, 0, 0, 0, 0, 0, 30}}, {2, 10, {0, 0, 0, 0, 0, 0, 10}}}},
      // steps in the order of their numbers
      {{{"main", "#step", 50, 70, 1}, {"main", "#step", 0, 10, 9}},
       true,
       {{1, 20, {0, 0, 0, 0, 0, 0, 20}}, {9, 10, {0, 0, 0, 0, 0, 0, 10}}}},
      // one step of two threads, from the first begin to the last end
      {{{"a", "#step", 0, 50, 1}, {"b", "#step", 10, 70, 1}, {"a", "dot", 0, 40}, {"b", "#wait data", 40, 50}},
       true,
       {{1, 70, {40, 0, 0, 10, 0, 0, 20}}}},
      {{{"a", "#step", 0, 50, 1}, {"b", "#step", 10, 70, 2}, {"a", "dot", 0, 20}},
       true,
       {{1, 50, {20, 0, 0, 0, 0, 0, 30}}, {2, 60, {10, 0, 0, 0, 0, 0, 50}}}},
      // a clock that steps back
      {{{"main", "#step", 50, 10, 1}}, true, {{1, 0, {}}}},
      {{{"main", "dot", 50, 10}, {"main", "#step", 0, 60, 1}}, true, {{1, 60, {0, 0, 0, 0, 0, 0, 60}}}},
      // counters are no activity
      {{{"main", "#counter loss", 5, 50, 2.5}, {"main", "#step", 0, 60, 1}}, true, {{1, 60, {0, 0, 0, 0, 0, 0, 60}}}},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(i);
    const step_breakdown b = breakdown_of(recorded(rows[i].records));
    CHECK(b.marked == rows[i].marked);
    REQUIRE(b.steps.size() == rows[i].steps.size());
    for (std::size_t k = 0; k < b.steps.size(); ++k) {
      CHECK(b.steps[k].number == rows[i].steps[k].number);
      CHECK(b.steps[k].length() == rows[i].steps[k].length);
      CHECK(b.steps[k].by == rows[i].steps[k].by);
    }
  }
}

TEST_CASE("the steps of a run have a mean and a spread, and shares that add up") {
  rows_of rows;
  for (int i = 0; i < 5; ++i) {
    rows.push_back({"main", "dot", 100 * i, 100 * i + 10 * (i + 1)});
    rows.push_back({"main", "#step", 100 * i, 100 * i + 90, double(i)});
  }
  const step_breakdown b = breakdown_of(recorded(rows));
  CHECK(b.total() == 450);
  CHECK(b.total(activity::compute) == 150);
  CHECK(b.share(activity::compute) == Approx(1.0 / 3));
  CHECK(b.lengths().mean == Approx(90));
  CHECK(b.lengths().deviation == 0);
  CHECK(b.times(activity::compute).median == 30);
  CHECK(b.times(activity::compute).deviation == Approx(std::sqrt(250)));
  CHECK(step_breakdown{}.share(activity::compute) == 0);
}

TEST_CASE("input is judged by the part of steps that it takes") {
  struct row {
    int wait;  // of 1000
    input_bound bound;
  };
  for (const row& r : std::vector<row>{{0, input_bound::no},
                                       {49, input_bound::no},
                                       {50, input_bound::moderately},
                                       {199, input_bound::moderately},
                                       {200, input_bound::highly},
                                       {1000, input_bound::highly}}) {
    const recording all = recorded({{"main", "#wait data.prefetch", 0, r.wait}, {"main", "#step", 0, 1000, 1}});
    CHECK(input_verdict_of(all, breakdown_of(all)).bound == r.bound);
  }
  const recording all = recorded({{"main", "#wait data.prefetch", 0, 300},
                                  {"main", "#step", 0, 1000, 1},
                                  {"reader", "#wait data.read", 10, 280},
                                  {"reader", "#wait data.batch", 0, 290}});
  const input_verdict v = input_verdict_of(all, breakdown_of(all));
  using stage = std::pair<std::string, std::int64_t>;
  CHECK(v.stages == std::vector<stage>{{"data.prefetch", 300}, {"data.read", 270}, {"data.batch", 20}});
  CHECK(v.text ==
        "The program is highly bound by its input: 30.0 % of the time of steps is spent on waiting for data. The "
        "longest waits "
        "are those of data.prefetch.");
}

TEST_CASE("devices work for the union of their streams") {
  const recording all = recorded({{"main", "#step", 0, 1000, 1},
                                  {"main", "add", 0, 100},
                                  {"gpu:0", "dot", 100, 400, 3e5},
                                  {"gpu:1", "dot", 300, 900, 3e5},
                                  {"worker", "add", 50, 150}});
  CHECK(length(busy(all)) == 900);
  CHECK(length(busy(all, [](const track& t) { return t.device; })) == 800);
  CHECK(duty_cycles(all) == std::map<std::string, double>{{"gpu:0", 0.3}, {"gpu:1", 0.6}, {"host", 0.15}});
  CHECK(duty_cycles({}).empty());
  CHECK(flops_utilization(all_work(all), {1e12, 4e12, 1e9}, 1000) == Approx(0.6));
  CHECK(flops_utilization(all_work(all), {1e12, 4e12, 1e9}, 0) == 0);
}

TEST_CASE("recordings of several hosts become one, by one clock") {
  const recording a = recorded({{"main", "dot", 0, 40}, {"main", "#step", 0, 50, 1}, {"main", "#step", 50, 90, 2}});
  const recording b =
      recorded({{"main", "add", 1010, 1030}, {"main", "#span f", 1030, 1040}, {"main", "#step", 1000, 1060, 1}});
  const std::vector<host_recording> hosts{{"one", a, 0}, {"two", b, 1000}};
  const recording all = merged(hosts);
  CHECK(all.begin == 0);
  CHECK(all.end == 90);
  REQUIRE(all.tracks.size() == 2);
  CHECK(all.tracks[0].name == "one/main");
  CHECK(all.tracks[1].name == "two/main");
  CHECK(name_of(all, all.tracks[0].records[0]) == "dot");
  CHECK(name_of(all, all.tracks[1].records[0]) == "add");
  CHECK(name_of(all, all.tracks[1].records[1]) == "f");
  const step_breakdown steps = breakdown_of(all);
  REQUIRE(steps.steps.size() == 2);
  CHECK(steps.steps[0].length() == 60);
  CHECK(steps.steps[0].by == std::array<std::int64_t, activities>{40, 0, 0, 0, 0, 0, 20});
  CHECK(merged({}).tracks.empty());
  recording broken = a;
  broken.tracks[0].records.push_back({0, 1, 9, 9, 0});
  const std::vector<host_recording> one{{"one", broken, 0}};
  CHECK(merged(one).tracks[0].records.size() == 3);
}
