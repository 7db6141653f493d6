// tokamax/optim/losses/segmentation.hpp: losses of overlaps of regions.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/losses/losses.cpp
#pragma once

#include <tokamax/lax/reduce.hpp>            // sum
#include <tokamax/ops/activations.hpp>       // sigmoid
#include <tokamax/ops/softmax.hpp>           // softmax
#include <tokamax/optim/losses/ranking.hpp>  // reduction

namespace tokamax::optim {

struct dice_options {
  array class_weights{};  ///< none: 1
  double smooth = 1;
  double alpha = 0.5, beta = 0.5;  ///< weights of false positives and negatives
  bool apply_softmax = true;       ///< to predictions; sigmoid for one class
  reduction reduce = reduction::mean;
  bool ignore_background = false;  ///< leave out class 0
};
/// 1 - (i + smooth) / (i + alpha (p - i) + beta (t - i) + smooth) for each class, with sums over positions of predictions p, of
/// targets t, and of their products i.
/// shapes  predictions and targets [batch, ..., classes] -> [batch], or [batch, classes] unreduced
/// source  optax.dice_loss; Milletari et al. 2016, arXiv:1606.04797; Salehi et al. 2017, arXiv:1706.05721
constexpr array dice_loss(const array& predictions, const array& targets, const dice_options& o = {},
                          source_line l = source_line::current()) {
  array p = predictions, t = targets;
  if (p.rank() + 1 == t.rank()) p = expand_dims(p, -1);
  if (t.rank() + 1 == p.rank()) t = expand_dims(t, -1);
  const std::int64_t classes = p.extent(p.rank() - 1);
  if (o.apply_softmax && classes == 1)
    p = sigmoid(p, l);
  else if (o.apply_softmax)
    p = softmax(p, -1, l);
  axes positions;
  for (int i = 1; i + 1 < p.rank(); ++i) positions.push_back(i);
  const auto total = [&](const array& x) {
    if (positions.rank() == 0) return x;
    return sum(x, {.axis = positions}, l);
  };
  const array both = total(p * located(t, l)), of_p = total(p), of_t = total(t);
  array loss = 1.0 - (both + o.smooth) / (both + o.alpha * (of_p - both) + o.beta * (of_t - both) + o.smooth);
  if (o.class_weights.exists()) loss = loss * o.class_weights;
  if (o.ignore_background && classes > 1) loss = slice_in_dim(loss, 1, classes, loss.rank() - 1);
  if (o.reduce == reduction::none) return loss;
  if (o.reduce == reduction::sum) return sum(loss, {.axis = {-1}}, l);
  return mean(loss, {.axis = {-1}});
}

/// dice_loss of one class, whose predictions and targets may lack the axis of classes.
/// source  optax.binary_dice_loss
constexpr array binary_dice_loss(const array& predictions, const array& targets, double smooth = 1,
                                 bool apply_sigmoid = true, source_line l = source_line::current()) {
  array p = predictions, t = targets;
  if (p.rank() == t.rank() && p.extent(p.rank() - 1) != 1) {
    p = expand_dims(p, -1);
    t = expand_dims(t, -1);
  }
  return dice_loss(p, t, {.smooth = smooth, .apply_softmax = apply_sigmoid}, l);
}

/// The mean of dice losses, weighted by 1 / frequency^2 of each class in the targets.
/// source  optax.multiclass_generalized_dice_loss; Sudre et al. 2017, arXiv:1707.03237
constexpr array multiclass_generalized_dice_loss(const array& predictions, const array& targets, double smooth = 1,
                                                 bool apply_softmax = true, bool ignore_background = false,
                                                 source_line l = source_line::current()) {
  axes all_but_last;
  for (int i = 0; i + 1 < targets.rank(); ++i) all_but_last.push_back(i);
  const array frequency = sum(targets, {.axis = all_but_last}, l), inverse = 1.0 / (frequency * frequency + 1e-7);
  const array weights = inverse / sum(inverse) * static_cast<double>(inverse.size());
  return mean(dice_loss(predictions, targets,
                        {.class_weights = weights,
                         .smooth = smooth,
                         .apply_softmax = apply_softmax,
                         .reduce = reduction::none,
                         .ignore_background = ignore_background},
                        l));
}

}  // namespace tokamax::optim
