// tokamax/nn/experts/router_losses.hpp: losses of the logits of a router, by which experts are used alike and logits stay small.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models with experts use it)
// tested by tests/nn/experts/mixture_of_experts.cpp
#pragma once

#include <tokamax/lax/indexing/top_k.hpp>  // top_k
#include <tokamax/numpy/statistics.hpp>    // mean
#include <tokamax/ops/softmax.hpp>         // logsumexp, softmax

namespace tokamax::nn {

/// How unevenly tokens are spread over E experts: `chosen` if all are used alike, and more else.
///
///   E * sum over experts e of (choices of e / tokens) * (mean probability of e)
///
/// shapes  logits [..., E] -> a number
/// source  Fedus et al. 2021, arXiv:2101.03961, equations 4 to 6; transformers, load_balancing_loss_func
constexpr array balance_loss(const array& logits, int chosen, source_line l = source_line::current()) {
  const std::int64_t experts = logits.extent(-1);
  std::int64_t tokens = 1;
  for (int i = 0; i + 1 < logits.rank(); ++i) tokens = mul_extent(tokens, logits.extent(i));
  const array p = softmax(reshape(astype(logits, f32, l), {tokens, experts}, l), -1, l);
  const array best = reshape(top_k(p, chosen, l).indices, {mul_extent(tokens, chosen), 1}, l);
  const array share = mean(astype(best == iota(i32, {1, experts}, 1, l), f32, l), {.axis = {0}}, l);
  return sum(share * mean(p, {.axis = {0}}, l), {}, l) * located(static_cast<double>(experts) * chosen, l);
}

/// The mean of the square of log(sum of exp(logits)) of each token.
/// shapes  logits [..., E] -> a number
/// source  Zoph et al. 2022, arXiv:2202.08906, equation 5
constexpr array router_z_loss(const array& logits, source_line l = source_line::current()) {
  return mean(square(logsumexp(astype(logits, f32, l), {.axis = {-1}}, l), l), {}, l);
}

}  // namespace tokamax::nn
