// tokamax/optim/transforms/scale.hpp: multiply updates, by a number or by the learning rate of the step, and add weight decay.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/partition.hpp>            // filter
#include <tokamax/optim/schedules/schedule.hpp>  // schedule
#include <tokamax/optim/transform.hpp>           // map_floating

namespace tokamax::optim {

/// Leaves updates alone.
struct identity {
  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, empty_state> update(Updates u, empty_state s, const Params&) const {
    return {std::move(u), s};
  }
};

namespace detail {
/// u in f32 at least, in which numbers of a step are not rounded to 16 bits.
constexpr array widened(const array& u) { return astype(u, carrying(u.dtype())); }
/// u * factor in the dtype of widened(u), also for a factor that a schedule gave.
constexpr array wide_times(const array& u, const array& factor) {
  const array wide = widened(u);
  if (factor.is_literal()) return wide * factor;
  return wide * astype(factor, wide.dtype());
}
/// The same in the dtype of u.
constexpr array times(const array& u, const array& factor) { return astype(wide_times(u, factor), u.dtype()); }
}  // namespace detail

/// updates * factor.
/// source  optax.scale
struct scale {
  array factor = 1.0;

  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, empty_state> update(const Updates& updates, empty_state s, const Params&) const {
    return {map_floating([this](const array& u) { return detail::times(u, factor); }, updates), s};
  }
};

namespace detail {
/// updates *= factor, in the dtypes of the updates.
template <class Updates>
constexpr void scale_by(Updates& updates, const array& factor) {
  update_floating([&](const array& u) { return times(u, astype(factor, carrying(u.dtype()))); }, updates);
}
}  // namespace detail

namespace detail {
/// Is a rate the same in each step?
template <class Schedule>
constexpr bool is_number(const Schedule& rate) {
  if constexpr (std::is_same_v<Schedule, schedule>)
    return rate.is_number();
  else
    return false;
}
}  // namespace detail

/// The number of updates so far.
struct step_count {
  array count = zeros({}, i32);
};

/// updates * factor(step), the first step being 0. `factor` is a number, a `schedule`, or any function of the i32 scalar.
/// source  optax.scale_by_schedule
template <class Schedule = schedule>
struct scale_by_schedule {
  Schedule factor;

  template <class Params>
  constexpr step_count init(const Params&) const {
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, step_count> update(const Updates& updates, const step_count& s, const Params&) const {
    Updates scaled = updates;
    detail::scale_by(scaled, factor(s.count));
    return {scaled, {incremented(s.count)}};
  }
};
template <class Schedule>
scale_by_schedule(Schedule) -> scale_by_schedule<schedule_of<Schedule>>;

/// The number of updates so far, and the learning rate of the last one. Before the first it is 0, or the rate if that is a number.
struct rate_state {
  array count = zeros({}, i32);
  array learning_rate = zeros({});
};

/// updates * -rate(step): the last member of an optimiser. `get(state, "learning_rate")` reads the rate.
/// source  optax.scale_by_learning_rate
template <class Schedule = schedule>
struct scale_by_learning_rate {
  Schedule rate;
  bool flip_sign = true;  ///< false: updates * rate(step)

  template <class Params>
  constexpr rate_state init(const Params&) const {
    if (detail::is_number(rate)) return {zeros({}, i32), rate(zeros({}, i32))};
    return {};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, rate_state> update(const Updates& updates, const rate_state& s, const Params&) const {
    Updates scaled = updates;
    const array now = rate(s.count);
    if (flip_sign)
      detail::scale_by(scaled, now * -1.0);
    else
      detail::scale_by(scaled, now);
    if (detail::is_number(rate)) return {scaled, {incremented(s.count), s.learning_rate}};  // its buffer stays
    return {scaled, {incremented(s.count), astype(now, f32)}};
  }
};
template <class Schedule>
scale_by_learning_rate(Schedule) -> scale_by_learning_rate<schedule_of<Schedule>>;
template <class Schedule>
scale_by_learning_rate(Schedule, bool) -> scale_by_learning_rate<schedule_of<Schedule>>;

/// A function that selects parameters by their arrays. Transforms also take any other function of path and array, of the
/// path, or of the array, such as `matching("*.kernel")`.
using mask = bool (*)(const array&);
constexpr bool everything(const array&) { return true; }
/// Kernels and embeddings, but not biases and scales.
constexpr bool matrices(const array& p) { return p.rank() >= 2; }

namespace detail {
template <class T>
struct mask_type {
  using type = T;
};
template <class T>  // functions of an array share one type, so that chains of them do too
  requires std::is_convertible_v<T, mask>
struct mask_type<T> {
  using type = mask;
};
}  // namespace detail
template <class T>
using mask_of = typename detail::mask_type<T>::type;

/// updates + weight_decay * params, for the parameters that `only` selects.
/// source  optax.add_decayed_weights
template <class Mask = mask>
struct add_decayed_weights {
  array weight_decay = 0.0;
  Mask only = everything;

  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Params>
  constexpr std::pair<Params, empty_state> update(const Params& updates, empty_state s, const Params& params) const {
    if constexpr (std::is_same_v<Mask, mask>) {
      auto add = [this](const array& u, const array& p) {
        if (!only(p)) return u;
        return astype(detail::widened(u) + detail::wide_times(p, weight_decay), u.dtype());
      };
      return {map_floating(add, updates, params), s};
    } else {
      auto add = [this](const array& u, const array& p) {
        if (is_absent(p)) return u;
        return astype(detail::widened(u) + detail::wide_times(p, weight_decay), u.dtype());
      };
      return {map_floating(add, updates, filter(params, only)), s};
    }
  }
};
add_decayed_weights(array) -> add_decayed_weights<mask>;
template <class Mask>
add_decayed_weights(array, Mask) -> add_decayed_weights<mask_of<Mask>>;

}  // namespace tokamax::optim
