// tokamax/serve/llm/request_times.hpp: when an answer was asked for, began and ended, and the times that are made of that.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
#pragma once

#include <tokamax/base/requirements.hpp>  // before all else

#include <cstdint>  // int64_t

namespace tokamax::serve {

/// The times of an answer, in seconds by the engine's clock. What has not happened is 0.
struct request_times {
  double arrived = 0;        ///< the request was added
  double scheduled = 0;      ///< its first tokens were taken in
  double first_token = 0;    ///< the first token was said
  double last_token = 0;     ///< and the last one so far
  std::int64_t tokens = 0;   ///< that were said
  std::int64_t outputs = 0;  ///< in so many outputs

  constexpr double queue_time() const { return scheduled - arrived; }
  constexpr double prefill_time() const { return first_token - scheduled; }
  constexpr double decode_time() const { return last_token - first_token; }
  constexpr double time_to_first_token() const { return first_token - arrived; }
  constexpr double end_to_end() const { return last_token - arrived; }
  /// Seconds a token behind the first, TPOT: 0 if there is no other.
  constexpr double time_per_output_token() const {
    return tokens > 1 ? decode_time() / static_cast<double>(tokens - 1) : 0;
  }
  /// Seconds from one output to the next, ITL, in the mean.
  constexpr double inter_token_latency() const {
    return outputs > 1 ? decode_time() / static_cast<double>(outputs - 1) : 0;
  }
};

}  // namespace tokamax::serve
