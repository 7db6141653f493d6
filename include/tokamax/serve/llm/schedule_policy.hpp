// tokamax/serve/llm/schedule_policy.hpp: which of the answers that wait comes first.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that serve models use it)
// tested by tests/serve/llm/scheduler.cpp
#pragma once

#include <tokamax/base/requirements.hpp>  // before all else

#include <cstdint>  // uint8_t

namespace tokamax::serve {

/// First come, first served; or smaller priorities first, and of these who came first. Where the cache is full, the last one by the same
/// order gives its blocks back.
enum class schedule_policy : std::uint8_t { fcfs, priority };

}  // namespace tokamax::serve
