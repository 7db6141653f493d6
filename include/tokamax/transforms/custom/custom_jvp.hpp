// tokamax/transforms/custom/custom_jvp.hpp: functions with a derivative of their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/custom/custom_rules.hpp>  // trace_rule

namespace tokamax {

/// Attributes of custom_jvp. The operands are the arguments, the values that the function closes over, and those that its
/// rule closes over. The first body maps arguments to results. The second body, the rule, maps arguments and the tangents
/// of the floating ones to results and tangents of the results.
struct custom_jvp_attributes {
  body_index function = {}, rule = {};
  int arguments = 0, closed_over = 0;
};

namespace detail {

/// The tangents of the results, where `tangent(k)` gives the tangent of argument k.
template <class Tangent>
constexpr arrays push_forward(const call& c, const Tangent& tangent) {
  const auto w = c.attrs<custom_jvp_attributes>();
  const graph rule(c.body(1));
  arrays in;
  append(in, c, 0, w.arguments);
  for (int k = 0; k < w.arguments; ++k)
    if (is_floating(c[k].dtype())) in.push_back(tangent(k));
  append(in, c, w.arguments + w.closed_over, c.count - w.arguments - w.closed_over);
  const arrays all = inline_graph(*c.trace, rule, in.data());
  arrays tangents;
  for (int k = all.count() / 2; k < all.count(); ++k) {
    tangents.push_back(array());
    if (is_floating(all[k].dtype())) tangents.back() = lift(*c.trace, all[k]);
  }
  return tangents;
}
constexpr arrays custom_jvp_jvp(const call& c) {
  const auto w = c.attrs<custom_jvp_attributes>();
  for (int k = w.arguments; k < c.count; ++k)
    if (c.tangents[k].exists()) refuse_closed_over(c);
  return push_forward(c, [&](int k) {
    array t = c.tangents[k];
    if (!t.exists()) t = zero_like(c[k]);
    return t;
  });
}
/// Drops the effects after the first `kept` ones that tell of `directions`, which have no values.
constexpr void drop_effects_of(graph& g, int kept, const arrays& directions) {
  vec<int> from, effects(g.effects.data(), static_cast<std::size_t>(kept));
  for (const array& d : directions)
    if (d.exists()) from.push_back(d.id());
  const vec<char> depends = active_nodes(g, from, g.count() - 1);
  for (int k = kept; k < g.effects.count(); ++k)
    if (!depends[g.effects[k]]) effects.push_back(g.effects[k]);
  g.effects = effects;
}
/// Reverse mode. The rule is linear in the tangents, so its transpose at any tangents is the vjp.
constexpr arrays custom_jvp_vjp(const call& c) {
  const auto w = c.attrs<custom_jvp_attributes>();
  for (int k = w.arguments; k < c.count; ++k)
    if (c.needs(k) && is_floating(c[k].dtype())) refuse_closed_over(c);
  arrays directions;
  for (int k = 0; k < w.arguments; ++k) {
    directions.push_back(array());
    if (is_floating(c[k].dtype()))
      directions.back() = bind(described<variable_p>(), {lift(*c.trace, zero_like(c[k]))}, words{}, c.where);
  }
  const int effects = c.trace->effects.count();
  const arrays ys = push_forward(c, [&](int k) { return directions[k]; });
  drop_effects_of(*c.trace, effects, directions);
  arrays results, cts, wrt;
  for (int k = 0; k < ys.count(); ++k)
    if (ys[k].exists()) results.push_back(ys[k]), cts.push_back(c.cotangents[k]);
  for (const array& d : directions)
    if (d.exists()) wrt.push_back(d);
  const arrays pulled = backward(*c.trace, results, cts, wrt);
  arrays out;
  for (int k = 0, i = 0; k < w.arguments; ++k) {
    out.push_back(array());
    if (directions[k].exists()) out.back() = pulled[i++];
  }
  for (int k = w.arguments; k < c.count; ++k) out.push_back(array());
  return out;
}
constexpr arrays custom_jvp_batch(const call& c) {
  const auto w = c.attrs<custom_jvp_attributes>();
  const int rest = c.count - w.arguments - w.closed_over;
  vec<char> of_function, of_rule;
  append_flags(of_function, c, 0, w.arguments + w.closed_over);
  append_flags(of_rule, c, 0, w.arguments);
  for (int k = 0; k < w.arguments; ++k)
    if (is_floating(c[k].dtype())) of_rule.push_back(c.batched(k));
  append_flags(of_rule, c, w.arguments + w.closed_over, rest);
  graph function = batched_body(graph(c.body(0)), c, of_function);
  graph rule = batched_body(graph(c.body(1)), c, of_rule);
  return bind_bodies(c, {std::move(function), std::move(rule)}, c.attribute_words(), c.operands());
}

}  // namespace detail

/// A call of a function with its own rule. It stays a call until it is differentiated or lowered.
inline constexpr op custom_jvp_p{
    .name = "custom_jvp",
    .attributes = schema<custom_jvp_attributes>,
    .infer_all = [](const call& c) -> types { return detail::types_of_first_body(c); },
    .compose = [](const call& c) -> arrays { return detail::call_first_body(c); },
    .vjp = [](const call& c) -> arrays { return detail::custom_jvp_vjp(c); },
    .jvp = [](const call& c) -> arrays { return detail::custom_jvp_jvp(c); },
    .batch = [](const call& c) -> arrays { return detail::custom_jvp_batch(c); },
};

/// What `custom_jvp(f, rule)` returns.
template <class F, class Rule>
struct custom_jvp_function {
  [[no_unique_address]] F f;
  [[no_unique_address]] Rule rule;
  source_line where{};  ///< the line of the call of custom_jvp

  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    return run(detail::as_argument<true>(args)...);
  }

 private:
  template <class... Args>
  constexpr auto run(const Args&... args) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    static_assert(std::is_invocable_v<const Rule&, const Args&..., const Args&...>,
                  "tokamax: custom_jvp: the rule takes the arguments of the function, then their tangents");
    return in_trace([this](graph& g, const Args&... traced) -> result_type { return trace<result_type>(g, traced...); },
                    args...);
  }
  template <class Result, class... Args>
  constexpr Result trace(graph& g, const Args&... args) const {
    detail::rule_body bodies[2];
    const Result y = detail::trace_rule(g, bodies[0], f, args...);
    const auto both = detail::trace_rule(g, bodies[1], rule, args..., args...);
    static_assert(requires { both.second; }, "tokamax: custom_jvp: the rule is to return a pair: value and tangent");
    detail::require_like(g, "custom_jvp: value of the rule", leaves(both.first), leaves(y), where);
    detail::require_like(g, "custom_jvp: tangent of the rule", leaves(both.second), leaves(y), where);
    drop_integer_tangents(bodies[1].body, args...);
    return detail::bind_rules<custom_jvp_attributes>(g, described<custom_jvp_p>(), bodies, y, where, args...);
  }
  /// Arguments that are not floating have no tangents, so the rule gets zeros.
  template <class... Args>
  static constexpr void drop_integer_tangents(graph& rule, const Args&... args) {
    int count = 0;
    (for_each_leaf([&](const array&) { ++count; }, args), ...);
    graph changed;
    arrays in;
    for (int k = 0; k < rule.inputs.count(); ++k) {
      const array_type& t = rule[rule.inputs[k]].type;
      if (k >= count && k < 2 * count && !is_floating(t.dtype))
        in.push_back(array(0.0, {t.dtype, false, t.shape}));
      else
        in.push_back(array(&changed, changed.input(t), t));
    }
    for (const array& y : inline_graph(changed, rule, in.data())) changed.outputs.push_back(lift(changed, y).id());
    rule = std::move(changed);
  }
};

/// The function f with a derivative that is given by `rule`. The rule takes the arguments and then their tangents, and
/// returns the pair of f's value and its tangent, which must be linear in the tangents. Forward and reverse mode use the
/// rule and never differentiate f.
///
///   constexpr auto softplus = custom_jvp([](const array& x) { return log(1 + exp(x)); },
///                                        [](const array& x, const array& dx) {
///                                          return std::pair{logaddexp(x, 0.0f), dx * logistic(x)};
///                                        });
///
/// Values that f and the rule close over are constants. The rule may call f, but not the function that custom_jvp returns.
///
/// errors  "custom_jvp: value of the rule", "custom_jvp: tangent of the rule" if these are not like f's value;
///         "custom_jvp: derivative" with respect to a value that is closed over
/// source  jax.custom_jvp
template <class F, class Rule>
constexpr custom_jvp_function<F, Rule> custom_jvp(F f, Rule rule, source_line l = source_line::current()) {
  return {f, rule, l};
}
template <class F, class Rule>
inline constexpr bool is_stateless<custom_jvp_function<F, Rule>> = is_stateless<F> && is_stateless<Rule>;

}  // namespace tokamax
