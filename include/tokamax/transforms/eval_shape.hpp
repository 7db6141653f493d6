// tokamax/transforms/eval_shape.hpp: the types and the graph of a function, without computing it: eval_shape, make_graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/trace.hpp>  // trace_into

namespace tokamax {

/// The graph of f on arguments like these; their values do not matter. Its inputs are the leaves of the arguments, and its
/// outputs those of the result. `to_text(make_graph(f, x))` prints it.
///
/// errors  those of f
/// source  jax.make_jaxpr
template <class F, class... Args>
constexpr graph make_graph(const F& f, const Args&... args) {
  graph g;
  std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>> result{};
  trace_into(g, f, result, args...);
  if (g.error.failed) detail::throw_error(g.error.what, g.error.found, g.error.expected, g.error.where);
  return g;
}

/// The result of f on arguments like these, as abstract arrays with dtypes and shapes. Nothing is computed, and the
/// arguments need no data: `eval_shape(f, array({f32, false, {2, 3}}))`.
///
/// errors  those of f
/// source  jax.eval_shape
template <class F, class... Args>
constexpr auto eval_shape(const F& f, const Args&... args) {
  graph g;
  g.parent = trace_of(args...);  // f may close over values of this graph
  if (g.parent) g.depth = g.parent->depth + 1, g.dynamic = g.parent->dynamic;
  std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>> result{};
  trace_into(g, f, result, args...);
  if (g.parent)
    detail::close_body(g);
  else if (g.error.failed)
    detail::throw_error(g.error.what, g.error.found, g.error.expected, g.error.where);
  return result;
}

}  // namespace tokamax
