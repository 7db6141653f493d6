// tokamax/optim/losses/divergence.hpp: how far a distribution is from another, and embeddings from their kind.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/losses/losses.cpp
#pragma once

#include <tokamax/lax/elementwise/compare.hpp>  // select
#include <tokamax/lax/reduce.hpp>               // sum
#include <tokamax/lax/stop_gradient.hpp>        // stop_gradient
#include <tokamax/optim/losses/regression.hpp>  // cosine_similarity

#include <limits>  // infinity

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

/// The mean over pairs (i, k) with equal labels of
///
///   -log(exp(s_ik) / (exp(s_ik) + sum over n with other labels of exp(s_in)))
///
/// with the cosine s of embeddings over `temperature`.
///
/// shapes  embeddings [batch, features], labels [batch] -> a scalar
/// errors  "ntxent: labels" of another batch
/// source  optax.ntxent; Chen et al. 2020, arXiv:2002.05709
constexpr array ntxent(const array& embeddings, const array& labels, double temperature = 0.07,
                       source_line l = source_line::current()) {
  if (embeddings.rank() != 2 || labels.rank() != 1 || labels.extent(0) != embeddings.extent(0)) {
    reject(embeddings, l, "ntxent: labels", labels.type(), message("one for each row of ") << embeddings.type());
    return embeddings;
  }
  const std::int64_t n = labels.extent(0);
  const array rows = expand_dims(embeddings, 0), columns = expand_dims(embeddings, 1);
  const array s = cosine_similarity(broadcast_to(rows, {n, n, embeddings.extent(1)}),
                                    broadcast_to(columns, {n, n, embeddings.extent(1)}), 1.1920929e-7, -1, l) /
                  temperature;
  const array same = expand_dims(labels, 1) == expand_dims(labels, 0);
  const array pair = logical_and(same, iota(i32, {n, n}, 0) != iota(i32, {n, n}, 1));
  const array none = full({n, n}, -std::numeric_limits<float>::infinity(), s.dtype());
  const array others = select(same, none, s), partners = select(pair, s, none);
  const array most = stop_gradient(
      maximum(max(others, {.axis = {1}, .keepdims = true}), max(partners, {.axis = {1}, .keepdims = true})));
  const array shifted = select(pair, s - most, zeros_like(s));
  const array sum_of_others = sum(exp(others - most), {.axis = {1}, .keepdims = true});
  const array logs = shifted - log(sum_of_others + exp(shifted));
  const array zero = zeros_like(s);
  return -sum(select(pair, logs, zero)) / sum(astype(pair, s.dtype()));
}

/// max_fun(scores) - sum(targets * scores) along the last axis: `make_fenchel_young_loss(f)` is that function of scores and targets.
/// shapes  scores and targets [..., n] -> [...]; max_fun gives [...] for [..., n]
/// source  optax.make_fenchel_young_loss; Blondel et al. 2020, arXiv:1901.02324
template <class MaxFun>
constexpr auto make_fenchel_young_loss(MaxFun max_fun) {
  return [max_fun](const array& scores, const array& targets) {
    return max_fun(scores) - sum(scores * targets, {.axis = {-1}});
  };
}

}  // namespace tokamax::optim
