// tokamax/optim/losses/regression.hpp: losses of numbers and directions.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (few programs use it)
// tested by tests/optim/losses/losses.cpp
#pragma once

#include <tokamax/lax/elementwise/logaddexp.hpp>  // logaddexp
#include <tokamax/lax/reduce.hpp>                 // sum
#include <tokamax/numpy/clip.hpp>                 // maximum

namespace tokamax::optim {

/// (predictions - targets)^2, element by element.
/// source  optax.squared_error
constexpr array squared_error(const array& predictions, const array& targets, source_line l = source_line::current()) {
  const array error = predictions - located(targets, l);
  return error * error;
}
/// Half of the squared error.
/// source  optax.l2_loss
constexpr array l2_loss(const array& predictions, const array& targets, source_line l = source_line::current()) {
  return 0.5 * squared_error(predictions, targets, l);
}
/// e^2 / 2 for errors up to delta, delta (|e| - delta / 2) beyond.
/// source  optax.huber_loss; Huber 1964
constexpr array huber_loss(const array& predictions, const array& targets, double delta = 1.0,
                           source_line l = source_line::current()) {
  const array size = abs(predictions - located(targets, l));
  const array quadratic = minimum(size, array(delta), l);
  return 0.5 * quadratic * quadratic + delta * (size - quadratic);
}
/// log(cosh(e)): e^2 / 2 for small errors, |e| - log(2) for large ones.
/// source  optax.log_cosh
constexpr array log_cosh(const array& predictions, const array& targets, source_line l = source_line::current()) {
  const array error = predictions - located(targets, l);
  return logaddexp(error, -error, l) - 0.69314718055994530942;
}

/// The cosine of the angle between vectors along an axis. Squared norms are at least `epsilon`.
/// shapes  predictions and targets of equal extents -> these without `axis`
/// source  optax.cosine_similarity
constexpr array cosine_similarity(const array& predictions, const array& targets, double epsilon = 0, int axis = -1,
                                  source_line l = source_line::current()) {
  const auto unit = [&](const array& x) {
    return x / sqrt(maximum(sum(x * x, {.axis = {axis}, .keepdims = true}, l), array(epsilon), l), l);
  };
  return sum(unit(predictions) * located(unit(targets), l), {.axis = {axis}}, l);
}
/// 1 - cosine_similarity.
/// source  optax.cosine_distance
constexpr array cosine_distance(const array& predictions, const array& targets, double epsilon = 0, int axis = -1,
                                source_line l = source_line::current()) {
  return 1.0 - cosine_similarity(predictions, targets, epsilon, axis, l);
}

}  // namespace tokamax::optim
