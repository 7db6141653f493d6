// tokamax/optim/perturbations.hpp: gradients of functions that have none, by the mean over noise.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/lax/stop_gradient.hpp>  // stop_gradient
#include <tokamax/numpy/statistics.hpp>   // mean
#include <tokamax/optim/tree.hpp>         // random_like
#include <tokamax/random/samplers.hpp>    // normal, gumbel
#include <tokamax/transforms/vmap.hpp>    // vmap

namespace tokamax::optim {

/// Noises: how a sample is drawn, and the logarithm of its density without a constant.
/// source  optax.perturbations.Normal, Gumbel
struct normal_noise {
  static constexpr array sample(const random::key& k, const shape& s, dtype type) { return random::normal(k, s, type); }
  static constexpr array log_prob(const array& x) { return -0.5 * x * x; }
};
struct gumbel_noise {
  static constexpr array sample(const random::key& k, const shape& s, dtype type) { return random::gumbel(k, s, type); }
  static constexpr array log_prob(const array& x) { return -x - exp(-x); }
};

/// Independent normal numbers with means `loc` and deviations exp(log_scale), which gradients reach through samples.
/// source  optax.multi_normal
struct multi_normal {
  array loc, log_scale;

  constexpr array sample(const random::key& k, const shape& s = {}) const {
    shape all = s;
    for (int i = 0; i < loc.rank(); ++i) all.push_back(loc.extent(i));
    return loc + random::normal(k, all, loc.dtype()) * exp(log_scale);
  }
  /// The logarithm of the density, summed over the last axis.
  constexpr array log_prob(const array& x) const {
    const array z = (x - loc) * exp(-log_scale);
    return sum(-0.5 * z * z - log_scale - 0.91893853320467274178, {.axis = {-1}});
  }
};

template <class Noise = gumbel_noise>
struct perturbed_options {
  int num_samples = 1000;
  double sigma = 0.1;
  Noise noise{};
  bool use_baseline = true;  ///< less variance of the gradient, for one more call of f
};

/// The mean of f(x + sigma z) over samples z, as a function of a key and x. Its gradient is that of the mean, also where f is
/// constant in pieces: the samples' values, times the gradients of the logarithms of their densities.
/// source  optax.perturbations.make_perturbed_fun; Berthet et al. 2020, arXiv:2002.08676; Foerster et al. 2018, arXiv:1802.05098
template <class F, class Noise = gumbel_noise>
constexpr auto make_perturbed_fun(F f, perturbed_options<Noise> o = {}) {
  return [f, o]<class Tree>(const random::key& k, const Tree& x) {
    const auto baseline = f(map_floating([](const array& a) { return stop_gradient(a); }, x));
    using result = std::remove_cvref_t<decltype(baseline)>;
    const auto once = [&](const random::key& mine, const Tree& at) -> result {
      const Tree noise = tree::random_like(
          mine, at, [](const random::key& one, const shape& s, dtype type) { return Noise::sample(one, s, type); });
      const Tree shifted =
          map_floating([&](const array& a, const array& z) { return stop_gradient(a + o.sigma * z); }, at, noise);
      const Tree drawn = map_floating([&](const array& a, const array& s) { return (s - a) / o.sigma; }, at, shifted);
      const array log_prob = tree::sum(map_floating([](const array& z) { return Noise::log_prob(z); }, drawn));
      const array one = exp(log_prob - stop_gradient(log_prob));  // 1, whose gradient is that of log_prob
      const result value = tree::scale(one, f(shifted));
      if (!o.use_baseline) return value;
      return tree::add_scale(value, 1.0 - one, baseline);
    };
    const array keys = random::split(k, {o.num_samples});
    const auto each = [&](const array& key, const Tree& at) { return once(random::key(key), at); };
    const result all = vmap(each, std::tuple{0, not_mapped})(keys, x);
    return map_floating([](const array& a) { return mean(a, {.axis = {0}}); }, all);
  };
}

}  // namespace tokamax::optim
