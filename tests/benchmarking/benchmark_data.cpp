// tests/benchmarking/benchmark_data.cpp: the statistics of measurements, and the same as text.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/benchmark_data.hpp>

#include <cmath>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;

TEST_CASE("medians and quartiles are NumPy's") {
  tk::benchmark_data d;
  d.evaluation_times_ms = {4, 1, 3, 2};
  CHECK(d.median_evaluation_time_ms() == 2.5);
  const tk::time_spread s = d.spread();
  CHECK(s.min == 1);
  CHECK(s.lower_quartile == 1.75);
  CHECK(s.upper_quartile == 3.25);
  CHECK(s.max == 4);
  CHECK(d.evaluation_times_ms.front() == 4);  // they keep their order
  d.evaluation_times_ms = {7};
  CHECK(d.spread().lower_quartile == 7);
  CHECK(d.spread().max == 7);
  CHECK(std::isnan(tk::benchmark_data{}.median_evaluation_time_ms()));
}

TEST_CASE("equal steps of a recording are added up, the longest first, without those that contain others") {
  const std::vector<tk::benchmark_step> steps =
      tk::steps_of({{.name = "a", .duration = 1000000, .flops = 2, .bytes = 8},
                    {.name = "scan", .duration = 9000000, .outer = true},
                    {.name = "b", .duration = 5000000, .flops = 1, .bfloat16_flops = 3, .bytes = 4},
                    {.name = "a", .duration = 2000000, .flops = 2, .bytes = 8}});
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].name == "b");
  CHECK(steps[0].flops == 4);
  CHECK(steps[1].name == "a");
  CHECK(steps[1].calls == 2);
  CHECK(steps[1].time_ms == Approx(3));
  CHECK(steps[1].bytes == 16);
  CHECK(tk::steps_of({}).empty());
}

TEST_CASE("measurements as text") {
  tk::benchmark_data d{
      .lower_time_ms = 1, .compile_time_ms = 2, .evaluation_times_ms = {1, 2, 4}, .peak_memory_mb = 0.5};
  d.metadata.device = "cpu";
  d.metadata.mode = "vjp";
  d.metadata.program = "traced";
  d.metadata.steps = {{"tanh", 2, 3.0, 6e6, 3e6}, {"add", 1, 1.0, 0, 0}};
  const std::string text = tk::to_text(d);
  CHECK_THAT(text, contains("vjp of a traced program on cpu: median 2.0000 ms of 3 runs"));
  CHECK_THAT(text, contains("spread: 1.0000 to 4.0000 ms, quartiles 1.5000 and 3.0000 ms"));
  CHECK_THAT(text, contains("peak memory 0.500 MB"));
  CHECK_THAT(text, contains("   3.0000  75.0%      2       2.0     1.0  tanh"));
  CHECK_THAT(tk::to_text(d, 1), contains("and 1 more"));
  CHECK_THAT(tk::to_text(tk::benchmark_data{}), contains("median nan ms of 0 runs"));
}
