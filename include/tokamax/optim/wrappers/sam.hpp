// tokamax/optim/wrappers/sam.hpp: minima in flat surroundings.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/wrappers/wrappers.cpp
#pragma once

#include <tokamax/optim/transform.hpp>  // update_with
#include <tokamax/optim/tree.hpp>       // where

namespace tokamax::optim {

template <class Params, class Inner, class Adversary>
struct sam_state {
  array steps_since_sync = zeros({}, i32);
  Inner inner{};
  Adversary adversary{};
  Params cache{};  ///< the parameters before the adversary moved them
};

namespace detail {
template <class Tree>
constexpr Tree chosen(const array& condition, const Tree& a, const Tree& b) {
  return tree_map([&](const array& x, const array& y) { return select(condition, x, y); }, a, b);
}
template <class Tree>
constexpr Tree negative(const Tree& t) {
  return map_floating([](const array& x) { return -x; }, t);
}
}  // namespace detail

/// In all but each `sync_period`th call `adversary` moves the parameters up the loss; in that one, `inner` takes the gradient
/// there and steps from where they were. With `reset_state` the state of the adversary then begins anew.
/// errors  "sam: sync_period" below 1
/// source  optax.contrib.sam; Foret et al. 2020, arXiv:2010.01412
template <class Inner, class Adversary>
struct sam {
  Inner inner;
  Adversary adversary;
  int sync_period = 2;
  bool reset_state = true;

  constexpr sam(Inner i, Adversary a, int period = 2, bool reset = true)
      : inner(std::move(i)), adversary(std::move(a)), sync_period(period), reset_state(reset) {
    if (period < 1) reject(nullptr, location(), "sam: sync_period", message() << period, "1 or more");
  }
  template <class Params>
  constexpr auto init(const Params& params) const {
    auto state = inner.init(params);
    auto other = adversary.init(params);
    return sam_state<Params, decltype(state), decltype(other)>{zeros({}, i32), std::move(state), std::move(other),
                                                               parameters_of(params)};
  }
  template <class Params, class State, class Other, class Extra = nothing_extra>
  constexpr std::pair<Params, sam_state<Params, State, Other>> update(const Params& g,
                                                                      const sam_state<Params, State, Other>& s,
                                                                      const Params& params,
                                                                      const Extra& extra = {}) const {
    const array first = s.steps_since_sync == 0, last = s.steps_since_sync == sync_period - 1;
    auto [up, other] = update_with(adversary, g, s.adversary, params, extra);
    auto [down, next] = update_with(inner, g, s.inner, s.cache, extra);
    auto back = [](const array& u, const array& c, const array& p) { return c - p + u; };
    const Params step = map_floating(back, down, s.cache, params);
    Other fresh = s.adversary;
    if (reset_state) fresh = adversary.init(params);
    return {tree::where(last, step, detail::negative(up)),
            {select(last, zeros({}, i32), s.steps_since_sync + 1), detail::chosen(last, next, s.inner),
             detail::chosen(last, fresh, other), tree::where(logical_not(first), s.cache, params)}};
  }
};

/// The same in one call: extra.grad_fn(params, i) is the gradient elsewhere, for i from 0 to sync_period - 2.
/// errors  "sam: sync_period" below 1
/// source  optax.contrib.sam with opaque_mode
template <class Inner, class Adversary>
struct opaque_sam : sam<Inner, Adversary> {
  using sam<Inner, Adversary>::sam;

  template <class Params>
  constexpr auto init(const Params& params) const {
    auto state = sam<Inner, Adversary>::init(params);
    state.cache = nothing_like(params);
    return state;
  }
  template <class Params, class State, class Other, class Extra>
  constexpr std::pair<Params, sam_state<Params, State, Other>> update(const Params& g,
                                                                      const sam_state<Params, State, Other>& s,
                                                                      const Params& params, const Extra& extra) const {
    static_assert(
        requires { extra.grad_fn(params, 0); },
        "tokamax: opaque_sam: update needs extra.grad_fn, the gradient at other parameters");
    Params gradient = g, at = params;
    Other other = s.adversary;
    for (int i = 0; i + 1 < this->sync_period; ++i) {
      auto [up, moved] = update_with(this->adversary, gradient, other, at, extra);
      other = std::move(moved);
      at = apply_updates(at, detail::negative(up));
      gradient = extra.grad_fn(at, i);
    }
    if (this->reset_state) other = this->adversary.init(params);
    auto [updates, next] = update_with(this->inner, gradient, s.inner, params, extra);
    return {std::move(updates), {zeros({}, i32), std::move(next), std::move(other), s.cache}};
  }
};
template <class Inner, class Adversary>
opaque_sam(Inner, Adversary) -> opaque_sam<Inner, Adversary>;
template <class Inner, class Adversary>
opaque_sam(Inner, Adversary, int) -> opaque_sam<Inner, Adversary>;
template <class Inner, class Adversary>
opaque_sam(Inner, Adversary, int, bool) -> opaque_sam<Inner, Adversary>;

}  // namespace tokamax::optim
