// tokamax/transforms/custom/custom_vjp.hpp: functions with a gradient of their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/lax/reduce.hpp>                      // sum
#include <tokamax/transforms/custom/custom_rules.hpp>  // trace_rule

namespace tokamax {

/// Attributes of custom_vjp. The operands are the arguments, followed by the values that the function, `forward` and
/// `backward` close over. The first body maps arguments to results, the second one to results and residuals. The third one
/// maps residuals and cotangents of the results to cotangents of the arguments.
struct custom_vjp_attributes {
  body_index function = {}, forward = {}, backward = {};
  int arguments = 0, function_values = 0, forward_values = 0;  ///< numbers of arguments, and of values closed over
};

namespace detail {

constexpr void mark_differentiated(const call& c);

constexpr arrays custom_vjp_vjp(const call& c) {
  const auto w = c.attrs<custom_vjp_attributes>();
  const graph forward(c.body(1)), backward(c.body(2));
  const int first = w.arguments + w.function_values, last = first + w.forward_values;
  for (int k = w.arguments; k < c.count; ++k)
    if (c.needs(k) && is_floating(c[k].dtype())) refuse_closed_over(c);
  arrays in;
  append(in, c, 0, w.arguments);
  append(in, c, first, w.forward_values);
  const arrays known = inline_graph(*c.trace, forward, in.data());
  const int results = c.body(0).outputs.count();
  arrays pulled_from;
  for (int k = results; k < known.count(); ++k) pulled_from.push_back(known[k]);
  for (int k = 0; k < results; ++k) {
    array ct = c.cotangents[k];
    if (!ct.exists()) ct = zero_like(c.outputs[k]);
    pulled_from.push_back(ct);
  }
  append(pulled_from, c, last, c.count - last);
  arrays out = inline_graph(*c.trace, backward, pulled_from.data());
  for (array& a : out) a = lift(*c.trace, a);
  for (int k = 0; k < w.arguments; ++k)
    if (!is_floating(c[k].dtype())) out[k] = array();
  while (out.count() < c.count) out.push_back(array());
  mark_differentiated(c);
  return out;
}
/// The bodies for whole batches. An argument that all examples share gets the sum of their cotangents.
constexpr arrays custom_vjp_batch(const call& c) {
  const auto w = c.attrs<custom_vjp_attributes>();
  const int first = w.arguments + w.function_values, last = first + w.forward_values;
  vec<char> of_function, of_forward, of_backward;
  append_flags(of_function, c, 0, first);
  append_flags(of_forward, c, 0, w.arguments);
  append_flags(of_forward, c, first, w.forward_values);
  for (int k = last; k < c.count; ++k) of_backward.push_back(c.batched(k));
  vec<char> flags(c.body(2).inputs.size() - of_backward.size(), 1);
  for (const char f : of_backward) flags.push_back(f);
  graph function = batched_body(graph(c.body(0)), c, of_function);
  graph forward = batched_body(graph(c.body(1)), c, of_forward);
  graph backward = batched_body(graph(c.body(2)), c, flags);
  for (int k = 0; k < w.arguments; ++k)
    if (!c.batched(k) && is_floating(c[k].dtype())) {
      int& id = backward.outputs[k];
      id = sum(array(&backward, id, backward[id].type), {{0}}).id();
    }
  return bind_bodies(c, {std::move(function), std::move(forward), std::move(backward)}, c.attribute_words(),
                     c.operands());
}

}  // namespace detail

/// A call of a function with its own gradient. It stays a call until it is differentiated or lowered.
inline constexpr op custom_vjp_p{
    .name = "custom_vjp",
    .attributes = schema<custom_vjp_attributes>,
    .infer_all = [](const call& c) -> types { return detail::types_of_first_body(c); },
    .compose = [](const call& c) -> arrays { return detail::call_first_body(c); },
    .vjp = [](const call& c) -> arrays { return detail::custom_vjp_vjp(c); },
    .jvp = [](const call& c) -> arrays {
      c.fail("custom_vjp: derivative", "jvp", "vjp or grad; custom_jvp has both");
      return arrays(static_cast<std::size_t>(c.body(0).outputs.count()));
    },
    .batch = [](const call& c) -> arrays { return detail::custom_vjp_batch(c); },
};

namespace detail {
/// The results of the call as `forward` computes them, as a function of new variables; its effects do not happen again.
constexpr arrays results_of_forward(const call& c, arrays& variables) {
  const auto w = c.attrs<custom_vjp_attributes>();
  const int first = w.arguments + w.function_values, effects = c.trace->effects.count();
  arrays in;
  for (int k = 0; k < c.count; ++k) variables.push_back(bind(described<variable_p>(), {c[k]}, words{}, c.where));
  for (int k = 0; k < w.arguments; ++k) in.push_back(variables[k]);
  for (int k = first; k < first + w.forward_values; ++k) in.push_back(variables[k]);
  arrays ys = inline_graph(*c.trace, graph(c.body(1)), in.data());
  drop_effects(*c.trace, effects, c);
  ys.resize(c.body(0).outputs.size());
  for (array& y : ys) y = lift(*c.trace, y);
  return ys;
}
}  // namespace detail

/// A call of custom_vjp of which a gradient was taken. Further derivatives are those of `forward` and `backward`, in both
/// modes, so that a Hessian is the jvp of a gradient.
inline constexpr op differentiated_custom_vjp_p{
    .name = "differentiated_custom_vjp",
    .attributes = schema<custom_vjp_attributes>,
    .infer_all = [](const call& c) -> types { return detail::types_of_first_body(c); },
    .compose = [](const call& c) -> arrays { return detail::call_first_body(c); },
    .vjp = [](const call& c) -> arrays {
      arrays variables;
      const arrays ys = detail::results_of_forward(c, variables);
      return backward(*c.trace, ys, arrays(c.cotangents, ys.size()), variables);
    },
    .jvp = [](const call& c) -> arrays {
      arrays variables;
      const arrays ys = detail::results_of_forward(c, variables);
      return forward(*c.trace, variables, arrays(c.tangents, static_cast<std::size_t>(c.count)), ys);
    },
    .batch = [](const call& c) -> arrays { return detail::custom_vjp_batch(c); },
};

namespace detail {
/// Values that the gradient reads are from now on those of `forward`, as in JAX, where they replace those of the function.
constexpr void mark_differentiated(const call& c) {
  graph& g = *c.trace;
  if (c.body(0).outputs.empty()) return;
  const node& result = g[c.outputs[0].id()];
  if (result.op == &get_p) g.nodes[g.operand(result, 0)].op = &described<differentiated_custom_vjp_p>();
}
}  // namespace detail

/// What `custom_vjp(f, forward, backward)` returns.
template <class F, class Forward, class Backward>
struct custom_vjp_function {
  [[no_unique_address]] F f;
  [[no_unique_address]] Forward forward;
  [[no_unique_address]] Backward backward;
  source_line where{};  ///< the line of the call of custom_vjp

  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    return run(detail::as_argument<true>(args)...);
  }

 private:
  template <class... Args>
  constexpr auto run(const Args&... args) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    return in_trace([this](graph& g, const Args&... traced) -> result_type { return trace<result_type>(g, traced...); },
                    args...);
  }
  template <class Result, class... Args>
  constexpr Result trace(graph& g, const Args&... args) const {
    detail::rule_body bodies[3];
    const Result y = detail::trace_rule(g, bodies[0], f, args...);
    const auto known = detail::trace_rule(g, bodies[1], forward, args...);
    static_assert(
        requires { known.second; },
        "tokamax: custom_vjp: forward is to return a pair: the value and what backward needs");
    detail::require_like(g, "custom_vjp: value of forward", leaves(known.first), leaves(y), where);
    const auto cts = detail::trace_rule(g, bodies[2], backward, known.second, y);
    detail::require_like(g, "custom_vjp: cotangents of backward", leaves(cts), leaves(args...), where);
    return detail::bind_rules<custom_vjp_attributes>(g, custom_vjp_p, bodies, y, where, args...);
  }
};

/// The function f with a gradient of its own. `forward` takes the arguments and returns the pair of f's value and the
/// residuals. `backward` takes the residuals and a cotangent like the value, and returns the cotangent of the argument, or
/// a tuple of them.
///
///   constexpr auto clipped = custom_vjp([](const array& x) { return x; },
///                                       [](const array& x) { return std::pair{x, nothing{}}; },
///                                       [](nothing, const array& ct) { return clip(ct, -1.0f, 1.0f); });
///
/// Values that the three close over are constants. None of them may call the function that custom_vjp returns.
///
/// errors  "custom_vjp: value of forward", "custom_vjp: cotangents of backward" if these are not like f's value and
///         arguments; "custom_vjp: derivative" of a jvp, or with respect to a value that is closed over
/// source  jax.custom_vjp
template <class F, class Forward, class Backward>
constexpr custom_vjp_function<F, Forward, Backward> custom_vjp(F f, Forward forward, Backward backward,
                                                               source_line l = source_line::current()) {
  return {f, forward, backward, l};
}
template <class F, class Forward, class Backward>
inline constexpr bool is_stateless<custom_vjp_function<F, Forward, Backward>> =
    is_stateless<F> && is_stateless<Forward> && is_stateless<Backward>;

}  // namespace tokamax
