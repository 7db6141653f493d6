// tokamax/optim/schedules/onecycle.hpp: schedules that rise once and fall to almost nothing.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/optim/schedules/join_schedules.hpp>  // piecewise_interpolate

namespace tokamax::optim {

struct linear_onecycle_options {
  std::int64_t steps = 1;      ///< of the whole cycle
  double peak = 1;             ///< the largest value
  double start = 0.3;          ///< the share of the steps after which it is reached
  double final = 0.85;         ///< the share after which the value is back where it began
  double divisor = 25;         ///< peak / divisor is the first value
  double final_divisor = 1e4;  ///< the first value / final_divisor is the last one
};
/// Straight lines from peak / divisor to peak, back, and down to peak / (divisor final_divisor).
/// errors  "linear_onecycle: steps" if there are none, "piecewise: boundary" if a part has none
/// source  optax.linear_onecycle_schedule; Smith, Topin 2018, arXiv:1708.07120
constexpr piecewise_schedule<3> linear_onecycle(const linear_onecycle_options& o) {
  detail::require_steps("linear_onecycle: steps", o.steps);
  const auto all = static_cast<double>(o.steps);
  return piecewise_interpolate(interpolation::linear, o.peak / o.divisor,
                               {{static_cast<std::int64_t>(o.start * all), o.divisor},
                                {static_cast<std::int64_t>(o.final * all), 1 / o.divisor},
                                {o.steps, 1 / o.final_divisor}});
}

struct cosine_onecycle_options {
  std::int64_t steps = 1;
  double peak = 1;
  double start = 0.3;
  double divisor = 25;
  double final_divisor = 1e4;
};
/// Half cosines from peak / divisor to peak, and down to peak / (divisor final_divisor); see `linear_onecycle_options`.
/// errors  "cosine_onecycle: steps" if there are none, "piecewise: boundary" if a part has none
/// source  optax.cosine_onecycle_schedule
constexpr piecewise_schedule<2> cosine_onecycle(const cosine_onecycle_options& o) {
  detail::require_steps("cosine_onecycle: steps", o.steps);
  return piecewise_interpolate(interpolation::cosine, o.peak / o.divisor,
                               {{static_cast<std::int64_t>(o.start * static_cast<double>(o.steps)), o.divisor},
                                {o.steps, 1 / (o.divisor * o.final_divisor)}});
}

}  // namespace tokamax::optim
