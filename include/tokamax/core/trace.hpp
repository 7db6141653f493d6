// tokamax/core/trace.hpp: call a function with its arguments as nodes of a graph.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/tree/copy_tree.hpp>      // copy_tree
#include <tokamax/core/graph/dependencies.hpp>  // order_captures
#include <tokamax/core/graph/inline.hpp>        // lift, execute_graph
#include <tokamax/core/scope/named_inputs.hpp>  // make_inputs

#include <tuple>  // tuple

namespace tokamax {

/// Makes `g` the graph that new values join on this thread, during the lifetime of this object.
class ambient_trace {
 public:
  constexpr explicit ambient_trace(graph& g) {
    if (!std::is_constant_evaluated()) enter(&g);
  }
  constexpr ~ambient_trace() {
    if (!std::is_constant_evaluated()) current_context.trace = before_;
  }
  ambient_trace(const ambient_trace&) = delete;

 private:
  void enter(graph* g) {
    g->life.begin();
    before_ = std::exchange(current_context.trace, g);
  }
  graph* before_ = nullptr;
};

/// Are all objects of type F equivalent? Then a default-made one can be traced while compiling. Specialise it for wrappers
/// whose only state is the line where they were made.
template <class F>
inline constexpr bool is_stateless = std::is_empty_v<F>;

/// The leaves of some trees, in order.
template <class... Trees>
constexpr arrays leaves(const Trees&... trees) {
  arrays out;
  (for_each_leaf([&](const array& a) { out.push_back(a); }, trees), ...);
  return out;
}

/// `tree` with the leaves `values[from]`, `values[from + 1]` and so on.
template <class Tree>
constexpr Tree with_leaves(Tree tree, const arrays& values, int from = 0) {
  for_each_leaf([&](auto& a) { static_cast<array&>(a) = values[from++]; }, tree);
  return tree;
}

/// The graph that a function of these trees belongs to: that of their leaves, and at run time also the graph that is being
/// traced on this thread. Null if there is none.
/// errors  tokamax::error for a value of a trace that has ended
template <class... Trees>
constexpr graph* trace_of(const Trees&... trees) {
  graph* g = nullptr;
  [[maybe_unused]] auto look = [&](const array& a) {  // unused without trees
    if (!std::is_constant_evaluated()) detail::require_live(a, {});
    graph* t = a.trace();
    if (t && t != g && (!t->floating || t->open) && (!g || detail::precedence(*t) > detail::precedence(*g))) g = t;
  };
  (for_each_leaf(look, trees), ...);
  if (!std::is_constant_evaluated() && !g) g = current_context.trace;
  return g;
}

/// Traces `f` on arguments with the types of `args`; their values do not matter.
template <class F, class... Args>
constexpr void trace_into(graph& g, const F& f, auto& result, const Args&... args) {
  const ambient_trace scope(g);
  std::tuple<Args...> inside(copy_tree(args)...);
  // A program known while compiling has the dtypes of its parameters, which are not weak.
  std::apply([&](Args&... a) { (detail::make_inputs(g, a, !std::is_constant_evaluated()), ...); }, inside);
  std::apply([&](const Args&... a) { result = f(a...); }, inside);
  for_each_leaf(
      [&](auto& a) {
        const array out = lift(g, a);
        g.outputs.push_back(out.id());
        static_cast<array&>(a) = array(out.type());
      },
      result);
}

/// Traces the call f(args...), which is made in `g`, into the graph `body`. The inputs of the body are the leaves of
/// `args`, followed by the values that f closes over. `operands` receives their values in `g`.
template <class F, class... Args>
constexpr auto trace_body(graph& g, graph& body, arrays& operands, const F& f, const Args&... args) {
  body.become_body_of(g);
  auto result = [&] {
    const ambient_trace scope(body);
    auto enter = [&](const auto& given) {
      auto tree = copy_tree(given);
      for_each_leaf(
          [&](auto& a) {
            operands.push_back(a);
            const int path = detail::leaf_path_in(body, a);
            static_cast<array&>(a) = array(&body, body.input(a.type(), path), a.type());
          },
          tree);
      return tree;
    };
    const std::tuple<Args...> inside{enter(args)...};  // braces: inputs are numbered from left to right
    return std::apply(f, inside);
  }();
  for (const array& a : leaves(result)) body.outputs.push_back(lift(body, a).id());
  order_captures(body);
  for (int id : body.captures) operands.push_back(array(&g, id, g[id].type));
  detail::close_body(body);
  return result;
}

namespace detail {
/// Calls f(g, args...) with the arguments as nodes of g.
template <class F, class... Args>
constexpr auto call_in(graph& g, const F& f, const Args&... args) {
  auto enter = [&](const auto& given) {
    auto tree = copy_tree(given);
    for_each_leaf([&](auto& a) { static_cast<array&>(a) = lift(g, a); }, tree);
    return tree;
  };
  const std::tuple<Args...> traced{enter(args)...};
  return std::apply([&](const Args&... a) { return f(g, a...); }, traced);
}

/// Does a constant expression know the values of all leaves?
template <class... Trees>
constexpr bool all_constant(const Trees&... trees) {
  bool constant = true;
  (for_each_leaf([&](const array& a) { constant = constant && (a.is_traced() || a.is_concrete()); }, trees), ...);
  return constant;
}

/// Calls f on constants in a constant expression. The result is a floating graph, which joins the next trace that uses it.
/// Outside of traces such a result cannot be a constant object, because it owns memory; a variable that is initialised
/// with it is then initialised when the program runs.
template <class F, class... Args>
constexpr auto call_on_constants(const F& f, const Args&... args) {
  const handle shared = make_floating_graph();
  graph& own = *shared->expression;
  own.open = true;
  auto result = call_in(own, f, args...);
  for_each_leaf(
      [&](auto& a) {
        const array out = lift(own, a);
        static_cast<array&>(a) = array(&own, out.id(), out.type(), shared);
      },
      result);
  if (graph* const around = close(own))
    result = call_in(*around, f, args...);
  else if (!own.effects.empty())
    effect_without_traced_operand();
  return result;
}
}  // namespace detail

/// Calls `f(graph, args...)` with traced arguments. If they belong to a trace, f joins it. Otherwise f gets a graph of its
/// own, which is then run on the data of the arguments; for abstract arguments only the types of the results are returned.
template <class F, class... Args>
constexpr auto in_trace(const F& f, const Args&... args) {
  using result_type = decltype(f(std::declval<graph&>(), args...));
  if (graph* g = trace_of(args...)) return detail::call_in(*g, f, args...);
  if (std::is_constant_evaluated() && detail::all_constant(args...)) return detail::call_on_constants(f, args...);
  graph g;
  bool concrete = true, moved = false;
  arrays inputs;
  auto collect = [&](const array& a) {
    concrete = concrete && a.is_concrete();
    moved = moved || a.is_moved_from();
    inputs.push_back(a);
  };
  (for_each_leaf(collect, args), ...);
  if (moved) throw error("transformation: argument", "an array that was moved from", "a concrete array");
  result_type result = [&] {
    const ambient_trace scope(g);
    auto enter = [&](const auto& given) {
      auto tree = copy_tree(given);
      detail::make_inputs(g, tree, true);
      return tree;
    };
    const std::tuple<Args...> traced{enter(args)...};  // braces: inputs are numbered from left to right
    return std::apply([&](const Args&... a) { return f(g, a...); }, traced);
  }();
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
