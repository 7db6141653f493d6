// tokamax/data/pick_prefetch.hpp: options of `prefetch` for a bound of memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/data/prefetch.hpp>  // prefetch_options

namespace tokamax::data {

struct prefetch_budget {
  std::int64_t bytes = std::int64_t{1} << 30;  ///< of elements that are ready
  std::int64_t threads = 16;                   ///< at most; fewer if the machine has fewer
  std::int64_t elements = 500;                 ///< at most
};

/// Reads a few elements of a pipeline, and gives it so many threads, and so many elements ahead, as their size and the budget allow.
/// errors  tokamax::error for a budget below 1; those of the pipeline
/// source  grain.experimental.pick_performance_config
template <readable Source>
prefetch_options pick_prefetch(const Source& source, prefetch_budget budget = {}) {
  detail::at_least_one(budget.bytes, "pick_prefetch: bytes");
  detail::at_least_one(budget.threads, "pick_prefetch: threads");
  detail::at_least_one(budget.elements, "pick_prefetch: elements");
  auto cursor = detail::cursor_of(source);
  std::int64_t largest = 1;
  for (int i = 0; i < 5; ++i) {
    auto ticket = cursor.take();
    if (!ticket) break;
    largest = std::max(largest, detail::bytes_in(cursor.make(std::move(*ticket))));
  }
  const std::int64_t elements = std::clamp<std::int64_t>(budget.bytes / largest, 1, budget.elements);
  const auto there = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
  return {.threads = std::min({budget.threads, there, elements}), .elements = elements, .bytes = budget.bytes};
}

}  // namespace tokamax::data
