// tests/profile/report/tables.cpp: the tables of an analysis as text and as JSON.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/profile/report/to_json.hpp>
#include <tokamax/profile/report/to_text.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"
#include "support/recorded.hpp"

namespace {
using namespace tokamax::profile;
const roofline limits{1e9, 4e9, 1e9};

recording example() {
  recording all = recorded({{"main", "dot a", 0, 4'000'000, 2e6, 1e6},
                            {"main", "dot \"b\"\x1B[2J", 4'000'000, 6'000'000, 0, 1e6},
                            {"main", "#wait data", 6'000'000, 8'000'000},
                            {"main", "#step", 0, 10'000'000, 3}});
  all.tracks[0].dropped = 5;
  return all;
}
}  // namespace

TEST_CASE("tables are lines of text") {
  const recording all = example();
  CHECK(to_text(op_table(all, limits)) ==
        "   self ms  share   total ms    count   GFLOP/s    GB/s   roof bound by name\n"
        "     4.000  66.7%      4.000        1       0.5     0.2    50% compute  dot a\n"
        "     2.000  33.3%      2.000        1       0.0     0.5    50% memory   dot \"b\" [2J\n");
  CHECK(to_text(op_table(all, limits), 1).ends_with("dot a\nand 1 more rows\n"));
  CHECK(to_text(breakdown_of(all)) ==
        "   mean ms        +-     least      most  share  of 1 steps\n"
        "     6.000     0.000     6.000     6.000  60.0%  compute\n"
        "     2.000     0.000     2.000     2.000  20.0%  input\n"
        "     2.000     0.000     2.000     2.000  20.0%  idle\n"
        "    10.000     0.000    10.000    10.000 100.0%  step\n");
  CHECK(to_text(step_breakdown{}) == "no steps were recorded\n");
  CHECK(to_text(std::vector<suggestion>{}) == "no rule found anything to make faster\n");
  const std::string summary = summary_text(all, limits);
  CHECK_THAT(summary, contains("input-bound (0.2, threshold 0.1; up to 2.000 ms): 20.0 % of the time of steps"));
  CHECK_THAT(summary, contains("host ran programs for 60.0 % of 10.000 ms\n"));
  CHECK_THAT(summary, contains("MFU 20.0 %"));
  CHECK_THAT(summary, contains("main: 5 older records were dropped"));
  CHECK_THAT(to_text(compare(all, all, limits)), contains("too few steps for a verdict"));
  CHECK_THAT(to_text(compare(all, all, limits)), contains("     +0.0000     4.0000     4.0000  dot a\n"));
}

TEST_CASE("tables are JSON") {
  const recording all = example();
  CHECK(
      to_json(op_table(all, limits))
          .starts_with(
              R"([{"name": "dot a", "count": 1, "total": 4000000, "self": 4000000, "share": 0.6666666666666666, "cumulative": )"
              R"(0.6666666666666666, "flops": 2000000, "bfloat16_flops": 0, "bytes": 1000000, "flops_per_second": 500000000, )"
              R"("bytes_per_second": 250000000, "intensity": 2, "best": 2000000, "roof": 0.5, "bound_by": "compute"},)"));
  CHECK_THAT(to_json(op_table(all, limits)), contains(R"("dot \"b\"\u001b[2J")"));
  CHECK(to_json(std::vector<op_row>{}) == "[]");
  CHECK_THAT(
      to_json(breakdown_of(all), -5),
      contains(
          R"("steps": [{"number": 3, "begin": 5, "length": 10000000, "by": [6000000, 0, 0, 2000000, 0, 0, 2000000]}])"));
  CHECK_THAT(summary_json(all, limits),
             contains(R"("dropped": 5, "duty_cycles": {"host": 0.6}, "flops_utilization": 0.2, )"));
  CHECK_THAT(summary_json(all, limits),
             contains(R"("suggestions": [{"rule": "input-bound", "value": 0.2, "threshold": 0.1, )"));
  CHECK_THAT(to_json(compare(all, all, limits)), contains(R"({"verdict": "unknown", "text": ")"));
}
