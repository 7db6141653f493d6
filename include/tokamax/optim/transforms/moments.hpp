// tokamax/optim/transforms/moments.hpp: averages of gradients and of their squares, which several transforms divide by one another.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only
// tested by tests/optim/adaptive/adam.cpp
#pragma once

#include <tokamax/lax/elementwise/unary.hpp>  // power
#include <tokamax/optim/transform.hpp>        // map_floating

#include <cmath>  // sqrt

namespace tokamax::optim {

/// The state of Adam and of transforms like it.
template <class Params>
struct adam_state {
  array count = zeros({}, i32);                                     ///< updates so far
  Params mu = for_averages(Params{}), nu = for_averages(Params{});  ///< averages of gradients and of their squares
};

namespace detail {

/// The state before the first update: both averages are zero.
template <class Params>
constexpr adam_state<Params> first_state(const Params& params) {
  const Params start = for_averages(zeros_like(params));
  return {zeros({}, i32), start, start};
}
/// sqrt, which constant expressions of C++20 lack.
constexpr double root(double x) {
  if (!std::is_constant_evaluated()) return std::sqrt(x);
  double y = x;
  for (int i = 0; i < 100; ++i) y = 0.5 * (y + x / y);
  return y;
}
constexpr array root(const array& x) { return sqrt(x); }
/// 1 - decay.
constexpr array rest(const array& decay) {
  return of_number([](const auto& d) { return 1.0 - d; }, decay);
}
/// decay * before + (1 - decay) * now.
constexpr array averaged(const array& decay, const array& now, const array& before) {
  return rest(decay) * now + decay * before;
}
/// The averages `m` after gradients g, in the dtype of m.
template <class Params>
constexpr Params moved(const array& decay, const Params& m, const Params& g) {
  return map_floating([&](const array& a, const array& x) { return averaged(decay, astype(x, a.dtype()), a); }, m, g);
}
/// The same for squares of gradients.
template <class Params>
constexpr Params moved_squares(const array& decay, const Params& n, const Params& g) {
  return map_floating(
      [&](const array& a, const array& x) {
        const array wide = astype(x, a.dtype());
        return averaged(decay, wide * wide, a);
      },
      n, g);
}
/// Averages that are kept in `type`, in the dtype in which they are computed; a `type` of none changes nothing.
template <class Params>
constexpr Params widened(const Params& m, dtype type) {
  if (type == dtype::none) return m;
  return map_floating([](const array& a) { return astype(a, carrying(a.dtype())); }, m);
}
template <class Params>
constexpr Params kept(const Params& m, dtype type) {
  if (type == dtype::none) return m;
  return map_floating([&](const array& a) { return astype(a, type); }, m);
}
/// The share of an average that is not its start, after t updates: 1 - decay^t.
constexpr array share(const array& decay, const array& t) { return 1.0 - power(decay, t); }
/// a / (1 - decay^t).
constexpr array corrected(const array& a, const array& share) { return a / astype(share, a.dtype()); }

/// Averages of gradients, corrected for starting at zero after t updates. With `nesterov` they are those of the next step, if its
/// gradient is g.
struct corrected_mean {
  array decay;
  bool nesterov;
  array now, next;
  constexpr corrected_mean(const array& b, bool ahead, const array& t) : decay(b), nesterov(ahead), now(share(b, t)) {
    if (ahead) next = share(b, t + 1.0);
  }
  constexpr array operator()(const array& m, const array& g) const {
    if (!nesterov) return corrected(m, now);
    return decay * corrected(m, next) + rest(decay) * corrected(astype(g, m.dtype()), now);
  }
};

}  // namespace detail

}  // namespace tokamax::optim
