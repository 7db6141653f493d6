// tokamax/backend/systolic/report/losses.hpp: the utilisation of a run as a product of what was kept at each loss.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/backend/systolic/report/roofline.cpp
#pragma once

#include <tokamax/backend/systolic/simulate.hpp>  // timeline

#include <array>        // array
#include <string_view>  // string_view

namespace tokamax::systolic_backend {

/// The share of the cycles that is left after a loss.
struct factor {
  std::string_view name;
  double kept = 1;
};

/// utilisation = padding * arrays * vector * step * copies * links * idle, where each factor is
///
///   kept = (useful cycles and all losses before this one) / (the same with this loss)
///
/// so that the product is useful / all, exactly. Of several cores all cycles are taken together.
inline std::array<factor, 7> loss_factors(const timeline& t) {
  stall_cycles all;
  for (const stall_cycles& s : t.stalls)
    for (int b = 0; b < buckets; ++b) all.cycles[static_cast<std::size_t>(b)] += s.cycles[static_cast<std::size_t>(b)];
  double sum = all[bucket::useful];
  const auto lose = [&](std::string_view name, double cycles) {
    const double before = sum;
    sum += cycles;
    return factor{name, sum > 0 ? before / sum : 1};
  };
  return {lose("padding", all[bucket::padding]),
          lose("arrays", all[bucket::fill] + all[bucket::weights] + all[bucket::swap] + all[bucket::accumulate]),
          lose("vector", all[bucket::vector]),
          lose("step", all[bucket::scalar]),
          lose("copies", all[bucket::read] + all[bucket::write]),
          lose("links", all[bucket::link]),
          lose("idle", all[bucket::idle])};
}

}  // namespace tokamax::systolic_backend
