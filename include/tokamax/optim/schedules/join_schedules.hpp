// tokamax/optim/schedules/join_schedules.hpp: schedules made of others, or of pieces.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/optim/schedules/schedule.hpp>  // schedule_of, linear, cosine

#include <array>    // array
#include <cstdint>  // int64_t
#include <tuple>    // tuple

namespace tokamax::optim {

/// What `join_schedules` returns.
template <class... Schedules>
struct joined_schedules {
  std::array<std::int64_t, sizeof...(Schedules) - 1> boundaries;
  std::tuple<Schedules...> schedules;

  constexpr array operator()(const array& step) const { return from<0>(step); }

 private:
  template <std::size_t Index>
  constexpr array from(const array& step) const {
    if constexpr (Index == 0)
      return until<Index>(step, std::get<Index>(schedules)(step));
    else
      return until<Index>(step, std::get<Index>(schedules)(step - boundaries[Index - 1]));
  }
  template <std::size_t Index>
  constexpr array until(const array& step, const array& value) const {
    if constexpr (Index + 1 == sizeof...(Schedules))
      return value;
    else
      return select(step < boundaries[Index], value, from<Index + 1>(step));
  }
};

/// Schedules one after the other. The first one ends at step boundaries[0]; the next one begins there and counts its own
/// steps from there, and so on: `join_schedules({100}, linear(0, 1, 100), cosine({.init = 1, .steps = 900}))`.
/// source  optax.join_schedules
template <std::size_t N, class... Schedules>
constexpr auto join_schedules(const std::int64_t (&boundaries)[N], const Schedules&... schedules) {
  static_assert(N + 1 == sizeof...(Schedules), "tokamax: join_schedules: one boundary between two schedules");
  return joined_schedules<schedule_of<Schedules>...>{std::to_array(boundaries), {schedule_of<Schedules>(schedules)...}};
}

struct warmup_exponential_options {
  double init = 0;          ///< at step 0
  double peak = 1;          ///< at step `warmup`
  std::int64_t warmup = 0;  ///< steps from init to peak
  std::int64_t steps = 1;   ///< after these the value has been multiplied by `rate`
  double rate = 0.5;
  std::int64_t begin = 0;  ///< steps after the warmup without a change
  bool staircase = false;
  double end = 0;  ///< a bound, if `bounded`
  bool bounded = false;
};
/// A straight line from init to peak, then `exponential`.
/// source  optax.warmup_exponential_decay_schedule
constexpr joined_schedules<schedule, schedule> warmup_exponential(const warmup_exponential_options& o) {
  return {{o.warmup},
          {linear(o.init, o.peak, o.warmup),
           exponential({o.peak, o.steps, o.rate, o.begin, o.end, o.bounded, o.staircase})}};
}

/// What `sgdr` returns.
template <std::size_t N>
struct sgdr_schedule {
  std::array<warmup_cosine_options, N> cycles;

  constexpr array operator()(const array& step) const {
    array value;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < N; ++i) {
      const array now = warmup_cosine(cycles[i])(step - begin);
      if (i == 0)
        value = now;
      else
        value = select(step < begin, value, now);
      begin += cycles[i].total;
    }
    return value;
  }
};
/// Cosines with warmups one after the other, each of `total` steps.
/// source  optax.sgdr_schedule; Loshchilov, Hutter 2017, arXiv:1608.03983
template <std::size_t N>
constexpr sgdr_schedule<N> sgdr(const warmup_cosine_options (&cycles)[N]) {
  return {std::to_array(cycles)};
}

/// From step `at` on, the value times `scale`.
struct boundary {
  std::int64_t at = 0;
  double scale = 1;
};
enum class interpolation { none, linear, cosine };

/// What `piecewise_constant` and `piecewise_interpolate` return.
template <std::size_t N>
struct piecewise_schedule {
  interpolation kind;
  double init;
  std::array<boundary, N> boundaries;

  constexpr array operator()(const array& step) const {
    const array now = astype(step, f32);
    double before = init;
    std::int64_t begin = 0;
    array value = array(init, {f32, false, {}});
    for (std::size_t i = 0; i < N; ++i) {
      const auto [end, scale] = boundaries[i];
      const double after = before * scale;
      if (kind != interpolation::none)
        value = select(now < static_cast<double>(begin), value, between(now, before, after, begin, end));
      value = select(now < static_cast<double>(end), value, array(after, {f32, false, {}}));
      before = after;
      begin = end;
    }
    return value;
  }

 private:
  constexpr array between(const array& now, double before, double after, std::int64_t begin, std::int64_t end) const {
    const array done = (now - static_cast<double>(begin)) / static_cast<double>(end - begin);
    if (kind == interpolation::linear) return (after - before) * done + before;
    return after + (before - after) / 2.0 * (cos(3.14159265358979323846 * done) + 1.0);
  }
};

namespace detail {
template <std::size_t N>
constexpr void require_order(const boundary (&boundaries)[N]) {
  std::int64_t before = 0;
  for (const boundary& b : boundaries) {
    if (b.at <= before) throw error("piecewise: boundary", std::to_string(b.at), "above " + std::to_string(before));
    if (!(b.scale >= 0)) throw error("piecewise: scale", std::to_string(b.scale), "0 or more");
    before = b.at;
  }
}
}  // namespace detail

/// `init`, multiplied by a scale at each boundary: `piecewise_constant(1.0, {{100, 0.5}, {200, 0.1}})`.
/// errors  "piecewise: boundary" that is not above 0 and the one before, "piecewise: scale" below 0
/// source  optax.piecewise_constant_schedule
template <std::size_t N>
constexpr piecewise_schedule<N> piecewise_constant(double init, const boundary (&boundaries)[N]) {
  detail::require_order(boundaries);
  return {interpolation::none, init, std::to_array(boundaries)};
}
/// The same values at the boundaries, and between them a straight line or half a cosine.
/// source  optax.piecewise_interpolate_schedule
template <std::size_t N>
constexpr piecewise_schedule<N> piecewise_interpolate(interpolation kind, double init,
                                                      const boundary (&boundaries)[N]) {
  detail::require_order(boundaries);
  return {kind, init, std::to_array(boundaries)};
}

}  // namespace tokamax::optim
