// tests/profile/analysis/suggestions.cpp: every rule on both sides of its threshold, and planted problems.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/analysis/suggestions.hpp>

#include <functional>

#include "support/catch.hpp"
#include "support/recorded.hpp"

namespace {
using namespace tokamax::profile;
using rows_of = std::vector<recorded_row>;
const roofline limits{1e9, 4e9, 1e9};  // one operation and one byte a nanosecond, four of bfloat16

std::vector<std::string> rules_of(const rows_of& rows, const roofline& machine = limits) {
  std::vector<std::string> names;
  for (const suggestion& s : suggestions(recorded(rows), machine)) names.push_back(s.rule);
  return names;
}

/// `count` steps of a millisecond, a product of which takes 0.6 of what is possible, with something in step i.
rows_of steps(int count, const std::function<void(rows_of&, int, std::int64_t)>& add = {},
              std::int64_t step = 1'000'000) {
  rows_of rows;
  for (int i = 0; i < count; ++i) {
    const std::int64_t begin = i * 4 * step;
    if (add) add(rows, i, begin);
    rows.push_back({"main", "dot f32[8]", begin + step / 2, begin + step / 2 + 400'000, 0, 0, "", "", 9.6e5});
    rows.push_back({"main", "#step", begin, begin + step, double(i)});
  }
  return rows;
}
const auto taken_by = [](std::string name, std::int64_t time) {
  return [=](rows_of& rows, int, std::int64_t begin) { rows.push_back({"main", name, begin, begin + time}); };
};
const auto loop_of = [](std::string name, std::int64_t time, double bytes) {
  return [=](rows_of& rows, int, std::int64_t begin) { rows.push_back({"main", name, begin, begin + time, 1, bytes}); };
};
}  // namespace

TEST_CASE("rules speak above their thresholds only") {
  using names = std::vector<std::string>;
  struct row {
    const char* about;
    rows_of records;
    names expected;
  };
  const auto compiling = [](int in) {
    return [in](rows_of& rows, int i, std::int64_t begin) {
      if (i < in + 2) rows.push_back({"main", "#compile f", begin, begin + 50'000});
    };
  };
  const auto longer = [](double factor) {
    rows_of rows = steps(20);
    const auto extra = static_cast<std::int64_t>((factor - 1) * 1e6);
    for (recorded_row& r : rows)
      if (r.name == "#step" && r.flops == 13) r.end += extra;
    return rows;
  };
  const auto chain = [](std::int64_t time) {
    return [=](rows_of& rows, int, std::int64_t b) {
      rows.push_back({"main", "loop [8] mul", b, b + 60'000, 1, 1});
      rows.push_back({"main", "loop [8] add", b + 60'000, b + 60'000 + time, 1, 1});
    };
  };
  const auto tiny = [](int count, std::int64_t each, double flops) {
    return [=](rows_of& rows, int, std::int64_t b) {
      for (int k = 0; k < count; ++k)
        rows.push_back({"main", "reduce_sum f32[2]", b + k * each, b + (k + 1) * each, flops, 0});
    };
  };
  const auto wide = [](std::int64_t time, double bytes) {
    return [=](rows_of& rows, int, std::int64_t b) {
      rows.push_back({"main", "dot_general f32[8,8] f32[8,8]", b, b + time, double(time), bytes});
    };
  };
  const auto uneven = [](std::int64_t more) {
    return [=](rows_of& rows, int, std::int64_t b) {
      rows.push_back({"worker", "dot f32[8]", b, b + 400'000 + more, 0, 0, "", "", 9.6e5});
    };
  };
  const auto memory = [](int flat) {  // it does not rise in every step whose number `flat` divides
    return [flat, bytes = 1e6](rows_of& rows, int i, std::int64_t b) mutable {
      rows.push_back({"main", "#counter memory.arrays", b + 500'000, b + 500'000, bytes += i % flat ? 1e6 : 0});
    };
  };
  const std::vector<row> rows = {
      {"nothing", {}, {}},
      {"a healthy program", steps(20), {}},
      {"input 10 %", steps(20, taken_by("#wait data", 100'000)), {}},
      {"input 10.1 %", steps(20, taken_by("#wait data", 101'000)), {"input-bound"}},
      {"transfers 10 %", steps(20, taken_by("transfer x", 100'000)), {}},
      {"transfers 10.1 %", steps(20, taken_by("transfer x", 101'000)), {"transfers"}},
      {"waits 10 %", steps(20, taken_by("#wait checkpoint", 100'000)), {}},
      {"waits 10.1 %", steps(20, taken_by("#wait checkpoint", 101'000)), {"host wait"}},
      {"host 30 %", steps(20, taken_by("#span log", 300'000)), {}},
      {"host 30.1 %", steps(20, taken_by("#span log", 301'000)), {"host work"}},
      {"the first two steps compile", steps(22, compiling(0)), {}},
      {"2 of 20 later steps compile", steps(22, compiling(2)), {}},
      {"3 of 20 later steps compile", steps(22, compiling(3)), {"retracing"}},
      {"two steps that compile", steps(2, compiling(2)), {}},
      {"a step twice as long", longer(2), {}},
      {"a step 2.01 times as long", longer(2.01), {"slow step"}},
      {"threads: 40 % more than the other is 16.7 % more than the mean", steps(20, uneven(160'000)), {}},
      {"threads: 60 % more than the other is 23 % more than the mean", steps(20, uneven(240'000)), {"imbalance"}},
      {"threads that take turns",
       steps(20, [](rows_of& to, int,
                    std::int64_t b) { to.push_back({"worker", "dot f32[8]", b, b + 100'000, 0, 0, "", "", 9.6e5}); }),
       {}},
      {"a loop behind another 10 %", steps(20, chain(100'000)), {}},
      {"a loop behind another 10.1 %", steps(20, chain(101'000)), {"unfused"}},
      {"loops at the limit of the memory 20 %", steps(20, loop_of("loop [8] mul", 200'000, 190'000)), {}},
      {"loops at the limit of the memory 20.1 %",
       steps(20, loop_of("loop [8] mul", 201'000, 190'000)),
       {"memory-bound loop"}},
      {"loops at 69 % of the memory", steps(20, loop_of("loop [8] mul", 300'000, 207'000)), {}},
      {"loops at 71 % of the memory", steps(20, loop_of("loop [8] mul", 300'000, 213'000)), {"memory-bound loop"}},
      {"no loop, but at the limit of the memory", steps(20, loop_of("gather f32[8]", 300'000, 290'000)), {}},
      {"f32 products that bf16 would make 9.9 % shorter", steps(20, wide(132'000, 0)), {}},
      {"f32 products that bf16 would make 10.1 % shorter", steps(20, wide(135'000, 0)), {"f32 product"}},
      {"f32 products bound by memory", steps(20, wide(300'000, 300'000)), {}},
      {"memory that rises in 18 of 20 steps", steps(23, memory(9)), {}},
      {"memory that rises in 19 of 20 steps", steps(23, memory(15)), {"growing memory"}},
      {"memory that rises in 10 steps", steps(10, memory(99)), {}},
      {"memory that rises in 11 steps", steps(11, memory(99)), {"growing memory"}},
      {"tiny steps 20 %", steps(20, tiny(40, 5'000, 0)), {}},
      {"tiny steps 20.5 %", steps(20, tiny(41, 5'000, 0)), {"many tiny steps"}},
      {"steps of 10 us are not tiny", steps(20, tiny(30, 10'000, 0)), {}},
      {"tiny steps at the limit of the machine", steps(20, tiny(60, 5'000, 4'500)), {}},
  };
  for (const row& r : rows) {
    CAPTURE(r.about);
    CHECK(rules_of(r.records) == r.expected);
  }
  const roofline even{1e9, 1e9, 1e9};  // bf16 is not faster
  CHECK(rules_of(steps(20, wide(300'000, 0)), even).empty());
}

TEST_CASE("the greatest saving is named first, with numbers and a cure") {
  const rows_of both = steps(20, [](rows_of& rows, int, std::int64_t b) {
    rows.push_back({"main", "#wait data.prefetch", b, b + 110'000});
    rows.push_back({"main", "#wait checkpoint.save", b + 110'000, b + 410'000});
  });
  const recording all = recorded(both);
  const std::vector<suggestion> s = suggestions(all, limits);
  REQUIRE(s.size() == 2);
  CHECK(s[0].rule == "host wait");
  CHECK(s[0].value == Approx(0.3));
  CHECK(s[0].threshold == 0.1);
  CHECK(s[0].saving == 20 * 300'000);
  CHECK(s[0].text == "30.0 % of the time of steps is spent on waiting for checkpoints, threads or devices.");
  CHECK(!s[0].cure.empty());
  CHECK(s[1].rule == "input-bound");
  CHECK(s[1].ops == std::vector<std::string>{"data.prefetch"});
}

TEST_CASE("one slow step in 50, and steps that are slow for a known reason") {
  rows_of rows = steps(50, [](rows_of& r, int i, std::int64_t b) {
    if (i == 0) r.push_back({"main", "#compile f", b, b + 400'000});
  });
  for (recorded_row& r : rows)
    if (r.name == "#step" && r.flops == 31) r.end += 2'500'000;
  const recording all = recorded(rows);
  const std::vector<suggestion> s = suggestions(all, limits);
  REQUIRE(s.size() == 1);
  CHECK(s[0].rule == "slow step");
  CHECK(s[0].text == "Step 31 takes 3.500 ms, 3.5 times as long as the middle one.");
  CHECK(s[0].saving == 2'500'000);
}
