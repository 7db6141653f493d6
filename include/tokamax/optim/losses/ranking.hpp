// tokamax/optim/losses/ranking.hpp: losses of orders, and of sparse distributions.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/losses/losses.cpp
#pragma once

#include <tokamax/lax/iota.hpp>           // one_hot
#include <tokamax/lax/reduce.hpp>         // sum
#include <tokamax/numpy/statistics.hpp>   // mean
#include <tokamax/ops/softmax.hpp>        // log_softmax
#include <tokamax/optim/projections.hpp>  // projection_simplex
#include <tokamax/transforms/vmap.hpp>    // vmap

#include <limits>  // infinity

namespace tokamax::optim {

/// What is left of a list of losses.
enum class reduction { none, sum, mean };

struct ranking_options {
  array where{};    ///< items that count; none: all
  array weights{};  ///< of labels; none: 1
  reduction reduce = reduction::mean;
};
/// -sum(labels * log_softmax(logits)) over the items of each list. Lists without items count as nothing.
/// shapes  logits and labels [..., items] -> a scalar, or [...] unreduced
/// source  optax.ranking_softmax_loss
constexpr array ranking_softmax_loss(const array& logits, const array& labels, const ranking_options& o = {},
                                     source_line l = source_line::current()) {
  array relevance = astype(labels, logits.dtype(), l), scores = logits;
  const array zero = zeros_like(scores);
  if (o.where.exists()) {
    relevance = select(o.where, relevance, zero, l);
    scores = select(o.where, logits, full(logits.shape(), -std::numeric_limits<float>::infinity(), logits.dtype()), l);
  }
  if (o.weights.exists()) relevance = relevance * located(o.weights, l);
  array logs = log_softmax(scores, -1, l);
  if (o.where.exists()) logs = select(o.where, logs, zero, l);
  const array losses = -sum(relevance * logs, {.axis = {-1}}, l);
  if (!o.where.exists()) {
    if (o.reduce == reduction::none) return losses;
    if (o.reduce == reduction::sum) return sum(losses);
    return mean(losses);
  }
  const array lists = any(o.where, {.axis = {-1}}), kept = select(lists, losses, zeros_like(losses));
  if (o.reduce == reduction::none) return kept;
  if (o.reduce == reduction::sum) return sum(kept);
  return sum(kept) / maximum(sum(astype(lists, kept.dtype())), ones({}, kept.dtype()));
}

/// <p, s - s_label> + (1 - <p, p>) / 2 with the projection p of the scores s onto the simplex.
/// shapes  scores [batch, classes], labels integers [batch] -> [batch]
/// source  optax.multiclass_sparsemax_loss; Martins, Astudillo 2016, arXiv:1602.02068
constexpr array multiclass_sparsemax_loss(const array& scores, const array& labels,
                                          source_line l = source_line::current()) {
  const array hot = one_hot(labels, scores.extent(scores.rank() - 1), scores.dtype(), l);
  const auto one = [](const array& s, const array& h) {
    const array p = projection_simplex(s);
    return sum(p * (s - sum(h * s))) + 0.5 * (1.0 - sum(p * p));
  };
  return vmap(one)(scores, hot);
}

}  // namespace tokamax::optim
