// tokamax/transforms/linear_transpose.hpp: the transpose of a function that is linear.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/body.hpp>             // dependent_outputs
#include <tokamax/transforms/linear_function.hpp>  // linear_function
#include <tokamax/transforms/passes/backward.hpp>  // backward

namespace tokamax {

namespace detail {
/// Which results of a node with bodies depend on those of its operands that are in `from`: a value that a loop only carries
/// along does not count. Operands are the inputs of the last body, or of each branch but for the first one, which chooses.
constexpr vec<char> dependent_results(const graph& g, const node& n, const vec<char>& from) {
  const int bodies = body_count(g, n), first = n.op->bodies.branches ? 1 : 0;
  const int carries = n.op->bodies.carries ? n.op->bodies.carries(g.words_of(n)) : 0;
  vec<char> in(from.data() + first, from.size() - static_cast<std::size_t>(first)), out;
  for (bool changed = true; changed;) {
    changed = false;
    for (int b = n.op->bodies.branches ? 0 : bodies - 1; b < bodies; ++b) {
      const vec<char> next = dependent_outputs(body_of(g, n, b), in);
      out.resize(next.size(), first && from[0]);
      for (int k = 0; k < next.count(); ++k) out[k] = out[k] || next[k];
    }
    for (int k = 0; k < carries; ++k)
      if (out[k] && !in[k]) in[k] = changed = true;
  }
  for (int b = 0; carries && b + 1 < bodies; ++b)  // the predicate of a loop tells how often the body runs
    if (dependent_outputs(body_of(g, n, b), in)[0]) return vec<char>(out.size(), 1);
  return out;
}
/// Do some of the results depend on the inputs `from`?
constexpr bool depend_on(const graph& g, const arrays& results, const arrays& from) {
  vec<char> depends(g.nodes.size(), 0);
  vec<vec<char>> of_tuple(g.nodes.size());
  for (const array& x : from) depends[x.id()] = 1;
  for (int i = 0; i < g.count(); ++i) {
    const node& n = g[i];
    vec<char> operands;
    for (int k = 0; k < n.operand_count; ++k) {
      operands.push_back(depends[g.operand(n, k)]);
      depends[i] = depends[i] || operands[k];
    }
    if (!depends[i] || !n.op) continue;
    if (const bool loop = n.op->bodies.carries || n.op->bodies.branches; loop)
      of_tuple[i] = dependent_results(g, n, operands);
    else if (n.op == &get_p && !of_tuple[g.operand(n, 0)].empty())
      depends[i] = of_tuple[g.operand(n, 0)][picked_output(g, n)];
  }
  for (const array& r : results)
    if (r.exists() && r.trace() == &g && depends[r.id()]) return true;
  return false;
}
}  // namespace detail

/// The transpose of a linear function f of arguments like `args`, whose values do not matter: it maps a tree like f's result
/// to a tree like the argument, or to a tuple of several. f may close over values in which it is not linear.
///
///   const auto transposed = linear_transpose([&](const array& x) { return matmul(a, x); }, x);
///   transposed(y)  // matmul(transpose(a), y)
///
/// errors  "linear_transpose: function" if its derivative depends on the arguments; "linear_transpose: cotangents", when the
///         transpose is called, if their types are not those of the result
/// source  jax.linear_transpose, which returns a tuple in any case
template <class F, class... Args>
constexpr auto linear_transpose(const F& f, const Args&... args) {
  using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
  using grads_type = decltype(detail::one_or_tuple(std::declval<std::tuple<Args...>>()));
  detail::linear_program program;
  const auto zeros_like = [](auto tree) {
    for_each_leaf([](auto& a) { static_cast<array&>(a) = array(0.0, {a.dtype(), false, a.shape()}); }, tree);
    return tree;
  };
  auto values = in_trace(
      [&](graph& g, const Args&... traced) -> std::pair<result_type, std::vector<array>> {
        const auto transpose = [](graph& body, const arrays& xs, const arrays& ys, arrays& grads) {
          const arrays cts = detail::linear_inputs(body, ys);
          grads = backward(body, ys, cts, xs);
          if (detail::depend_on(body, grads, xs))
            reject(&body, location{}, "linear_transpose: function", "a derivative that depends on the arguments",
                   "a linear function");
          for (int k = 0; k < grads.count(); ++k)
            if (!grads[k].exists()) grads[k] = array(0.0, {xs[k].dtype(), false, xs[k].shape()});
          return cts;
        };
        std::vector<array> residuals;
        const result_type y = detail::trace_linear<false, result_type>(program, residuals, g, f, transpose, traced...);
        return {y, residuals};
      },
      zeros_like(copy_tree(args))...);
  const auto from = detail::abstract_like(values.first);
  return linear_function<std::remove_const_t<decltype(from)>, grads_type>(
      "linear_transpose: cotangents", std::move(program), std::move(values.second), from,
      detail::one_or_tuple(std::tuple<Args...>(detail::abstract_like(args)...)));
}

}  // namespace tokamax
