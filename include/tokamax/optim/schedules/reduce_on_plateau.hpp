// tokamax/optim/schedules/reduce_on_plateau.hpp: smaller steps when the loss stops falling.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/reduce.hpp>       // maximum
#include <tokamax/optim/transform.hpp>  // map_floating

#include <limits>  // infinity

namespace tokamax::optim {

struct plateau_state {
  array scale = ones({});
  array best = full({}, std::numeric_limits<float>::infinity());
  array mean = zeros({});          ///< of the values since the last check
  array count = zeros({}, i32);    ///< how many values that are
  array without = zeros({}, i32);  ///< checks in a row without a better value
  array cooling = zeros({}, i32);  ///< checks that will not count
};

/// Multiplies updates by a scale. The scale falls by `factor` when the loss `extra.value` has not improved in `patience`
/// checks. An improvement is a value below (1 - rtol) best - atol. After a fall, `cooldown` checks do not count.
///
///   optimizer.update(grads, state, params, loss_is{value})
///
/// with `struct loss_is { tk::array value; };`, or any other record with a `value`.
/// source  optax.contrib.reduce_on_plateau
struct reduce_on_plateau {
  double factor = 0.1;
  int patience = 10;
  double rtol = 1e-4, atol = 0;
  int cooldown = 0;
  int accumulation_size = 1;  ///< values in a check, which compares their mean
  double min_scale = 0;

  template <class Params>
  constexpr plateau_state init(const Params&) const {
    return {};
  }
  template <class Updates, class Params, class Extra>
  constexpr std::pair<Updates, plateau_state> update(const Updates& updates, const plateau_state& before, const Params&,
                                                     const Extra& extra) const {
    const array seen = astype(before.count, f32);
    plateau_state s = before;
    s.mean = (seen * before.mean + astype(extra.value, f32)) / (seen + 1.0f);
    s.count = before.count + 1;
    const plateau_state looked = look(s);
    const array now = s.count == accumulation_size;
    for_each_leaf([&](array& a, const array& b) { a = select(now, b, a); }, s, looked);
    return {map_floating([&](const array& u) { return u * astype(s.scale, u.dtype()); }, updates), s};
  }

 private:
  constexpr plateau_state look(const plateau_state& s) const {
    const array better = s.mean < (1 - rtol) * s.best - atol, cooling = s.cooling > 0;
    const array without = select(better, zeros({}, i32), s.without + 1), falls = without == patience;
    const array none = zeros({}, i32), lower = maximum(select(falls, s.scale * factor, s.scale), min_scale);
    return {select(cooling, s.scale, lower),
            select(better, s.mean, s.best),
            zeros({}),
            none,
            select(logical_or(cooling, falls), none, without),
            select(cooling, s.cooling - 1, select(falls, none + cooldown, none))};
  }
};

}  // namespace tokamax::optim
