// tokamax/nn/experts/mixture_of_experts.hpp: networks of which each token takes a few, without dropping tokens.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (models with experts use it)
#pragma once

#include <tokamax/lax/elementwise/division.hpp>  // quotient
#include <tokamax/lax/sort.hpp>                  // argsort
#include <tokamax/nn/experts/expert_router.hpp>  // expert_router
#include <tokamax/nn/linear/mlp.hpp>             // gated_mlp
#include <tokamax/ops/ragged_dot.hpp>            // ragged_dot

namespace tokamax::nn {

/// A router and gated networks of its choice, beside a network that all tokens take if `shared_hidden` is more than 0:
///
///   y = sum over the chosen experts e of weight_e down_e(activation(gate_e(x)) * up_e(x)), + shared(x)
///
/// Rows are sorted by their expert, and each product has a group of rows for each expert. No token is dropped, and matrices of
/// experts that no token takes are not read. The bits of a token do not depend on the others.
///
/// shapes  x [..., width] -> the same; gate and up [experts, width, hidden], down [experts, hidden, width]; their biases [experts, hidden]
///         and [experts, width], with none [experts, 0]
/// dtypes  as linear; scores and weights in f32
/// init    kernels normal with 0.02, biases zeros
/// source  Shazeer et al. 2017, arXiv:1701.06538; dropless: Gale et al. 2022, arXiv:2211.15841
struct mixture_of_experts {
  int width = 0, hidden = 0;
  router_options routing;
  bool use_bias = false;
  activation_function activation = silu;
  /// More than 0: with g and u of the two matrices, min(g, limit) sigmoid(alpha g) (clamp(u, limit) + 1) is what goes down.
  double limit = 0, alpha = 1.702;
  bool weighs_inputs = false;  ///< does the weight multiply what an expert is given, in place of what it gives?
  int shared_hidden = 0;
  bool gates_shared = false;  ///< is shared(x) multiplied by the logistic function of a product?
  initializer kernel_init = initializers::normal<0.02>;
  expert_router router = {.width = width, .options = routing};
  array gate = parameter({routing.experts, width, hidden}), up = parameter({routing.experts, width, hidden}),
        down = parameter({routing.experts, hidden, width});
  array gate_bias = zeros({routing.experts, use_bias ? hidden : 0}), up_bias = gate_bias,
        down_bias = zeros({routing.experts, use_bias ? width : 0});
  gated_mlp shared = {.width = width, .hidden = shared_hidden, .activation = activation, .kernel_init = kernel_init};
  linear shared_gate = {.in = width, .out = gates_shared ? 1 : 0, .use_bias = false, .kernel_init = kernel_init};

  constexpr mixture_of_experts init(const random::key& key) const {
    mixture_of_experts filled = *this;
    int i = 0;
    for (array* kernel : {&filled.gate, &filled.up, &filled.down})
      *kernel = detail::first_value(kernel_init, random::fold_in(key, i++), *kernel);
    filled.router.gate = router.gate.init(random::fold_in(key, i++));
    filled.shared.gate = shared.gate.init(random::fold_in(key, i++));
    filled.shared.up = shared.up.init(random::fold_in(key, i++));
    filled.shared.down = shared.down.init(random::fold_in(key, i++));
    filled.shared_gate = shared_gate.init(random::fold_in(key, i));
    return filled;
  }
  constexpr array operator()(const array& x, source_line l = source_line::current()) const {
    const layer_scope scope(*this, x);
    std::int64_t tokens = 1;
    for (int i = 0; i + 1 < x.rank(); ++i) tokens = mul_extent(tokens, x.extent(i));
    const array rows = reshape(x, {tokens, width}, l);
    array y = of_chosen(rows, router(rows, l), l);
    if (shared_hidden > 0) {
      const array all = shared(rows, l);
      y = y + located(gates_shared ? all * logistic(shared_gate(rows, l), l) : all, l);
    }
    return reshape(y, x.shape(), l);
  }

 private:
  // What the chosen experts give for rows [T, width], weighed and summed.
  constexpr array of_chosen(const array& rows, const expert_choice& by, source_line l) const {
    const std::int64_t tokens = rows.extent(0), all = mul_extent(tokens, routing.chosen);
    const array expert = reshape(by.experts, {all}, l), order = argsort(expert, 0, false, i32, l);
    const array weights = astype(by.weights, rows.dtype(), l);
    array x = gather(rows, quotient(order, routing.chosen, l), l);  // [T chosen, width], by expert
    if (weighs_inputs) x = x * expand_dims(gather(reshape(weights, {all}, l), order, l), 1, l);
    const array of_rows = gather(expert, order, l);
    const array is_of = astype(expand_dims(expert, 1, l) == iota(i32, {1, routing.experts}, 1, l), i32, l);
    const array sizes = sum(is_of, {.axis = {0}}, l);
    const auto product = [&](const array& in, const array& kernel, const array& bias) {
      const array y = ragged_dot(in, kernel, sizes, {}, {}, l);
      return use_bias ? y + located(gather(bias, of_rows, l), l) : y;
    };
    array y = product(combined(product(x, gate, gate_bias), product(x, up, up_bias), l), down, down_bias);
    y = reshape(gather(y, argsort(order, 0, false, i32, l), l), {tokens, routing.chosen, width}, l);
    return sum(weighs_inputs ? y : y * expand_dims(weights, 2, l), {.axis = {1}}, l);
  }
  constexpr array combined(const array& g, const array& u, source_line l) const {
    if (limit <= 0) return activation(g, l) * located(u, l);
    const array low = minimum(g, limit, l), cut = maximum(minimum(u, limit, l), -limit, l);
    return low * logistic(low * located(alpha, l), l) * (cut + 1.0f);
  }
};

}  // namespace tokamax::nn
