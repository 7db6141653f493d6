// tokamax/optim/matrices/soap.hpp: Adam in the eigenvectors of Shampoo's matrices.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/beyond_optax.cpp
#pragma once

#include <tokamax/lax/elementwise/division.hpp>      // rem
#include <tokamax/lax/shapes/transpose.hpp>          // swapaxes
#include <tokamax/linalg/eigh.hpp>                   // eigh
#include <tokamax/linalg/qr.hpp>                     // qr
#include <tokamax/numpy/manipulation/flip.hpp>       // flip
#include <tokamax/numpy/matmul.hpp>                  // matmul
#include <tokamax/optim/second_order/lbfgs.hpp>      // arrays_like
#include <tokamax/optim/transforms/moments.hpp>      // moved, share
#include <tokamax/optim/transforms/scale.hpp>        // scale_by_learning_rate
#include <tokamax/transforms/control_flow/cond.hpp>  // cond

namespace tokamax::optim {

template <class Params>
struct soap_state {
  using memory = typename detail::arrays_like<Params>::type;
  array count = zeros({}, i32);        ///< calls so far, of which the first makes no update
  Params mu{}, nu{};                   ///< averages of gradients, and of their squares among the eigenvectors
  memory left{}, right{};              ///< averages of g g^T: [m, m], and of g^T g: [n, n]
  memory left_basis{}, right_basis{};  ///< their eigenvectors, those of large eigenvalues first
};

/// For a matrix g [m, n] and the averages l of g g^T and r of g^T g with eigenvectors p and q, Adam runs on h = p^T g q:
///
///   mu = b1 mu + (1 - b1) g,  nu = b2 nu + (1 - b2) h^2,  u = p (p^T mu q / (1 - b1^t) / (sqrt(nu / (1 - b2^t)) + eps)) q^T
///
/// The first call finds p and q and makes no update. l and r follow each update, and each `precondition_frequency`th one turns p
/// and q by a step of the power method: the orthogonal factors of l p and r q. A side above `max_dim` is not turned. Leaves of
/// other ranks are Adam's.
/// dtypes  f32, also for leaves of 16 bits
/// errors  "soap: precondition_frequency" below 1
/// source  Vyas et al. 2024, arXiv:2409.11321, algorithm 3
struct scale_by_soap {
  array b1 = 0.95, b2 = 0.95, shampoo_beta = 0.95, eps = 1e-8;
  int precondition_frequency = 10;
  std::int64_t max_dim = 10000;

  template <class Params>
  constexpr soap_state<Params> init(const Params& params) const {
    if (precondition_frequency < 1)
      reject(nullptr, location(), "soap: precondition_frequency", message() << precondition_frequency, "1 or more");
    const Params start = for_averages(zeros_like(params));
    const auto squares = [&](int axis) {
      return tree_map<array>(
          [&](const array& p) {
            if (p.rank() != 2 || p.size() == 0 || p.extent(axis) > max_dim) return absent();
            return zeros({p.extent(axis), p.extent(axis)}, p.dtype());
          },
          start);
    };
    return {zeros({}, i32), start, start, squares(0), squares(1), squares(0), squares(1)};
  }
  template <class Params>
  constexpr std::pair<Params, soap_state<Params>> update(const Params& g, const soap_state<Params>& s,
                                                         const Params&) const {
    using memory = typename soap_state<Params>::memory;
    const array first = s.count == 0, t = maximum(astype(s.count, f32), array(1.0));
    const auto stay = [&](const Params& before, const Params& after) {
      return map_floating([&](const array& b, const array& a) { return select(first, b, a); }, before, after);
    };
    const Params mu = stay(s.mu, detail::moved(b1, s.mu, g));
    auto square = [&](const array& n, const array& x, const array& p, const array& q) {
      const array h = turned(astype(x, n.dtype()), p, q, false);
      return detail::averaged(b2, h * h, n);
    };
    const Params nu = stay(s.nu, map_floating(square, s.nu, g, s.left_basis, s.right_basis));
    const array mu_share = detail::share(b1, t), nu_share = detail::share(b2, t);
    auto step = [&](const array& x, const array& m, const array& n, const array& p, const array& q) {
      const array h = detail::corrected(turned(m, p, q, false), mu_share);
      const array u = turned(h / (sqrt(detail::corrected(n, nu_share)) + eps), p, q, true);
      return astype(select(first, zeros_like(u), u), x.dtype());
    };
    const Params updates = map_floating(step, g, mu, nu, s.left_basis, s.right_basis);
    const memory left = followed(s.left, g, false), right = followed(s.right, g, true);
    return {updates,
            {incremented(s.count), mu, nu, left, right, turned_bases(s.count, s.left_basis, left),
             turned_bases(s.count, s.right_basis, right)}};
  }

 private:
  /// p^T x q, or p x q^T on the way back; a side without a matrix stays.
  static constexpr array turned(const array& x, const array& p, const array& q, bool back) {
    array y = x;
    if (!is_absent(p)) y = matmul(back ? p : swapaxes(p, 0, 1), y);
    if (!is_absent(q)) y = matmul(y, back ? swapaxes(q, 0, 1) : q);
    return y;
  }
  template <class Memory, class Params>
  constexpr Memory followed(const Memory& averages, const Params& g, bool right) const {
    auto fold = [&](const array& a, const array& x) {
      array y = astype(x, a.dtype());
      if (right) y = swapaxes(y, 0, 1);
      return detail::averaged(shampoo_beta, matmul(y, swapaxes(y, 0, 1)), a);
    };
    return map_floating(fold, averages, g);
  }
  template <class Memory>
  constexpr Memory turned_bases(const array& count, const Memory& bases, const Memory& averages) const {
    const array first = count == 0, now = rem(count, array(precondition_frequency)) == 0;
    const auto vectors = [](const array& a, const array&) { return flip(linalg::eigh(a).eigenvectors, {1}); };
    const auto follow = [&](const array& a, const array& b) {
      const auto power = [](const array& m, const array& v) { return linalg::qr(matmul(m, v)).q; };
      const auto keep = [](const array&, const array& v) { return v; };
      return cond(now, power, keep, a, b);
    };
    auto renew = [&](const array& b, const array& a) { return cond(first, vectors, follow, a, b); };
    return map_floating(renew, bases, averages);
  }
};

template <class Schedule = schedule, class Mask = mask>
struct soap_options {
  Schedule learning_rate;
  array b1 = 0.95, b2 = 0.95, shampoo_beta = 0.95, eps = 1e-8;
  int precondition_frequency = 10;
  std::int64_t max_dim = 10000;
  array weight_decay = 0.01;
  Mask only = everything;  ///< the parameters that decay
};
/// SOAP with decoupled weight decay.
template <class Options = soap_options<>>
constexpr auto soap(const Options& o) {
  return chain(scale_by_soap{o.b1, o.b2, o.shampoo_beta, o.eps, o.precondition_frequency, o.max_dim},
               add_decayed_weights{o.weight_decay, o.only}, scale_by_learning_rate{o.learning_rate});
}

}  // namespace tokamax::optim
