// tokamax/nn/experts/expert_router.hpp: which experts take a token, and how much each of them counts.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models with experts use it)
// tested by tests/nn/experts/mixture_of_experts.cpp
#pragma once

#include <tokamax/lax/indexing/top_k.hpp>                // top_k
#include <tokamax/nn/linear/linear.hpp>                  // linear
#include <tokamax/numpy/take_along_axis.hpp>             // take_along_axis
#include <tokamax/ops/softmax.hpp>                       // softmax
#include <tokamax/transforms/remat/checkpoint_name.hpp>  // checkpoint_name

#include <limits>  // numeric_limits

namespace tokamax::nn {

/// What logits of a router become before experts are chosen.
enum class expert_score : std::uint8_t {
  softmax,            ///< over all experts
  softmax_of_chosen,  ///< the best logits are chosen, and weights are the softmax of these alone
  sigmoid             ///< of each expert by itself
};

/// How a router chooses.
struct router_options {
  int experts = 0, chosen = 1;
  expert_score score = expert_score::softmax;
  bool normalise = false;  ///< do the weights of a token sum to 1?
  double scale = 1;        ///< of the weights, after that
  int groups = 1;          ///< experts are chosen in the best `chosen_groups` of so many equal groups
  int chosen_groups = 1;
  int best_of_group = 1;        ///< the sum of so many best scores is that of a group
  bool use_bias = false;        ///< of the logits
  bool use_correction = false;  ///< is a number added to each score for the choice, and not for the weight?
};

/// The experts of T tokens.
struct expert_choice {
  array experts;  ///< i32 [T, chosen]
  array weights;  ///< f32 [T, chosen]
  array logits;   ///< f32 [T, experts]
};

/// Chooses experts by the logits x kernel + bias. `nn::capture` finds them under the name "logits".
///
/// shapes  x [T, width]; correction [experts], or [0] without one. It has no gradient: who trains it without losses moves it by hand
/// errors  those of top_k
/// source  Shazeer et al. 2017, arXiv:1701.06538; groups and correction: DeepSeek-AI 2024, arXiv:2412.19437
struct expert_router {
  int width = 0;
  router_options options;
  linear gate = {
      .in = width, .out = options.experts, .use_bias = options.use_bias, .kernel_init = initializers::normal<0.02>};
  array correction = zeros({options.use_correction ? options.experts : 0});

  constexpr expert_choice operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    const array logits = checkpoint_name(astype(gate(x, l), f32, l), "logits", l);
    const bool late = options.score == expert_score::softmax_of_chosen;
    const array scores = late                                     ? logits
                         : options.score == expert_score::sigmoid ? logistic(logits, l)
                                                                  : softmax(logits, -1, l);
    const array by = options.use_correction ? scores + located(astype(correction, f32, l), l) : scores;
    const top_k_result best = top_k(options.groups > 1 ? within_best_groups(by, l) : by, options.chosen, l);
    array weights = options.use_correction ? take_along_axis(scores, best.indices, 1, l) : best.values;
    if (late) weights = softmax(weights, -1, l);
    if (options.normalise) weights = weights / located(sum(weights, {.axis = {1}, .keepdims = true}, l) + 1e-20, l);
    if (options.scale != 1) weights = weights * located(options.scale, l);
    return {best.indices, weights, logits};
  }

 private:
  // Scores [T, experts], with -infinity outside of the best groups of each token.
  constexpr array within_best_groups(const array& scores, source_line l) const {
    const std::int64_t tokens = scores.extent(0), groups = options.groups, each = options.experts / options.groups;
    const array in_groups = reshape(scores, {tokens, groups, each}, l);
    const array of_group = sum(top_k(in_groups, options.best_of_group, l).values, {.axis = {2}}, l);  // [T, groups]
    const array best = top_k(of_group, options.chosen_groups, l).indices;
    const array is_best = any(expand_dims(best, 2, l) == iota(i32, {1, 1, groups}, 2, l), {.axis = {1}}, l);
    const array kept = broadcast_to(expand_dims(is_best, 2, l), in_groups.shape(), l);
    const array none = full_like(in_groups, -std::numeric_limits<double>::infinity());
    return reshape(select(kept, in_groups, none, l), scores.shape(), l);
  }
};

}  // namespace tokamax::nn
