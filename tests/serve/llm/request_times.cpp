// tests/serve/llm/request_times.cpp: times of tokens are those of vLLM's benchmark.
// SPDX-License-Identifier: Apache-2.0
#include <tokamax/serve/llm/request_times.hpp>

#include "support/catch.hpp"

using tokamax::serve::request_times;

TEST_CASE(
    "180 ms, the first token after 100 and four more in two outputs: 40 ms from output to output, 20 ms a token") {
  constexpr request_times t{
      .arrived = 5, .scheduled = 5.03, .first_token = 5.1, .last_token = 5.18, .tokens = 5, .outputs = 3};
  CHECK(t.end_to_end() == Approx(0.18));
  CHECK(t.time_to_first_token() == Approx(0.1));
  CHECK(t.inter_token_latency() == Approx(0.04));
  CHECK(t.time_per_output_token() == Approx(0.02));
  CHECK(t.queue_time() == Approx(0.03));
  CHECK(t.prefill_time() == Approx(0.07));
  CHECK(t.decode_time() == Approx(0.08));
}

TEST_CASE("one token has no time from token to token") {
  constexpr request_times t{.arrived = 1, .scheduled = 1, .first_token = 2, .last_token = 2, .tokens = 1, .outputs = 1};
  CHECK(t.inter_token_latency() == 0);
  CHECK(t.time_per_output_token() == 0);
  CHECK(request_times{}.time_per_output_token() == 0);
}
