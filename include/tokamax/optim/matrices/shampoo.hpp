// tokamax/optim/matrices/shampoo.hpp: gradients between roots of the sums of their products.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/beyond_optax.cpp
#pragma once

#include <tokamax/lax/elementwise/division.hpp>      // rem
#include <tokamax/lax/shapes/transpose.hpp>          // swapaxes
#include <tokamax/linalg/eigh.hpp>                   // eigh
#include <tokamax/numpy/matmul.hpp>                  // matmul
#include <tokamax/optim/descent/sgd.hpp>             // optional_trace
#include <tokamax/optim/second_order/lbfgs.hpp>      // arrays_like
#include <tokamax/transforms/control_flow/cond.hpp>  // cond

namespace tokamax::optim {

namespace detail {
/// A leaf as a matrix [m, n]: all axes but the last are rows. A vector or a number is one column.
constexpr array as_matrix(const array& x) {
  if (x.rank() < 2) return reshape(x, {x.size(), 1});
  const std::int64_t n = x.extent(x.rank() - 1);
  std::int64_t m = 1;
  for (int i = 0; i + 1 < x.rank(); ++i) m *= x.extent(i);
  return reshape(x, {m, n});
}
}  // namespace detail

template <class Params>
struct shampoo_state {
  using memory = typename detail::arrays_like<Params>::type;
  array count = zeros({}, i32);      ///< updates so far
  memory left{}, right{};            ///< sums of g g^T: [m, m], and of g^T g: [n, n]
  memory left_root{}, right_root{};  ///< their inverse roots
};

/// l = b2 l + w g g^T and r = b2 r + w g^T g from eps I, with w = 1 - b2, or 1 if b2 is 1, for each leaf as a matrix g [m, n]
/// (all axes but the last are rows, a vector is a column). The update is
///
///   l^(-1/4) g r^(-1/4),   l^(-1/2) g for vectors
///
/// with the roots of each `update_interval`th call, eigenvalues below eps counting as eps. A side above `max_dim` has no matrix.
/// dtypes  f32, also for leaves of 16 bits
/// errors  "shampoo: update_interval" below 1
/// source  Gupta, Koren, Singer 2018, arXiv:1802.09568; Anil et al. 2020, arXiv:2002.09018
struct scale_by_shampoo {
  array b2 = 1.0;
  double eps = 1e-4;
  int update_interval = 1;
  std::int64_t max_dim = 8192;

  template <class Params>
  constexpr shampoo_state<Params> init(const Params& params) const {
    if (update_interval < 1)
      reject(nullptr, location(), "shampoo: update_interval", message() << update_interval, "1 or more");
    const Params start = for_averages(zeros_like(params));
    const auto identities = [&](bool right, double value) {
      const auto side = [&](const array& p) { return identity_of(detail::as_matrix(p), p, right, value); };
      return tree_map<array>(side, start);
    };
    return {zeros({}, i32), identities(false, eps), identities(true, eps), identities(false, 1), identities(true, 1)};
  }
  template <class Params>
  constexpr std::pair<Params, shampoo_state<Params>> update(const Params& g, const shampoo_state<Params>& s,
                                                            const Params&) const {
    using memory = typename shampoo_state<Params>::memory;
    const array now = rem(s.count, array(update_interval)) == 0;
    const array weight = b2.is_literal() && as_double(b2.literal_as(f64), f64) == 1 ? array(1.0) : detail::rest(b2);
    const auto folded = [&](const memory& sums, bool right) {
      auto fold = [&](const array& sum, const array& x) {
        array y = astype(detail::as_matrix(x), sum.dtype());
        if (right) y = swapaxes(y, 0, 1);
        return b2 * sum + weight * matmul(y, swapaxes(y, 0, 1));
      };
      return map_floating(fold, sums, g);
    };
    const auto rooted = [&](const memory& roots, const memory& sums) {
      auto renew = [&](const array& before, const array& sum, const array& x) {
        const double power = x.rank() < 2 ? -0.5 : -0.25;
        const auto find = [&](const array& m, const array&) { return power_of(m, power); };
        const auto keep = [](const array&, const array& b) { return b; };
        return cond(now, find, keep, sum, before);
      };
      return map_floating(renew, roots, sums, g);
    };
    const memory left = folded(s.left, false), right = folded(s.right, true);
    const memory left_root = rooted(s.left_root, left), right_root = rooted(s.right_root, right);
    auto step = [](const array& x, const array& l, const array& r) {
      array y = astype(detail::as_matrix(x), carrying(x.dtype()));
      if (!is_absent(l)) y = matmul(l, y);
      if (!is_absent(r)) y = matmul(y, r);
      return astype(reshape(y, x.shape()), x.dtype());
    };
    return {map_floating(step, g, left_root, right_root), {incremented(s.count), left, right, left_root, right_root}};
  }

 private:
  constexpr array identity_of(const array& m, const array& p, bool right, double value) const {
    const std::int64_t n = m.extent(right ? 1 : 0);
    if (!is_floating(p.dtype()) || n > max_dim || n == 0 || (right && p.rank() < 2)) return absent();
    return value * astype(iota(i32, {n, n}, 0) == iota(i32, {n, n}, 1), p.dtype());
  }
  constexpr array power_of(const array& m, double power) const {
    const auto [values, vectors] = linalg::eigh(m);
    const array scaled = vectors * expand_dims(tokamax::power(maximum(values, array(eps)), array(power)), 0);
    return matmul(scaled, swapaxes(vectors, 0, 1));
  }
};

template <class Schedule = schedule, class Mask = mask>
struct shampoo_options {
  Schedule learning_rate;
  array b2 = 1.0;
  double eps = 1e-4;
  int update_interval = 1;
  std::int64_t max_dim = 8192;
  array momentum = 0.9;
  bool nesterov = false;
  array weight_decay = 0.0;
  Mask only = everything;  ///< the parameters that decay
};
/// Shampoo with momentum of its updates.
template <class Options = shampoo_options<>>
constexpr auto shampoo(const Options& o) {
  return chain(scale_by_shampoo{o.b2, o.eps, o.update_interval, o.max_dim}, add_decayed_weights{o.weight_decay, o.only},
               optional_trace{{o.momentum, o.nesterov}}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
