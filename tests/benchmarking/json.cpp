// tests/benchmarking/json.cpp: measurements survive JSON, and texts that are something else are refused.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/benchmarking/json.hpp>

#include "support/catch.hpp"
#include "support/contains.hpp"

namespace tk = tokamax;

TEST_CASE("measurements are written as JSON and read back") {
  tk::benchmark_data d{.lower_time_ms = 1.5, .compile_time_ms = 2, .evaluation_times_ms = {3, 1, 2}};
  d.peak_memory_mb = 0.25;
  d.metadata.device = "cpu \"0\"\n";
  d.metadata.mode = "forward";
  d.metadata.program = "static";
  d.metadata.arena_bytes = std::int64_t{1} << 40;
  d.metadata.steps = {{"dot_general f32[2,2] f32[2,2]", 3, 0.5, 16, 48}};
  const auto json = tk::checkpoint::json_value::parse(tk::to_json(d, 2), "test");
  const auto text_of = [&](const char* field) { return tk::checkpoint::detail::brief(json[field]); };
  CHECK(text_of("median_evaluation_time_ms") == "2.0");
  CHECK(text_of("evaluation_times_ms") == "[3.0,1.0,2.0]");
  CHECK_THAT(text_of("metadata"), contains(R"("calls":3)"));

  const tk::benchmark_data again = tk::benchmark_data_from_json(tk::to_json(d));
  CHECK(again.evaluation_times_ms == d.evaluation_times_ms);
  CHECK(again.lower_time_ms == 1.5);
  CHECK(again.peak_memory_mb == 0.25);
  CHECK(again.metadata.device == d.metadata.device);
  CHECK(again.metadata.arena_bytes == d.metadata.arena_bytes);
  REQUIRE(again.metadata.steps.size() == 1);
  CHECK(again.metadata.steps[0].name == d.metadata.steps[0].name);
  CHECK(tk::to_json(again) == tk::to_json(d));
}

TEST_CASE("no measurements are JSON too, and other texts are refused") {
  const tk::benchmark_data none = tk::benchmark_data_from_json(tk::to_json({}));
  CHECK(none.evaluation_times_ms.empty());
  CHECK_THROWS_WITH(tk::benchmark_data_from_json("{", "times.json"), contains("times.json"));
  CHECK_THROWS_WITH(tk::benchmark_data_from_json("{}"), contains("no lower_time_ms"));
  CHECK_THROWS_WITH(tk::benchmark_data_from_json("[]"), contains("a record"));
}
