// tokamax/optim/transforms/block.hpp: updates scaled, bounded or centred leaf by leaf.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/transforms/transforms.cpp
#pragma once

#include <tokamax/lax/elementwise/division.hpp>      // rem
#include <tokamax/lax/reduce.hpp>                    // sum
#include <tokamax/lax/stop_gradient.hpp>             // stop_gradient
#include <tokamax/numpy/statistics.hpp>              // mean
#include <tokamax/optim/transforms/scale.hpp>        // times
#include <tokamax/optim/tree.hpp>                    // norm
#include <tokamax/transforms/custom/custom_vjp.hpp>  // custom_vjp

namespace tokamax::optim {

namespace detail {
/// The base of transforms without state, whose `changed(updates, params)` gives the new updates.
template <class Self>
struct stateless_transform {
  template <class Params>
  constexpr empty_state init(const Params&) const {
    return {};
  }
  template <class Params>
  constexpr std::pair<Params, empty_state> update(const Params& updates, empty_state s, const Params& params) const {
    return {static_cast<const Self&>(*this).changed(updates, params), s};
  }
};
constexpr array block_rms(const array& x) {
  const array wide = astype(x, carrying(x.dtype()));
  return sqrt(mean(wide * wide));
}
/// u * factor, computed in f32 at least.
constexpr array scaled_wide(const array& u, const array& factor) {
  return astype(astype(u, factor.dtype()) * factor, u.dtype());
}
}  // namespace detail

/// max(|x|, least) and max(rms(x), least), whose gradients are 0 where `least` is the larger one, and never NaN.
/// shapes  x -> a scalar
/// dtypes  computed in f32 at least
/// source  optax.safe_norm, safe_root_mean_squares
constexpr array safe_norm(const array& x, const array& least) {
  const array wide = astype(x, carrying(x.dtype())), square = sum(wide * wide), bound = astype(least, square.dtype());
  const array small = sqrt(stop_gradient(square)) <= bound;
  return select(small, bound, sqrt(select(small, ones_like(square), square)));
}
constexpr array safe_root_mean_squares(const array& x, const array& least) {
  const array wide = astype(x, carrying(x.dtype())), square = mean(wide * wide), bound = astype(least, square.dtype());
  const array small = sqrt(stop_gradient(square)) <= bound;
  return select(small, bound, sqrt(select(small, ones_like(square), square)));
}

/// u / max(1, rms(u) / threshold), leaf by leaf.
/// source  optax.clip_by_block_rms
struct clip_by_block_rms : detail::stateless_transform<clip_by_block_rms> {
  array threshold;
  constexpr explicit clip_by_block_rms(const array& t) : threshold(t) {}
  template <class Params>
  constexpr Params changed(const Params& updates, const Params&) const {
    auto bound = [this](const array& u) {
      const array size = detail::block_rms(u);
      return astype(astype(u, size.dtype()) / maximum(1.0, size / threshold), u.dtype());
    };
    return map_floating(bound, updates);
  }
};

/// u * max(rms(p), min_scale), leaf by leaf; u where `on` is false.
/// source  optax.scale_by_param_block_rms
struct scale_by_param_block_rms : detail::stateless_transform<scale_by_param_block_rms> {
  array min_scale = 1e-3;
  bool on = true;
  constexpr explicit scale_by_param_block_rms(const array& least = 1e-3, bool used = true)
      : min_scale(least), on(used) {}
  template <class Params>
  constexpr Params changed(const Params& updates, const Params& params) const {
    if (!on) return updates;
    auto times = [this](const array& u, const array& p) {
      return detail::scaled_wide(u, safe_root_mean_squares(p, min_scale));
    };
    return map_floating(times, updates, params);
  }
};
/// u * max(|p|, min_scale), leaf by leaf.
/// source  optax.scale_by_param_block_norm
struct scale_by_param_block_norm : detail::stateless_transform<scale_by_param_block_norm> {
  array min_scale = 1e-3;
  constexpr explicit scale_by_param_block_norm(const array& least = 1e-3) : min_scale(least) {}
  template <class Params>
  constexpr Params changed(const Params& updates, const Params& params) const {
    auto times = [this](const array& u, const array& p) { return detail::scaled_wide(u, safe_norm(p, min_scale)); };
    return map_floating(times, updates, params);
  }
};

/// u less its mean over all axes but the first, for leaves of rank 2 or more.
/// source  optax.centralize; Yong et al. 2020, arXiv:2004.01461
struct centralize : detail::stateless_transform<centralize> {
  template <class Params>
  constexpr Params changed(const Params& updates, const Params&) const {
    auto center = [](const array& u) {
      if (u.rank() < 2) return u;
      axes others;
      for (int i = 1; i < u.rank(); ++i) others.push_back(i);
      return u - mean(u, {.axis = others, .keepdims = true});
    };
    return map_floating(center, updates);
  }
};

/// u * scale_factor / (|u| + eps), with the joint norm of all leaves.
/// source  optax.normalize_by_update_norm, and with eps 0 optax.contrib.normalize
struct normalize_by_update_norm : detail::stateless_transform<normalize_by_update_norm> {
  array scale_factor = 1.0, eps = 1e-6;
  constexpr explicit normalize_by_update_norm(const array& factor = 1.0, const array& e = 1e-6)
      : scale_factor(factor), eps(e) {}
  template <class Params>
  constexpr Params changed(const Params& updates, const Params&) const {
    const array norm = (tree::norm(updates) + eps) / scale_factor;
    return map_floating([&](const array& u) { return astype(astype(u, norm.dtype()) / norm, u.dtype()); }, updates);
  }
};
constexpr normalize_by_update_norm normalize() { return normalize_by_update_norm(1.0, 0.0); }

/// -p where p + u is negative, so that parameters stay 0 or more.
/// source  optax.keep_params_nonnegative
struct keep_params_nonnegative : detail::stateless_transform<keep_params_nonnegative> {
  template <class Params>
  constexpr Params changed(const Params& updates, const Params& params) const {
    return map_floating([](const array& u, const array& p) { return select(p + u < 0, -p, u); }, updates, params);
  }
};

struct zero_nans_state {
  array found_nan = zeros({}, bool_);  ///< was there one in the last gradient?
};
/// 0 in place of each NaN.
/// source  optax.zero_nans
struct zero_nans {
  template <class Params>
  constexpr zero_nans_state init(const Params&) const {
    return {};
  }
  template <class Params>
  constexpr std::pair<Params, zero_nans_state> update(const Params& updates, const zero_nans_state&,
                                                      const Params&) const {
    array found = zeros({}, bool_);
    detail::for_each_floating([&](const array& u) { found = logical_or(found, any(isnan(u))); }, updates);
    return {map_floating([](const array& u) { return select(isnan(u), zeros_like(u), u); }, updates), {found}};
  }
};

/// The norm of each unit: of a vector; over the first axis at rank 2 and 3, and over all but the last at rank 4 and 5.
/// shapes  x -> the extents of x
/// errors  "unitwise_norm: x" of rank 6 or more
/// source  optax.unitwise_norm
constexpr array unitwise_norm(const array& x, source_line l = source_line::current()) {
  axes over;
  int wide = 0;
  for (int i = 0; i < x.rank(); ++i) wide += x.extent(i) != 1;
  if (wide <= 1)
    for (int i = 0; i < x.rank(); ++i) over.push_back(i);
  else if (x.rank() == 2 || x.rank() == 3)
    over = {0};
  else if (x.rank() == 4 || x.rank() == 5)
    for (int i = 0; i + 1 < x.rank(); ++i) over.push_back(i);
  else
    reject(x, l, "unitwise_norm: x", x.type(), "rank 5 or less");
  if (x.rank() == 0) return abs(x);
  const array y = astype(x, carrying(x.dtype()));
  return broadcast_to(astype(sqrt(sum(y * y, {.axis = over, .keepdims = true}, l)), x.dtype()), x.shape());
}
/// u where its norm is below `most`, and u * most / max(norm, eps) elsewhere.
/// source  optax.unitwise_clip
constexpr array unitwise_clip(const array& norm, const array& most, const array& u, double eps = 1e-6) {
  return select(norm < most, u, u * (most / maximum(norm, array(eps))));
}
/// Bounds the norm of each unit of an update to `clipping` times that of its parameters, or of `eps`.
/// source  optax.adaptive_grad_clip; Brock et al. 2021, arXiv:2102.06171
struct adaptive_grad_clip : detail::stateless_transform<adaptive_grad_clip> {
  array clipping, eps;
  constexpr explicit adaptive_grad_clip(const array& c, const array& e = 1e-3) : clipping(c), eps(e) {}
  template <class Params>
  constexpr Params changed(const Params& updates, const Params& params) const {
    auto bound = [this](const array& u, const array& p) {
      return unitwise_clip(unitwise_norm(u), maximum(unitwise_norm(p), eps) * clipping, u);
    };
    return map_floating(bound, updates, params);
  }
};

/// A transform that is a function of updates and parameters, or of each pair of their leaves.
/// source  optax.stateless, stateless_with_tree_map
template <class F>
struct stateless : detail::stateless_transform<stateless<F>> {
  F f;
  constexpr explicit stateless(F function) : f(std::move(function)) {}
  template <class Params>
  constexpr Params changed(const Params& updates, const Params& params) const {
    return f(updates, params);
  }
};
template <class F>
struct stateless_with_tree_map : detail::stateless_transform<stateless_with_tree_map<F>> {
  F f;
  constexpr explicit stateless_with_tree_map(F function) : f(std::move(function)) {}
  template <class Params>
  constexpr Params changed(const Params& updates, const Params& params) const {
    return map_floating(f, updates, params);
  }
};

/// x, whose gradient is `factor` times that of x.
/// source  optax.scale_gradient
template <class Tree>
constexpr Tree scale_gradient(const Tree& x, double factor) {
  struct none {};
  const auto same = [](const array& a) { return a; };
  const auto forward = [](const array& a) { return std::pair{a, none{}}; };
  const auto backward = [factor](none, const array& ct) { return ct * factor; };
  return map_floating([&](const array& a) { return custom_vjp(same, forward, backward)(a); }, x);
}

/// step_size * now + (1 - step_size) * before.
/// source  optax.incremental_update
template <class Params>
constexpr Params incremental_update(const Params& now, const Params& before, const array& step_size) {
  return map_floating(
      [&](const array& b, const array& n) {
        return detail::times(n, step_size) + detail::times(b, detail::rest(step_size));
      },
      before, now);
}
/// `now` in each step that is a multiple of `period`, and `before` in others.
/// source  optax.periodic_update
template <class Params>
constexpr Params periodic_update(const Params& now, const Params& before, const array& step, const array& period) {
  return tree::where(rem(step, period) == 0, now, before);
}

}  // namespace tokamax::optim
