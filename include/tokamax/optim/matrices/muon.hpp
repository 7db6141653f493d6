// tokamax/optim/matrices/muon.hpp: steps by orthogonal matrices.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
#pragma once

#include <tokamax/lax/indexing/slice.hpp>            // slice_in_dim
#include <tokamax/lax/shapes/concatenate.hpp>        // concatenate
#include <tokamax/optim/adaptive/adam.hpp>           // scale_by_adam
#include <tokamax/optim/matrices/orthogonalize.hpp>  // orthogonalize
#include <tokamax/optim/transforms/masked.hpp>       // multi_transform
#include <tokamax/optim/tree.hpp>                    // for_each_floating

#include <algorithm>  // max
#include <optional>   // optional

namespace tokamax::optim {

/// Which axes of a weight are the rows and the columns of its matrix. Other axes count matrices. A weight without rows has
/// no matrix.
struct muon_dimensions {
  axes reduction{}, output{};
};
/// The axes of a matrix, and none of other weights.
constexpr muon_dimensions of_matrices(const array& p) {
  if (p.rank() == 2) return {{0}, {1}};
  return {};
}

namespace detail {
/// The matrices of a weight: [count, reduction, output], and the way back.
struct weight_matrices {
  axes order, back;
  shape ordered;
  std::int64_t count = 1, reduction = 1, output = 1;

  constexpr weight_matrices(const array& x, const muon_dimensions& d) {
    const int rank = x.rank();
    const axes rows = within(d.reduction, rank), columns = within(d.output, rank);
    for (int a = 0; a < rank; ++a)
      if (!rows.contains(a) && !columns.contains(a)) add(x, a, count);
    for (const std::int64_t a : rows) add(x, static_cast<int>(a), reduction);
    for (const std::int64_t a : columns) add(x, static_cast<int>(a), output);
    back = order;
    for (int i = 0; i < rank; ++i) back[static_cast<int>(order[i])] = i;
  }
  constexpr array matrices(const array& x) const { return reshape(transpose(x, order), {count, reduction, output}); }
  constexpr array weight(const array& m) const { return transpose(reshape(m, ordered), back); }

 private:
  constexpr static axes within(const axes& of, int rank) {
    axes result;
    for (const std::int64_t a : of) {
      if (a < -rank || a >= rank)
        reject(nullptr, location(), "muon: dimensions", message() << "axis " << a,
               message() << "an axis of rank " << rank);
      result.push_back(a < 0 ? a + rank : a);
    }
    return result;
  }
  constexpr void add(const array& x, int axis, std::int64_t& product) {
    if (order.contains(axis))
      reject(nullptr, location(), "muon: dimensions", message() << "axis " << axis << " twice", "each axis once");
    order.push_back(axis);
    ordered.push_back(x.extent(axis));
    product *= x.extent(axis);
  }
};
}  // namespace detail

template <class Params>
struct muon_state {
  array count = zeros({}, i32);        ///< updates so far
  Params mu = for_averages(Params{});  ///< averages of gradients
};

/// The orthogonal matrix beside an average gradient, times sqrt(max(1, n / m)) for a kernel [m, n], or with `consistent_rms` r
/// times r sqrt(max(m, n)). With `adaptive` it is also scaled by its product with the gradient. With `one_product` all matrices of
/// one shape are products of one batch, which makes programs of deep models short.
///
/// shapes  `dimensions` gives each floating parameter a matrix; give it the others' by `masked` or `multi_transform`
/// dtypes  averages and products of matrices of 16 bits are f32
/// errors  "muon: dimensions" for an axis that is not there, or twice, or for a weight without a matrix
/// source  optax.contrib.scale_by_muon, scale_by_shape
struct scale_by_muon {
  int steps = 5;
  array beta = 0.95;
  double eps = 1e-8;
  bool nesterov = true, adaptive = false;
  double consistent_rms = 0;  ///< 0: none
  newton_schulz_coefficients coefficients = muon_coefficients;
  optim::preconditioning preconditioning = optim::preconditioning::frobenius;
  muon_dimensions (*dimensions)(const array&) = of_matrices;
  bool one_product = false;
  dtype mu_dtype = dtype::none;  ///< in which mu is kept; none: f32, and f64 of f64

  template <class Params>
  constexpr muon_state<Params> init(const Params& params) const {
    return {zeros({}, i32), detail::kept(for_averages(zeros_like(params)), mu_dtype)};
  }
  template <class Params>
  constexpr std::pair<Params, muon_state<Params>> update(const Params& g, const muon_state<Params>& s,
                                                         const Params&) const {
    const array count = incremented(s.count);
    const Params mu = detail::moved(beta, detail::widened(s.mu, mu_dtype), g);
    const detail::corrected_mean mean(beta, nesterov, astype(count, f32));
    vec<detail::weight_matrices> shapes;
    arrays averages, matrices;
    detail::for_each_floating(
        [&](const array& m, const array& x) {
          const muon_dimensions d = dimensions(x);
          if (d.reduction.rank() == 0) reject(x, location(), "muon: dimensions", x.type(), "a weight with a matrix");
          shapes.push_back(detail::weight_matrices(x, d));
          averages.push_back(mean(m, x));
          matrices.push_back(shapes.back().matrices(averages.back()));
        },
        mu, g);
    orthogonalize_all(matrices);
    std::size_t at = 0;
    auto step = [&](const array&, const array& x) {
      array y = shapes[at].weight(matrices[at]);
      if (adaptive) y = sum(averages[at] * y) * y;
      return astype(y * factor(shapes[at++]), x.dtype());
    };
    return {map_floating(step, mu, g), {count, detail::kept(mu, mu_dtype)}};
  }

 private:
  /// Puts orthogonal matrices in the place of those that are given: [count, m, n] each.
  constexpr void orthogonalize_all(arrays& xs) const {
    const orthogonalize_options o{steps, eps, coefficients, preconditioning};
    vec<int> done(xs.size(), 0);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      if (done[i]) continue;
      arrays group;
      for (std::size_t j = i; j < xs.size(); ++j) {
        if (j > i && (!one_product || !same_matrices(xs[i], xs[j]))) continue;
        group.push_back(xs[j]);
        done[j] = 1;
      }
      if (group.size() == 1 && xs[i].extent(0) == 1) {
        xs[i] = expand_dims(orthogonalize(squeeze(xs[i], 0), o), 0);
        continue;
      }
      const array all = orthogonalize(concatenate(group, 0), o);
      std::int64_t from = 0;
      for (std::size_t j = i; j < xs.size(); ++j) {
        if (j > i && (!one_product || !same_matrices(xs[i], xs[j]))) continue;
        const std::int64_t to = from + xs[j].extent(0);
        xs[j] = slice_in_dim(all, from, to, 0);
        from = to;
      }
    }
  }
  static constexpr bool same_matrices(const array& a, const array& b) {
    return a.extent(1) == b.extent(1) && a.extent(2) == b.extent(2) && a.dtype() == b.dtype();
  }
  constexpr double factor(const detail::weight_matrices& w) const {
    const double m = static_cast<double>(std::max<std::int64_t>(w.reduction, 1)), n = static_cast<double>(w.output);
    if (consistent_rms > 0) return consistent_rms * detail::root(std::max(m, n));
    return detail::root(std::max(1.0, n / m));
  }
};

template <class Schedule = schedule, class Mask = mask>
struct muon_options {
  Schedule learning_rate;
  int steps = 5;
  array beta = 0.95;
  double eps = 1e-8;
  array weight_decay = 0.0;
  Mask only = everything;  ///< the matrices that decay
  bool nesterov = true, adaptive = false;
  double consistent_rms = 0;
  array adam_b1 = 0.9, adam_b2 = 0.999, adam_eps_root = 0.0, adam_weight_decay = 0.0;
  std::optional<Schedule> adam_learning_rate{};  ///< none: learning_rate
  newton_schulz_coefficients coefficients = muon_coefficients;
  optim::preconditioning preconditioning = optim::preconditioning::frobenius;
  muon_dimensions (*dimensions)(const array&) = of_matrices;  ///< parameters without rows are Adam's
  bool one_product = false;
  dtype mu_dtype = dtype::none;
};

/// Muon for matrices, and Adam for all other parameters, with the same rate unless another is given. Leave embeddings and heads to Adam
/// by a `multi_transform` of your own.
/// source  optax.contrib.muon; Jordan 2024; Liu et al. 2025, arXiv:2502.16982
template <class Options = muon_options<>>
constexpr auto muon(const Options& o) {
  const scale_by_muon matrices{o.steps,      o.beta,           o.eps,          o.nesterov,
                               o.adaptive,   o.consistent_rms, o.coefficients, o.preconditioning,
                               o.dimensions, o.one_product,    o.mu_dtype};
  const scale_by_adam others{o.adam_b1, o.adam_b2, o.eps, o.adam_eps_root, o.nesterov, o.mu_dtype};
  return multi_transform(
      [of = o.dimensions](const array& p) { return of(p).reduction.rank() > 0; },
      labelled{true,
               chain(matrices, add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate})},
      labelled{false, chain(others, add_decayed_weights{o.adam_weight_decay},
                            scale_by_learning_rate{o.adam_learning_rate.value_or(o.learning_rate)})});
}

}  // namespace tokamax::optim
