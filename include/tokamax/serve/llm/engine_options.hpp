// tokamax/serve/llm/engine_options.hpp: how much an engine takes in at once, and the memory of its cache.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// tested by tests/serve/llm/engine.cpp
#pragma once

#include <tokamax/base/dtype.hpp>                 // dtype
#include <tokamax/quant/weight_only.hpp>          // rule, packed_leaves
#include <tokamax/serve/llm/request.hpp>          // sampler_function
#include <tokamax/serve/llm/schedule_policy.hpp>  // schedule_policy

#include <chrono>  // steady_clock

namespace tokamax::serve {

/// The seconds of a clock that never goes back.
inline double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct engine_options {
  std::int64_t block_size = 16;   ///< tokens of a block of the cache
  std::int64_t cache_blocks = 0;  ///< 0: as many as `cache_bytes` hold
  std::int64_t cache_bytes =
      0;  ///< 0 with 0 blocks: a text of the greatest length for each of `max_num_seqs`, at most 1 GiB
  std::int64_t max_num_batched_tokens = 2048;  ///< the most tokens that a step takes in
  std::int64_t max_num_seqs = 64;              ///< the most answers at once
  std::int64_t max_model_len =
      0;  ///< the most tokens of prompt and answer; 0: as many as the model has learned and the cache holds
  schedule_policy policy = schedule_policy::fcfs;
  bool enable_prefix_caching = true;
  dtype cache_dtype = f32;
  std::vector<quant::rule> rules = {};             ///< which matrices become integers; see quant::weight_only
  quant::packed_leaves packed = {};                ///< those that are packed already, as `pretrained::packed` has them
  std::vector<std::int32_t> end_tokens = {};       ///< at which the model ends what it says
  std::uint64_t seed = 0;                          ///< of requests that have none
  sampler_function sampler = {};                   ///< for requests that have none
  std::function<double()> clock = steady_seconds;  ///< by which times are told
};

}  // namespace tokamax::serve
