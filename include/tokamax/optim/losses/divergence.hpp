// tokamax/optim/losses/divergence.hpp: how far a distribution is from another, and embeddings from their kind.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/losses/losses.cpp
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>  // select
#include <tokamax/lax/reduce.hpp>               // sum

namespace tokamax::optim {

/// sum(targets * (log(targets) - log_predictions)) along an axis; targets of 0 add nothing.
/// shapes  log_predictions and targets of equal extents -> these without `axis`
/// source  optax.kl_divergence
constexpr array kl_divergence(const array& log_predictions, const array& targets, int axis = -1,
                              source_line l = source_line::current()) {
  const array logs = select(targets == 0, array(0.0), log(targets, l), l);
  return sum(targets * located(logs - log_predictions, l), {.axis = {axis}}, l);
}
/// The same for targets that are logarithms.
/// source  optax.kl_divergence_with_log_targets
constexpr array kl_divergence_with_log_targets(const array& log_predictions, const array& log_targets, int axis = -1,
                                               source_line l = source_line::current()) {
  return sum(exp(log_targets, l) * located(log_targets - log_predictions, l), {.axis = {axis}}, l);
}
/// kl_divergence + sum(exp(log_predictions) - targets), which is 0 or more if the sums differ, too.
/// source  optax.generalized_kl_divergence
constexpr array generalized_kl_divergence(const array& log_predictions, const array& targets, int axis = -1,
                                          source_line l = source_line::current()) {
  return kl_divergence(log_predictions, targets, axis, l) +
         sum(exp(log_predictions, l) - located(targets, l), {.axis = {axis}}, l);
}

/// max(0, |anchors - positives| - |anchors - negatives| + margin), with norms sqrt(sum(x^2) + eps) along an axis.
/// shapes  three arrays of equal extents -> these without `axis`
/// source  optax.triplet_margin_loss of norm_degree 2
constexpr array triplet_margin_loss(const array& anchors, const array& positives, const array& negatives, int axis = -1,
                                    double margin = 1.0, double eps = 1e-6, source_line l = source_line::current()) {
  const auto distance = [&](const array& x) {
    const array d = anchors - located(x, l);
    return sqrt(sum(d * d, {.axis = {axis}}, l) + eps, l);
  };
  return maximum(distance(positives) - distance(negatives) + margin, array(0.0), l);
}

}  // namespace tokamax::optim
