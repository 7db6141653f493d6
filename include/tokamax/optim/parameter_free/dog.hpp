// tokamax/optim/parameter_free/dog.hpp: gradient descent whose rate is the distance from the start over the norms of gradients.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/parameter_free/parameter_free.cpp
#pragma once

#include <tokamax/optim/transforms/scale.hpp>  // scale_by_learning_rate, add_decayed_weights
#include <tokamax/optim/tree.hpp>              // norm

namespace tokamax::optim {

template <class Params>
struct dog_state {
  array is_first = ones({}, bool_);
  Params first{};              ///< the parameters before the first update
  array distance = zeros({});  ///< the greatest distance from them
  array squares = zeros({});   ///< the sum of the squared norms of gradients
};

/// How long the first step is: `distance` is a distance from the start, `heuristic` a share of 1 + |p|, and
/// `learning_rate` is the rate of that step itself.
enum class dog_start { distance, learning_rate, heuristic };

/// u * r / sqrt(G + eps), with the greatest distance r from the first parameters, and the sum G of squared norms.
/// source  optax.contrib.scale_by_dog; Ivgi et al. 2023, arXiv:2302.12022
struct scale_by_dog {
  dog_start start = dog_start::heuristic;
  double value = 1e-6;
  array eps = 1e-8;

  template <class Params>
  constexpr dog_state<Params> init(const Params& params) const {
    array distance = zeros({});
    if (start == dog_start::distance) distance = full({}, value);
    if (start == dog_start::heuristic) distance = value * (1.0 + tree::norm(params));
    return {ones({}, bool_), parameters_of(params), distance, zeros({})};
  }
  template <class Params>
  constexpr std::pair<Params, dog_state<Params>> update(const Params& u, const dog_state<Params>& s,
                                                        const Params& params) const {
    const array distance = maximum(s.distance, tree::norm(tree::sub(s.first, params)));
    const array squares = s.squares + tree::vdot(u, u);
    array rate = distance / sqrt(squares + eps);
    if (start == dog_start::learning_rate) rate = select(s.is_first, full({}, value), rate);
    return {tree::scale(rate, u), {zeros({}, bool_), s.first, distance, squares}};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct dog_options {
  Schedule learning_rate = 1.0;
  dog_start start = dog_start::heuristic;
  double value = 1e-6;
  array eps = 1e-8, weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// source  optax.contrib.dog
template <class Options = dog_options<>>
constexpr auto dog(const Options& o) {
  return chain(add_decayed_weights{o.weight_decay, o.only}, scale_by_dog{o.start, o.value, o.eps},
               scale_by_learning_rate{o.learning_rate});
}

template <class Params>
struct dowg_state {
  Params first{};              ///< the parameters before the first update
  array weighted = zeros({});  ///< the sum of squared norms times squared distances
  array distance = zeros({});  ///< the greatest squared distance from the first parameters
};
/// u * r / (sqrt(V) + eps), with the greatest squared distance r, and V = V + r |u|^2.
/// source  optax.contrib.scale_by_dowg; Khaled et al. 2023, arXiv:2305.16284
struct scale_by_dowg {
  array eps = 1e-4;
  array first_distance{};  ///< squared; none: eps

  template <class Params>
  constexpr dowg_state<Params> init(const Params& params) const {
    array distance = eps;
    if (first_distance.exists()) distance = first_distance;
    return {parameters_of(params), zeros({}), astype(distance, f32)};
  }
  template <class Params>
  constexpr std::pair<Params, dowg_state<Params>> update(const Params& u, const dowg_state<Params>& s,
                                                         const Params& params) const {
    const Params moved = tree::sub(s.first, params);
    const array distance = maximum(s.distance, tree::vdot(moved, moved));
    const array weighted = distance * tree::vdot(u, u) + s.weighted;
    return {tree::scale(distance / (sqrt(weighted) + eps), u), {s.first, weighted, distance}};
  }
};

template <class Schedule = schedule, class Mask = mask>
struct dowg_options {
  Schedule learning_rate = 1.0;
  array first_distance{}, eps = 1e-4, weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// source  optax.contrib.dowg
template <class Options = dowg_options<>>
constexpr auto dowg(const Options& o) {
  return chain(add_decayed_weights{o.weight_decay, o.only}, scale_by_dowg{o.eps, o.first_distance},
               scale_by_learning_rate{o.learning_rate});
}

template <class Params>
struct distance_over_gradients_state {
  Params distances{};  ///< the greatest distance of each leaf from its first value
  Params squares{};    ///< the sum of squares of the gradients of each leaf
  Params first{};      ///< the parameters before the first update
};
/// The same leaf by leaf: u * global_scale r / sqrt(G + eps), where r begins at reps_rel (1 + |p|).
/// dtypes  state of leaves of 16 bits is f32
/// source  optax.scale_by_distance_over_gradients
struct scale_by_distance_over_gradients {
  double reps_rel = 1e-6;
  array eps = 1e-8, global_scale = 1.0;

  template <class Params>
  constexpr distance_over_gradients_state<Params> init(const Params& params) const {
    const Params start = for_averages(zeros_like(params));
    auto far = [this](const array& like, const array& p) { return reps_rel * (1.0 + length(astype(p, like.dtype()))); };
    return {map_floating(far, start, params), map_floating([](const array& p) { return zeros({}, p.dtype()); }, start),
            map_floating([](const array& like, const array& p) { return astype(p, like.dtype()); }, start, params)};
  }
  template <class Params>
  constexpr std::pair<Params, distance_over_gradients_state<Params>> update(
      const Params& u, const distance_over_gradients_state<Params>& s, const Params& params) const {
    auto far = [](const array& d, const array& first, const array& p) {
      return maximum(d, length(astype(p, first.dtype()) - first));
    };
    auto add = [](const array& n, const array& x) {
      const array wide = astype(x, n.dtype());
      return n + sum(wide * wide);
    };
    const Params distances = map_floating(far, s.distances, s.first, params), squares = map_floating(add, s.squares, u);
    auto step = [this](const array& x, const array& d, const array& n) {
      return astype(global_scale * (d / sqrt(n + eps)) * astype(x, d.dtype()), x.dtype());
    };
    return {map_floating(step, u, distances, squares), {distances, squares, s.first}};
  }

 private:
  static constexpr array length(const array& x) { return sqrt(sum(x * x)); }
};

}  // namespace tokamax::optim
