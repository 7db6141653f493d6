// tokamax/optim/transforms/noise.hpp: gradients with noise that fades, and clipped gradients of examples with noise.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/transforms/noise.cpp
#pragma once

#include <tokamax/numpy/elementwise/parts.hpp>  // nan_to_num
#include <tokamax/numpy/matmul.hpp>             // matmul
#include <tokamax/optim/descent/sgd.hpp>        // optional_trace
#include <tokamax/optim/transforms/scale.hpp>   // scale_by_learning_rate
#include <tokamax/optim/tree.hpp>               // random_like
#include <tokamax/random/samplers.hpp>          // normal

namespace tokamax::optim {

namespace detail {
inline constexpr auto normal_sample = [](const random::key& k, const shape& s, dtype type) {
  return random::normal(k, s, type);
};
}  // namespace detail

struct noise_state {
  array count = zeros({}, i32);  ///< updates so far
  random::key key{};
};

/// updates + sqrt(eta / t^gamma) times normal noise.
/// source  optax.add_noise; Neelakantan et al. 2014, arXiv:1511.06807
struct add_noise {
  array eta, gamma;
  std::uint32_t seed = 0;

  template <class Params>
  constexpr noise_state init(const Params&) const {
    return {zeros({}, i32), random::key(seed)};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, noise_state> update(const Updates& updates, const noise_state& s, const Params&) const {
    const array count = incremented(s.count), size = sqrt(eta / power(astype(count, f32), astype(gamma, f32)));
    const auto [kept, mine] = random::split(s.key);
    return {tree::add_scale(updates, size, tree::random_like(mine, updates, detail::normal_sample)), {count, kept}};
  }
};

template <class Schedule = schedule>
struct noisy_sgd_options {
  Schedule learning_rate;
  array eta = 0.01, gamma = 0.55;
  std::uint32_t seed = 0;
};
/// Gradient descent with noise that fades.
/// source  optax.noisy_sgd
template <class Options = noisy_sgd_options<>>
constexpr auto noisy_sgd(const Options& o) {
  return chain(add_noise{o.eta, o.gamma, o.seed}, scale_by_learning_rate{o.learning_rate});
}

/// The sum of gradients of examples, each of which is scaled down to a joint norm of `limit`, and how many were.
/// shapes  leaves [examples, ...] -> these without the first axis, and an i32 scalar
/// errors  "per_example_global_norm_clip: gradient" without the axis of examples
/// source  optax.per_example_global_norm_clip; Abadi et al. 2016, arXiv:1607.00133
template <class Tree>
constexpr std::pair<Tree, array> per_example_global_norm_clip(const Tree& gradients, double limit,
                                                              source_line l = source_line::current()) {
  std::int64_t examples = -1;
  array squares;
  detail::for_each_floating(
      [&](const array& g) {
        if (g.rank() == 0 || (examples >= 0 && g.extent(0) != examples)) {
          reject(g, l, "per_example_global_norm_clip: gradient", g.type(), "a leading axis of examples");
          return;
        }
        const array flat =
            reshape(astype(g, carrying(g.dtype())), {g.extent(0), g.extent(0) == 0 ? 0 : g.size() / g.extent(0)});
        const array mine = sum(flat * flat, {.axis = {1}});
        squares = examples < 0 ? mine : squares + mine;
        examples = g.extent(0);
      },
      gradients);
  if (examples < 0) return {gradients, zeros({}, i32)};
  const array factor = nan_to_num(minimum(limit / sqrt(squares), array(1.0)), {.nan = 1.0});
  auto total = [&](const array& g) {
    shape rest;
    for (int i = 1; i < g.rank(); ++i) rest.push_back(g.extent(i));
    const array flat = reshape(g, {g.extent(0), size(rest)});
    return reshape(matmul(astype(factor, g.dtype()), flat), rest);
  };
  return {map_floating(total, gradients), sum(astype(factor < 1.0, i32))};
}

/// The same for each leaf on its own: with `uniform` the square of the limit is shared by the leaves in equal parts, and
/// otherwise by their sizes.
/// source  optax.per_example_layer_norm_clip; McMahan et al. 2018, arXiv:1812.06210
template <class Tree>
constexpr std::pair<Tree, Tree> per_example_layer_norm_clip(const Tree& gradients, double limit, bool uniform = true,
                                                            source_line l = source_line::current()) {
  double leaves = 0, all = 0;
  detail::for_each_floating(
      [&](const array& g) {
        leaves += 1;
        all += static_cast<double>(g.size());
      },
      gradients);
  auto share = [&](const array& g) {
    return limit * std::sqrt(uniform ? 1 / leaves : static_cast<double>(g.size()) / all);
  };
  auto clip_one = [&](const array& g) { return per_example_global_norm_clip(g, share(g), l); };
  return {map_floating([&](const array& g) { return clip_one(g).first; }, gradients),
          map_floating([&](const array& g) { return clip_one(g).second; }, gradients)};
}

struct private_state {
  random::key key{};
};

/// The mean of gradients of examples, each scaled down to the norm `l2_norm_clip`, with normal noise of deviation
/// l2_norm_clip noise_multiplier in their sum.
/// shapes  leaves [examples, ...] -> these without the first axis
/// source  optax.contrib.differentially_private_aggregate; Abadi et al. 2016, arXiv:1607.00133
struct differentially_private_aggregate {
  double l2_norm_clip, noise_multiplier;
  std::uint32_t seed = 0;

  template <class Params>
  constexpr private_state init(const Params&) const {
    return {random::key(seed)};
  }
  template <class Updates, class Params>
  constexpr std::pair<Updates, private_state> update(const Updates& updates, const private_state& s,
                                                     const Params&) const {
    const double deviation = l2_norm_clip * noise_multiplier;
    const Updates total = per_example_global_norm_clip(updates, l2_norm_clip).first;
    double examples = 1;
    detail::for_each_floating([&](const array& g) { examples = static_cast<double>(g.extent(0)); }, updates);
    const array keys = random::split(s.key, {static_cast<std::int64_t>(count_leaves(updates)) + 1});
    const auto key_at = [&](int i) { return random::key(squeeze(slice_in_dim(keys, i, i + 1, 0), 0)); };
    int at = 0;
    auto add = [&](const array& g) {
      return (g + deviation * random::normal(key_at(++at), g.shape(), g.dtype())) / examples;
    };
    return {map_floating(add, total), {key_at(0)}};
  }
};

template <class Schedule = schedule>
struct dpsgd_options {
  Schedule learning_rate;
  double l2_norm_clip = 1, noise_multiplier = 1;
  std::uint32_t seed = 0;
  array momentum = 0.0;  ///< 0: none
  bool nesterov = false;
};
/// What `dpsgd` returns. Its gradients have an axis of examples, which a chain would refuse.
template <class Descent>
struct private_descent {
  differentially_private_aggregate aggregate;
  Descent descent;

  template <class Params>
  constexpr auto init(const Params& params) const {
    return std::pair{aggregate.init(params), descent.init(params)};
  }
  template <class Params, class State>
  constexpr std::pair<Params, State> update(const Params& gradients, const State& s, const Params& params) const {
    auto [mean, noise] = aggregate.update(gradients, s.first, params);
    auto [updates, rest] = descent.update(mean, s.second, params);
    return {std::move(updates), State{noise, std::move(rest)}};
  }
};
/// Gradient descent by differentially_private_aggregate.
/// source  optax.contrib.dpsgd
template <class Options = dpsgd_options<>>
constexpr auto dpsgd(const Options& o) {
  auto descent = chain(optional_trace{{o.momentum, o.nesterov}}, scale_by_learning_rate{o.learning_rate});
  return private_descent<decltype(descent)>{{o.l2_norm_clip, o.noise_multiplier, o.seed}, descent};
}

}  // namespace tokamax::optim
