// tokamax/optim/adaptive/adafactor.hpp: averages of squares that are kept as rows and columns.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/adaptive/averages.cpp
#pragma once

#include <tokamax/numpy/statistics.hpp>             // mean
#include <tokamax/optim/transforms/accumulate.hpp>  // ema
#include <tokamax/optim/transforms/block.hpp>       // clip_by_block_rms, scale_by_param_block_rms
#include <tokamax/optim/transforms/scale.hpp>       // scale_by_learning_rate, add_decayed_weights

namespace tokamax::optim {

template <class Params>
struct factored_state {
  array count = zeros({}, i32);       ///< updates so far
  Params rows{}, columns{}, whole{};  ///< averages of squares: over one axis and the other one, or of each element
};

/// With d = 1 - t^-decay_rate and the average n = d n + (1 - d) (g^2 + eps), u = g / sqrt(n). Of a leaf whose two longest
/// axes have at least `min_dim_size_to_factor` elements, only the means of n along each of these are kept, r and c, and
/// n is taken as r c / mean(r).
/// dtypes  averages of leaves of 16 bits are f32
/// source  optax.scale_by_factored_rms; Shazeer, Stern 2018, arXiv:1804.04235
struct scale_by_factored_rms {
  bool factored = true;
  array decay_rate = 0.8;
  std::int64_t step_offset = 0;
  std::int64_t min_dim_size_to_factor = 128;
  double eps = 1e-30;

  template <class Params>
  constexpr factored_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    auto without = [this](bool last) {
      return [this, last](const array& p) {
        const auto [some, is] = axes_of(p.shape());
        if (!is) return absent();
        shape s;
        for (int i = 0; i < p.rank(); ++i)
          if (i != (last ? some.second : some.first)) s.push_back(p.extent(i));
        return zeros(s, p.dtype());
      };
    };
    auto kept_whole = [this](const array& p) {
      if (axes_of(p.shape()).second) return absent();
      return p;
    };
    return {zeros({}, i32), map_floating(without(true), start), map_floating(without(false), start),
            map_floating(kept_whole, start)};
  }
  template <class Params>
  constexpr std::pair<Params, factored_state<Params>> update(const Params& g, const factored_state<Params>& s,
                                                             const Params&) const {
    const array t = astype(s.count - static_cast<double>(step_offset) + 1, f32);
    const array decay = 1.0 - power(t, -1.0 * astype(decay_rate, f32));
    Params u = copy_tree(g);
    factored_state<Params> next{incremented(s.count), copy_tree(s.rows), copy_tree(s.columns), copy_tree(s.whole)};
    for_each_leaf(
        [&](auto& x, auto& rows, auto& columns, auto& whole) {
          if constexpr (is_parameter<decltype(x)>)
            if (is_floating(x.dtype()))
              static_cast<array&>(x) = divided(x, decay, static_cast<array&>(rows), static_cast<array&>(columns),
                                               static_cast<array&>(whole));
        },
        u, next.rows, next.columns, next.whole);
    return {u, next};
  }

 private:
  /// The update of a leaf, whose averages move.
  constexpr array divided(const array& x, const array& decay, array& rows, array& columns, array& whole) const {
    const auto [along, is] = axes_of(x.shape());
    const array wide = astype(x, carrying(x.dtype())), square = wide * wide + eps;
    const auto average = [&](const array& now, const array& before) { return decay * before + (1.0 - decay) * now; };
    if (!is) {
      whole = average(square, whole);
      return astype(wide * power(whole, array(-0.5)), x.dtype());
    }
    const auto [shorter, longer] = along;
    rows = average(mean(square, {.axis = {longer}}), rows);
    columns = average(mean(square, {.axis = {shorter}}), columns);
    const int reduced = shorter > longer ? shorter - 1 : shorter;
    const array share = power(rows / mean(rows, {.axis = {reduced}, .keepdims = true}), array(-0.5));
    return astype(wide * expand_dims(share, longer) * expand_dims(power(columns, array(-0.5)), shorter), x.dtype());
  }
  /// The second longest axis and the longest one, and whether averages are kept along them.
  constexpr std::pair<std::pair<int, int>, bool> axes_of(const shape& s) const {
    int second = -1, first = -1;
    for (int i = 0; i < s.rank(); ++i) {  // of equal ones the last counts as longer
      if (first < 0 || s[i] >= s[first]) {
        second = first;
        first = i;
      } else if (second < 0 || s[i] >= s[second]) {
        second = i;
      }
    }
    return {{second, first}, factored && s.rank() >= 2 && s[second] >= min_dim_size_to_factor};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct adafactor_options {
  Schedule learning_rate = 1.0;
  std::int64_t min_dim_size_to_factor = 128;
  array decay_rate = 0.8;
  std::int64_t decay_offset = 0;
  bool multiply_by_parameter_scale = true;
  double clipping_threshold = 1;  ///< infinity: none
  array momentum = 0.0;           ///< 0: none
  dtype dtype_momentum = f32;
  array weight_decay = 0.0;
  double eps = 1e-30;
  bool factored = true;
  Mask only = everything;  ///< the parameters that decay
};
/// Squares by rows and columns, bounded updates, and step sizes in proportion to the parameters of each leaf.
/// source  optax.adafactor
template <class Options = adafactor_options<>>
constexpr auto adafactor(const Options& o) {
  return chain(scale_by_factored_rms{o.factored, o.decay_rate, o.decay_offset, o.min_dim_size_to_factor, o.eps},
               clip_by_block_rms{o.clipping_threshold}, scale_by_learning_rate{o.learning_rate, false},
               scale_by_param_block_rms{1e-3, o.multiply_by_parameter_scale}, ema{o.momentum, false, o.dtype_momentum},
               add_decayed_weights{o.weight_decay, o.only}, scale{-1.0});
}

}  // namespace tokamax::optim
