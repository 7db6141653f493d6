// tokamax/transforms/precision.hpp: choose the number formats in which a function computes, without changing the function.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>                // in_trace
#include <tokamax/transforms/compute_dtype.hpp>  // precision_policy

namespace tokamax {

/// Products in bfloat16 with sums in f32, as in "mixed precision" training.
inline constexpr precision_policy bf16_products{.dots = dot_algorithm::bf16_bf16_f32};

/// Products of f32 that are computed as three or six products of bfloat16, on machines whose matrix units make that faster
/// (see dot_algorithm). Six of them have the accuracy of f32, and three lie between bfloat16 and f32. Arrays stay f32.
inline constexpr precision_policy bf16_x3_products{.dots = dot_algorithm::bf16_bf16_f32_x3},
    bf16_x6_products{.dots = dot_algorithm::bf16_bf16_f32_x6};

/// Products of f32 in TF32 on NVIDIA's GPUs, see dot_algorithm. Without it they are f32 there too.
/// source  jax.default_matmul_precision("tensorfloat32")
inline constexpr precision_policy tf32_products{.dots = dot_algorithm::tf32_tf32_f32};

/// Whole programs in bfloat16. Parameters and inputs are rounded where they enter; activations and the values that are kept
/// for the backward pass are bfloat16. Sums, losses, gradients of arguments and the inside of normalisations are f32.
/// Elementwise ops that follow each other are computed in f32 and rounded once, as XLA does by default.
inline constexpr precision_policy bf16_compute{.compute = bf16};

namespace detail {
/// Copies a graph under a policy, and the bodies of its loops too.
struct apply_policy {
  precision_policy policy;
  constexpr bool handles(const op& o) const { return has_algorithm(o) || o.attributes.has_bodies(); }
  constexpr arrays operator()(const call& c) const {
    if (c.self->attributes.has_bodies()) {
      for (int b = 0; b < body_count(c); ++b) {
        graph& body = c.mutable_body(b);
        graph changed;
        arrays inputs;
        for (int i : body.inputs) inputs.push_back(array(&changed, changed.input(body[i].type), body[i].type));
        for (const array& a : inline_graph(changed, body, inputs.data(), *this))
          changed.outputs.push_back(lift(changed, a).id());
        body = std::move(changed);
      }
      return {};  // the op itself stays, over the changed bodies
    }
    words w = c.attribute_words();
    if (algorithm_of(*c.self, c.attributes) == dot_algorithm::unspecified) set_algorithm(*c.self, w, policy.dots);
    if (c.self->infer_all) return emit_op(*c.trace, *c.self, c.inputs, c.count, w, c.where);
    return {emit_one(*c.trace, *c.self, c.inputs, c.count, w, c.where)};
  }
};
}  // namespace detail

/// What `with_precision<policy>(f)` returns.
template <class F, precision_policy Policy>
struct precision_function {
  [[no_unique_address]] F f;
  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    return in_trace(
        [this](graph& g, const Args&... traced) -> result_type {
          graph body;
          arrays operands;
          const result_type out = trace_body(g, body, operands, f, traced...);
          if constexpr (Policy.compute != dtype::none)
            return with_leaves(out, detail::compute_in(g, body, operands, Policy));
          else
            return with_leaves(out, inline_graph(g, body, operands.data(), detail::apply_policy{Policy}));
        },
        args...);
  }
};

/// The function f, computed under a policy. Its gradient is computed under the policy too:
/// `value_and_grad(with_precision<bf16_products>(loss))`.
///
/// errors  those of f
/// source  jax.default_matmul_precision, as a transformation of the function; with a compute dtype, jmp.Policy
template <precision_policy Policy, class F>
constexpr precision_function<F, Policy> with_precision(F f) {
  return {f};
}
template <class F, precision_policy Policy>
inline constexpr bool is_stateless<precision_function<F, Policy>> = is_stateless<F>;

}  // namespace tokamax
