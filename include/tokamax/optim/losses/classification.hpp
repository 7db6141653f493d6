// tokamax/optim/losses/classification.hpp: losses of scores and labels. Cross entropy is in ops/cross_entropy.hpp.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/losses/losses.cpp
#pragma once

#include <tokamax/lax/iota.hpp>                   // one_hot
#include <tokamax/lax/reduce.hpp>                 // sum, max
#include <tokamax/lax/stop_gradient.hpp>          // stop_gradient
#include <tokamax/ops/activations.hpp>            // log_sigmoid
#include <tokamax/ops/piecewise_activations.hpp>  // sparse_plus
#include <tokamax/ops/softmax.hpp>                // softmax, log_softmax

#include <limits>  // infinity

namespace tokamax::optim {

/// -y log(p) - (1 - y) log(1 - p) with p = sigmoid(logits), element by element.
/// shapes  logits and labels of equal extents -> the same; labels from 0 to 1, of any dtype
/// source  optax.sigmoid_binary_cross_entropy
constexpr array sigmoid_binary_cross_entropy(const array& logits, const array& labels,
                                             source_line l = source_line::current()) {
  const array y = astype(labels, logits.dtype(), l);
  return -y * located(log_sigmoid(logits, l), l) - (1.0 - y) * log_sigmoid(-logits, l);
}

/// The options of sigmoid_focal_loss.
struct focal_options {
  double alpha = -1;  ///< below 0: no weights
  double gamma = 2;
};
/// Binary cross entropy times (1 - p_t)^gamma, where p_t is the probability of the label: easy examples count less. With
/// `alpha` from 0 to 1, labels of 1 also weigh alpha and labels of 0 weigh 1 - alpha.
/// shapes  as sigmoid_binary_cross_entropy
/// source  optax.sigmoid_focal_loss; Lin et al. 2017, arXiv:1708.02002
constexpr array sigmoid_focal_loss(const array& logits, const array& labels, const focal_options& o = {},
                                   source_line l = source_line::current()) {
  const array y = astype(labels, logits.dtype(), l), log_p = log_sigmoid(logits, l), log_q = log_sigmoid(-logits, l);
  const array most = stop_gradient(maximum(log_p, log_q, l));
  const array log_miss = most + log((1.0 - y) * exp(log_p - most) + y * exp(log_q - most));
  const array loss = sigmoid_binary_cross_entropy(logits, y, l) * exp(o.gamma * log_miss);
  if (o.alpha < 0) return loss;
  return (o.alpha * y + (1.0 - o.alpha) * (1.0 - y)) * loss;
}

/// Cross entropy of a distribution: -sum(labels * log_softmax(logits)) along an axis.
/// shapes  logits and labels of equal extents -> these without `axis`
/// source  optax.softmax_cross_entropy
constexpr array softmax_cross_entropy_with_distribution(const array& logits, const array& labels, int axis = -1,
                                                        source_line l = source_line::current()) {
  return -sum(labels * located(log_softmax(logits, axis, l), l), {.axis = {axis}}, l);
}
/// The same where logits may be -infinity: a label of 0 adds 0.
/// source  optax.safe_softmax_cross_entropy
constexpr array safe_softmax_cross_entropy(const array& logits, const array& labels,
                                           source_line l = source_line::current()) {
  const array logs = log_softmax(logits, -1, l);
  const array kept =
      logical_or(logs > -std::numeric_limits<double>::infinity(), labels != located(zeros_like(labels), l), l);
  return -sum(labels * select(kept, logs, zeros_like(logs), l), {.axis = {-1}}, l);
}
/// That and epsilon * sum(labels * (1 - softmax(logits))).
/// source  optax.poly_loss_cross_entropy; Leng et al. 2022, arXiv:2204.12511
constexpr array poly_loss_cross_entropy(const array& logits, const array& labels, double epsilon = 2.0, int axis = -1,
                                        source_line l = source_line::current()) {
  const array miss = sum(labels * located(1.0 - softmax(logits, axis, l), l), {.axis = {axis}}, l);
  return softmax_cross_entropy_with_distribution(logits, labels, axis, l) + epsilon * miss;
}
/// (1 - alpha) * labels + alpha / classes.
/// source  optax.smooth_labels
constexpr array smooth_labels(const array& labels, double alpha, int axis = -1) {
  return (1.0 - alpha) * labels + alpha / static_cast<double>(labels.extent(axis < 0 ? axis + labels.rank() : axis));
}

/// max(0, 1 - scores * targets), for targets of 1 and -1.
/// source  optax.hinge_loss
constexpr array hinge_loss(const array& scores, const array& targets, source_line l = source_line::current()) {
  return maximum(array(0.0), 1.0 - scores * located(targets, l), l);
}
/// max(0, -scores * targets), for targets of 1 and -1.
/// source  optax.perceptron_loss
constexpr array perceptron_loss(const array& scores, const array& targets, source_line l = source_line::current()) {
  return maximum(array(0.0), -scores * located(targets, l), l);
}
/// The greatest score, where all others get 1 more, less the score of the label.
/// shapes  scores [..., classes], labels integers [...] -> [...]
/// source  optax.multiclass_hinge_loss
constexpr array multiclass_hinge_loss(const array& scores, const array& labels,
                                      source_line l = source_line::current()) {
  const array hot = one_hot(labels, scores.shape()[scores.rank() - 1], scores.dtype(), l);
  return max(scores + located(1.0 - hot, l), {.axis = {-1}}, l) - sum(scores * hot, {.axis = {-1}}, l);
}
/// The greatest score less the score of the label.
/// shapes  as multiclass_hinge_loss
/// source  optax.multiclass_perceptron_loss
constexpr array multiclass_perceptron_loss(const array& scores, const array& labels,
                                           source_line l = source_line::current()) {
  const array hot = one_hot(labels, scores.shape()[scores.rank() - 1], scores.dtype(), l);
  return max(scores, {.axis = {-1}}, l) - sum(scores * located(hot, l), {.axis = {-1}}, l);
}
/// sparse_plus(-logits) for labels of 1 and sparse_plus(logits) for labels of 0.
/// source  optax.sparsemax_loss
constexpr array sparsemax_loss(const array& logits, const array& labels, source_line l = source_line::current()) {
  return sparse_plus(select(labels != 0, -logits, logits, l), l);
}

}  // namespace tokamax::optim
