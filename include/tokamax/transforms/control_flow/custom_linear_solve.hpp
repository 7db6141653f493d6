// tokamax/transforms/control_flow/custom_linear_solve.hpp: solutions of linear systems that are differentiated as such.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/custom/custom_rules.hpp>  // trace_rule, bind_rules

namespace tokamax {

/// Attributes of custom_linear_solve. The operands are b and then the values that the three bodies close over. The first body
/// maps b to the x with A x = b, the second x to A x, and the third y to the z with A^T z = y; it has no results if that is
/// not known.
struct linear_solve_attributes {
  body_index solve = {}, product = {}, transposed = {};
  int arguments = 0, solve_values = 0, product_values = 0;  ///< numbers of leaves of b, and of values closed over
};

namespace detail {
constexpr arrays linear_solve_vjp(const call& c);
constexpr arrays linear_solve_jvp(const call& c);
constexpr arrays linear_solve_batch(const call& c);
}  // namespace detail

/// The solution of a linear system, which stays a call until it is differentiated or lowered.
inline constexpr op custom_linear_solve_p{
    .name = "custom_linear_solve",
    .attributes = schema<linear_solve_attributes>,
    .infer_all = [](const call& c) -> types { return detail::types_of_first_body(c); },
    .compose = [](const call& c) -> arrays { return detail::call_first_body(c); },
    .vjp = [](const call& c) -> arrays { return detail::linear_solve_vjp(c); },
    .jvp = [](const call& c) -> arrays { return detail::linear_solve_jvp(c); },
    .batch = [](const call& c) -> arrays { return detail::linear_solve_batch(c); },
};

namespace detail {

/// The second body of c, an equation that its results solve, at these results: as a function of new variables for the
/// `count` operands from `first` on, which the body closes over. Its effects do not happen again.
constexpr arrays equation_of_variables(const call& c, int first, int count, arrays& variables) {
  const int effects = c.trace->effects.count(), results = c.body(0).outputs.count();
  arrays in(c.outputs, static_cast<std::size_t>(results));
  for (int k = first; k < first + count; ++k) {
    variables.push_back(bind(described<variable_p>(), {c[k]}, words{}, c.where));
    in.push_back(variables.back());
  }
  const graph equation(c.body(1));
  arrays ys = inline_graph(*c.trace, equation, in.data());
  drop_effects(*c.trace, effects, c);
  for (array& y : ys) y = lift(*c.trace, y);
  return ys;
}
constexpr arrays negative(arrays list) {
  for (array& a : list)
    if (a.exists()) a = -a;
  return list;
}

/// dx solves A dx = db - dA x.
constexpr arrays linear_solve_jvp(const call& c) {
  const auto w = c.attrs<linear_solve_attributes>();
  const int first = w.arguments + w.solve_values;
  arrays variables;
  const arrays ys = equation_of_variables(c, first, w.product_values, variables);
  const arrays moved = forward(*c.trace, variables, arrays(c.tangents + first, variables.size()), ys);
  arrays operands = c.operands();
  for (int k = 0; k < w.arguments; ++k) {
    operands[k] = c.tangents[k].exists() ? c.tangents[k] : zero_like(c[k]);
    if (moved[k].exists()) operands[k] = operands[k] - moved[k];
  }
  return bind_all(*c.self, operands.data(), operands.count(), c.attribute_words(), c.where);
}

/// The body that maps y, and the values that the product closes over, to A^T y.
constexpr graph transposed_product(const graph& product, int arguments) {
  graph b;
  arrays in, cts, xs;
  for (int k = 0; k < product.inputs.count(); ++k) in.push_back(body_input(b, product[product.inputs[k]].type));
  for (int k = 0; k < arguments; ++k) {
    cts.push_back(in[k]);
    xs.push_back(bind(described<variable_p>(), {lift(b, zero_like(in[k]))}, words{}, location{}));
    in[k] = xs.back();
  }
  arrays ys = inline_graph(b, product, in.data());
  for (array& y : ys) y = lift(b, y);
  b.effects.clear();
  const arrays pulled = backward(b, ys, cts, xs);
  for (int k = 0; k < arguments; ++k)
    b.outputs.push_back(lift(b, pulled[k].exists() ? pulled[k] : zero_like(cts[k])).id());
  return b;
}
/// The cotangent of b is the z with A^T z = ct, and that of A is -z x^T.
constexpr arrays linear_solve_vjp(const call& c) {
  const auto w = c.attrs<linear_solve_attributes>();
  const int first = w.arguments + w.solve_values, last = first + w.product_values;
  arrays out(static_cast<std::size_t>(c.count)), operands, variables;
  if (c.body(2).outputs.empty()) {
    c.fail("custom_linear_solve: reverse mode", "no transpose_solve", "one, or .symmetric");
    return out;
  }
  for (int k = 0; k < w.arguments; ++k)
    operands.push_back(c.cotangents[k].exists() ? c.cotangents[k] : zero_like(c.outputs[k]));
  append(operands, c, last, c.count - last);
  append(operands, c, first, w.product_values);
  append(operands, c, w.arguments, w.solve_values);
  graph product = transposed_product(graph(c.body(1)), w.arguments);
  const linear_solve_attributes transposed{0, 0, 0, w.arguments, c.count - last, w.product_values};
  const arrays z = bind_bodies(c, {graph(c.body(2)), std::move(product), graph(c.body(0))}, pack(transposed), operands);
  for (int k = 0; k < w.arguments; ++k) out[k] = z[k];
  const arrays ys = equation_of_variables(c, first, w.product_values, variables);
  const arrays pulled = backward(*c.trace, ys, negative(z), variables);
  for (int k = 0; k < w.product_values; ++k) out[first + k] = pulled[k];
  return out;
}

/// One system for each example: all of b gets the axis.
constexpr arrays linear_solve_batch(const call& c) {
  const auto w = c.attrs<linear_solve_attributes>();
  const int first = w.arguments + w.solve_values, last = first + w.product_values;
  const auto body = [&](int number, int from, int count) {
    vec<char> flags(static_cast<std::size_t>(w.arguments), 1);
    append_flags(flags, c, from, count);
    return batched_body(graph(c.body(number)), c, flags);
  };
  graph solve = body(0, w.arguments, w.solve_values), product = body(1, first, w.product_values);
  graph transposed = body(2, last, c.count - last);
  arrays operands = c.operands();
  for (int k = 0; k < w.arguments; ++k) operands[k] = with_batch_axis(c, k);
  return bind_bodies(c, {std::move(solve), std::move(product), std::move(transposed)}, c.attribute_words(), operands);
}

/// What `transpose_solve` gets: the transpose of the product.
template <class Product, class Tree>
struct transposed_function {
  const Product& product;
  constexpr Tree operator()(const Tree& y) const {
    return in_trace(
        [this](graph& g, const Tree& ct) -> Tree {
          Tree x = copy_tree(ct);
          for_each_leaf(
              [&](auto& a) {
                static_cast<array&>(a) = bind(described<variable_p>(), {lift(g, zero_like(a))}, words{}, location{});
              },
              x);
          arrays ys;
          for (const array& a : leaves(product(x))) ys.push_back(lift(g, a));
          return with_cotangents(x, backward(g, ys, leaves(ct), leaves(x)));
        },
        y);
  }
};

template <class Product, class Tree, class Solve, class TransposeSolve>
constexpr Tree linear_solve(const Product& product, const Tree& b, const Solve& solve, const TransposeSolve& transpose,
                            bool transposable, source_line l) {
  return in_trace(
      [&](graph& g, const Tree& right) -> Tree {
        rule_body bodies[3];
        const Tree x = trace_rule(g, bodies[0], [&](const Tree& y) -> Tree { return solve(product, y); }, right);
        require_like(g, "custom_linear_solve: solution", leaves(x), leaves(right), l);
        const Tree y = trace_rule(g, bodies[1], [&](const Tree& v) -> Tree { return product(v); }, right);
        require_like(g, "custom_linear_solve: product", leaves(y), leaves(right), l);
        const Tree z = trace_rule(g, bodies[2], transpose, right);
        require_like(g, "custom_linear_solve: transposed solution", leaves(z), leaves(right), l);
        if (!transposable) bodies[2].body.outputs.clear();
        return bind_rules<linear_solve_attributes>(g, described<custom_linear_solve_p>(), bodies, x, l, right);
      },
      b);
}
}  // namespace detail

/// The options of custom_linear_solve.
struct linear_solve_options {
  bool symmetric = false;  ///< A is its own transpose, so that `solve` solves the transposed system, too
};

/// The x with product(x) = b, which `solve(product, b)` computes in any way: by a loop, too, that has no reverse mode. Its
/// derivatives are those of the solution and not those of the steps to it. They solve systems with the same product; in
/// reverse mode with its transpose, for which `solve` serves if the product is symmetric, and else
/// `transpose_solve(transposed_product, ct)`.
///
///   dx = solve(db - dA x),   ct_b = transpose_solve(ct),   ct_A = -ct_b x^T
///
///   const auto product = [&](const array& x) { return matmul(a, x); };
///   const array x = custom_linear_solve(product, b, conjugate_gradients, {.symmetric = true});
///
/// Derivatives reach the values that `product` closes over. What only `solve` closes over, such as a preconditioner, has none.
///
/// shapes  b a tree of floats; product and both solves give a tree like it
/// errors  "custom_linear_solve: solution", "custom_linear_solve: product", "custom_linear_solve: transposed solution" if
///         these are not like b; "custom_linear_solve: reverse mode" without a transpose
/// source  jax.lax.custom_linear_solve, without has_aux
template <class Product, class Tree, class Solve>
constexpr Tree custom_linear_solve(const Product& product, const Tree& b, const Solve& solve,
                                   linear_solve_options options = {}, source_line l = source_line::current()) {
  const auto transpose = [&](const Tree& ct) -> Tree { return solve(product, ct); };
  return detail::linear_solve(product, b, solve, transpose, options.symmetric, l);
}
template <class Product, class Tree, class Solve, class TransposeSolve>
  requires(!std::is_convertible_v<const TransposeSolve&, linear_solve_options>)
constexpr Tree custom_linear_solve(const Product& product, const Tree& b, const Solve& solve,
                                   const TransposeSolve& transpose_solve, source_line l = source_line::current()) {
  const auto transpose = [&](const Tree& ct) -> Tree {
    return transpose_solve(detail::transposed_function<Product, Tree>{product}, ct);
  };
  return detail::linear_solve(product, b, solve, transpose, true, l);
}

}  // namespace tokamax
