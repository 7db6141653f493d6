// tokamax/core/trace.hpp: call a function with its arguments as nodes of a graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/inline.hpp>  // lift, execute_graph

#include <tuple>  // tuple

namespace tokamax {

/// Makes `g` the graph that new values join on this thread, for the time of a scope.
class ambient_trace {
 public:
  constexpr explicit ambient_trace(graph& g) {
    if (!std::is_constant_evaluated()) enter(&g);
  }
  constexpr ~ambient_trace() {
    if (!std::is_constant_evaluated()) ambient_graph = before_;
  }
  ambient_trace(const ambient_trace&) = delete;

 private:
  void enter(graph* g) { before_ = std::exchange(ambient_graph, g); }
  graph* before_ = nullptr;
};

/// Is a default-made F as good as any? Functions of functions that keep but the place they were made at say so too.
template <class F>
inline constexpr bool is_stateless = std::is_empty_v<F>;

/// The leaves of a tree, in order.
template <class Tree>
constexpr arrays leaves(const Tree& tree) {
  arrays out;
  for_each_leaf([&](const array& a) { out.push_back(a); }, tree);
  return out;
}

/// `tree` with the leaves `values[from]`, `values[from + 1]`, ...
template <class Tree>
constexpr Tree with_leaves(Tree tree, const arrays& values, int from = 0) {
  for_each_leaf([&](auto& a) { static_cast<array&>(a) = values[from++]; }, tree);
  return tree;
}

/// The graph in which the leaves of some trees are traced; at run time also the one being traced on this thread.
template <class... Trees>
constexpr graph* trace_of(const Trees&... trees) {
  graph* g = nullptr;
  auto look = [&](const array& a) {
    if (a.trace() && !a.trace()->floating && (!g || a.trace()->depth > g->depth)) g = a.trace();
  };
  (for_each_leaf(look, trees), ...);
  if (!std::is_constant_evaluated() && !g) g = ambient_graph;
  return g;
}

/// Traces `f` on arguments of the types of `args`, whose values are not looked at.
template <class F, class... Args>
constexpr void trace_into(graph& g, const F& f, auto& result, const Args&... args) {
  const ambient_trace scope(g);
  std::tuple<Args...> inside(args...);
  auto to_input = [&](auto& a) {
    static_cast<array&>(a) = array(&g, g.input({a.dtype(), false, a.shape()}), {a.dtype(), false, a.shape()});
  };
  for_each_leaf(to_input, inside);
  std::apply([&](const Args&... a) { result = f(a...); }, inside);
  for_each_leaf(
      [&](auto& a) {
        const array out = lift(g, a);
        g.outputs.push_back(out.id());
        static_cast<array&>(a) = array(out.type());
      },
      result);
}

/// Traces the call f(args...), made in `g`, into a graph of its own, `body`. Its inputs are the leaves of `args`, then
/// what f closes over; `operands` receives their values in `g`.
template <class F, class... Args>
constexpr auto trace_body(graph& g, graph& body, arrays& operands, const F& f, const Args&... args) {
  body.parent = &g;
  body.depth = g.depth + 1;
  body.dynamic = g.dynamic;
  auto enter = [&](auto tree) {
    for_each_leaf(
        [&](auto& a) {
          operands.push_back(a);
          static_cast<array&>(a) = array(&body, body.input(a.type()), a.type());
        },
        tree);
    return tree;
  };
  const std::tuple<Args...> inside{enter(args)...};
  auto result = [&] {
    const ambient_trace scope(body);
    return std::apply(f, inside);
  }();
  for (const array& a : leaves(result)) body.outputs.push_back(lift(body, a).id());
  for (int id : body.captures) operands.push_back(array(&g, id, g[id].type));
  if (body.error.failed && !g.error.failed) g.error = body.error;
  body.parent = nullptr;
  return result;
}

/// Calls `f(graph, args...)` with traced arguments: in the trace they belong to, or in one made for this call, which is
/// then run on their data (or, if they are abstract, only gives the types).
template <class F, class... Args>
constexpr auto in_trace(const F& f, const Args&... args) {
  using result_type = decltype(f(std::declval<graph&>(), args...));
  if (graph* g = trace_of(args...)) {
    auto enter = [&](auto tree) {
      for_each_leaf([&](auto& a) { static_cast<array&>(a) = lift(*g, a); }, tree);
      return tree;
    };
    const std::tuple<Args...> traced{enter(args)...};
    return std::apply([&](const Args&... a) { return f(*g, a...); }, traced);
  }
  graph g;
  result_type result = [&] {
    const ambient_trace scope(g);
    auto enter = [&](auto tree) {
      for_each_leaf([&](auto& a) { static_cast<array&>(a) = array(&g, g.input(a.type()), a.type()); }, tree);
      return tree;
    };
    const std::tuple<Args...> traced{enter(args)...};  // braces: inputs are numbered from left to right
    return std::apply([&](const Args&... a) { return f(g, a...); }, traced);
  }();
  bool concrete = true;
  arrays inputs;
  auto collect = [&](const array& a) {
    concrete = concrete && a.is_concrete();
    inputs.push_back(a);
  };
  (for_each_leaf(collect, args), ...);
  for_each_leaf(
      [&](auto& a) {
        const array out = lift(g, a);
        g.outputs.push_back(out.id());
        static_cast<array&>(a) = array(out.type());
      },
      result);
  if (!concrete || std::is_constant_evaluated()) return result;
  return with_leaves(std::move(result), execute_graph(g, inputs));
}

}  // namespace tokamax
