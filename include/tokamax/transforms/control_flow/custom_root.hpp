// tokamax/transforms/control_flow/custom_root.hpp: roots of functions that are differentiated as such.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/control_flow/custom_linear_solve.hpp>  // equation_of_variables
#include <tokamax/transforms/jvp.hpp>                               // jvp

namespace tokamax {

/// Attributes of custom_root. The operands are the guess and then the values that the three bodies close over. The first body
/// maps the guess to the root, the second x to f(x), and the third x and y to the v with f'(x) v = y.
struct root_attributes {
  body_index solve = {}, function = {}, tangent_solve = {};
  int arguments = 0, solve_values = 0, function_values = 0;  ///< numbers of leaves, and of values closed over
};

namespace detail {
constexpr arrays root_vjp(const call& c);
constexpr arrays root_jvp(const call& c);
constexpr arrays root_batch(const call& c);
}  // namespace detail

/// The root of a function, which stays a call until it is differentiated or lowered.
inline constexpr op custom_root_p{
    .name = "custom_root",
    .attributes = schema<root_attributes>,
    .infer_all = [](const call& c) -> types { return detail::types_of_first_body(c); },
    .compose = [](const call& c) -> arrays { return detail::call_first_body(c); },
    .vjp = [](const call& c) -> arrays { return detail::root_vjp(c); },
    .jvp = [](const call& c) -> arrays { return detail::root_jvp(c); },
    .batch = [](const call& c) -> arrays { return detail::root_batch(c); },
};

namespace detail {

/// The v with f'(x) v = y at the root x.
constexpr arrays tangent_solution(const call& c, const arrays& y) {
  const auto w = c.attrs<root_attributes>();
  const int last = w.arguments + w.solve_values + w.function_values, effects = c.trace->effects.count();
  arrays in(c.outputs, static_cast<std::size_t>(w.arguments));
  for (const array& a : y) in.push_back(a);
  append(in, c, last, c.count - last);
  const graph tangent_solve(c.body(2));
  arrays v = inline_graph(*c.trace, tangent_solve, in.data());
  drop_effects(*c.trace, effects, c);
  for (array& a : v) a = lift(*c.trace, a);
  return v;
}
/// f(x, p) = 0 stays so if p moves: f'(x) dx = -df/dp dp.
constexpr arrays root_jvp(const call& c) {
  const auto w = c.attrs<root_attributes>();
  const int first = w.arguments + w.solve_values;
  arrays variables;
  const arrays ys = equation_of_variables(c, first, w.function_values, variables);
  arrays moved = forward(*c.trace, variables, arrays(c.tangents + first, variables.size()), ys);
  bool any = false;
  for (int k = 0; k < w.arguments; ++k) {
    any = any || moved[k].exists();
    if (!moved[k].exists()) moved[k] = zero_like(ys[k]);
  }
  if (!any) return arrays(static_cast<std::size_t>(w.arguments));
  return negative(tangent_solution(c, moved));
}
/// tangent_solve is linear in y, so its transpose at any y is that of the inverse of f'(x).
constexpr arrays root_vjp(const call& c) {
  const auto w = c.attrs<root_attributes>();
  const int first = w.arguments + w.solve_values;
  arrays out(static_cast<std::size_t>(c.count)), cts, right, variables;
  for (int k = 0; k < w.arguments; ++k) {
    right.push_back(bind(described<variable_p>(), {lift(*c.trace, zero_like(c.outputs[k]))}, words{}, c.where));
    cts.push_back(c.cotangents[k]);
  }
  arrays z = backward(*c.trace, tangent_solution(c, right), cts, right);
  const arrays ys = equation_of_variables(c, first, w.function_values, variables);
  const arrays pulled = backward(*c.trace, ys, negative(std::move(z)), variables);
  for (int k = 0; k < w.function_values; ++k) out[first + k] = pulled[k];
  return out;
}
/// One root for each example: all guesses get the axis.
constexpr arrays root_batch(const call& c) {
  const auto w = c.attrs<root_attributes>();
  const int first = w.arguments + w.solve_values, last = first + w.function_values;
  const auto body = [&](int number, int arguments, int from, int count) {
    vec<char> flags(static_cast<std::size_t>(arguments), 1);
    append_flags(flags, c, from, count);
    return batched_body(graph(c.body(number)), c, flags);
  };
  graph solve = body(0, w.arguments, w.arguments, w.solve_values);
  graph function = body(1, w.arguments, first, w.function_values);
  graph tangent_solve = body(2, 2 * w.arguments, last, c.count - last);
  arrays operands = c.operands();
  for (int k = 0; k < w.arguments; ++k) operands[k] = with_batch_axis(c, k);
  return bind_bodies(c, {std::move(solve), std::move(function), std::move(tangent_solve)}, c.attribute_words(),
                     operands);
}
}  // namespace detail

/// The x with f(x) = 0, which `solve(f, initial_guess)` computes in any way. Its derivatives are those of the root and not
/// those of the steps to it: with respect to the values p that f closes over, and none with respect to the guess.
/// `tangent_solve(g, y)` gives the v with g(v) = y for a linear function g, which is f' at the root. Reverse mode transposes it,
/// so it is made of ops that have a transpose, such as custom_linear_solve.
///
///   dx = -tangent_solve(f', df/dp dp)
///
///   const array x = custom_root([&](const array& v) { return v * v - p; }, p, newton,
///                               [](const auto& g, const array& y) { return y / g(ones(y.shape())); });
///
/// shapes  the guess a tree of floats; f and both solves give a tree like it
/// errors  "custom_root: root", "custom_root: value of the function", "custom_root: tangent" if these are not like the guess
/// source  jax.lax.custom_root, without has_aux
template <class F, class Tree, class Solve, class TangentSolve>
constexpr Tree custom_root(const F& f, const Tree& initial_guess, const Solve& solve, const TangentSolve& tangent_solve,
                           source_line l = source_line::current()) {
  return in_trace(
      [&](graph& g, const Tree& guess) -> Tree {
        detail::rule_body bodies[3];
        const Tree x =
            detail::trace_rule(g, bodies[0], [&](const Tree& start) -> Tree { return solve(f, start); }, guess);
        detail::require_like(g, "custom_root: root", leaves(x), leaves(guess), l);
        const Tree y = detail::trace_rule(g, bodies[1], [&](const Tree& at) -> Tree { return f(at); }, guess);
        detail::require_like(g, "custom_root: value of the function", leaves(y), leaves(guess), l);
        const auto tangent = [&](const Tree& at, const Tree& right) -> Tree {
          return tangent_solve([&](const Tree& v) -> Tree { return jvp(f, at, v).second; }, right);
        };
        const Tree v = detail::trace_rule(g, bodies[2], tangent, guess, guess);
        detail::require_like(g, "custom_root: tangent", leaves(v), leaves(guess), l);
        return detail::bind_rules<root_attributes>(g, described<custom_root_p>(), bodies, x, l, guess);
      },
      initial_guess);
}

}  // namespace tokamax
