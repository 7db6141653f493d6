// tokamax/serve/llm/engine_stats.hpp: what an engine does now, and what it has done.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// tested by tests/serve/llm/engine.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // before all else

#include <array>    // array
#include <cstdint>  // int64_t

namespace tokamax::serve {

struct engine_stats {
  std::int64_t running = 0, waiting = 0;     ///< answers
  std::int64_t blocks = 0, used_blocks = 0;  ///< of the cache; those that only wait to be found again are not used
  std::int64_t prefix_queries = 0;     ///< tokens of answers that were begun, for which the prefix cache was asked
  std::int64_t prefix_hits = 0;        ///< of these, tokens that were found
  std::int64_t preemptions = 0;        ///< answers that gave their blocks back, to be computed again
  std::int64_t recomputed_tokens = 0;  ///< tokens that were lost by that
  std::int64_t prompt_tokens = 0, generation_tokens = 0;  ///< of requests that were begun, and of answers
  std::array<std::int64_t, 5> finished = {};              ///< answers by finish_reason
  std::int64_t steps = 0, failed_steps = 0;
  double step_seconds = 0, model_seconds = 0;  ///< of all steps, and of the model in them

  constexpr double cache_usage() const {
    return blocks == 0 ? 0 : static_cast<double>(used_blocks) / static_cast<double>(blocks);
  }
};

}  // namespace tokamax::serve
