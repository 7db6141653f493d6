// tokamax/transforms/linear_function.hpp: the linear part of a derivative, as a function that can be called many times.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/vjp.cpp
#pragma once

#include <tokamax/base/linked.hpp>           // linked
#include <tokamax/transforms/arguments.hpp>  // require_types

#include <vector>  // residuals, as a tree

namespace tokamax {

namespace detail {

/// A program that is linear in its last inputs. The first inputs are residuals, whose values are known earlier.
struct linear_program {
  graph program;
  vec<int> residuals;  ///< the nodes of the first inputs, in the graph from which the program was cut
};

/// Marks the nodes of g that depend on `linear`. Values that remat computes again count too: to keep them as residuals
/// would take the memory that remat saves.
constexpr vec<char> late_nodes(const graph& g, int known, const arrays& linear) {
  vec<char> late(g.nodes.size(), 0);
  for (const array& a : linear) late[a.id()] = 1;
  for (int i = known; i < g.count(); ++i) {
    const node& n = g[i];
    if (n.op && n.op->memory.kind == op_kind::barrier) late[i] = 1;
    for (int k = 0; k < n.operand_count && !late[i]; ++k) late[i] = late[g.operand(n, k)];
  }
  return late;
}

/// Keeps the effects of nodes that are late, or of those that are not.
constexpr void keep_effects(graph& g, const vec<char>& late, bool kept) {
  vec<int> effects;
  for (const int e : g.effects)
    if ((late[e] != 0) == kept) effects.push_back(e);
  g.effects = effects;
}

constexpr linear_program cut_linear_here(const graph& g, int known, const arrays& linear, const arrays& results) {
  const vec<char> late = late_nodes(g, known, linear);
  graph whole(g);
  whole.inputs.clear();
  whole.outputs.clear();
  for (const array& r : results) whole.outputs.push_back(r.id());
  keep_effects(whole, late, true);
  const vec<char> live = live_nodes(whole);
  vec<char> is_residual(g.nodes.size(), 0);
  const auto keep = [&](int id) {
    if (late[id] || is_residual[id] || g[id].op == &constant_p) return;
    is_residual[id] = 1;
    whole.inputs.push_back(id);
  };
  for (int i = 0; i < g.count(); ++i)
    for (int k = 0; live[i] && late[i] && k < g[i].operand_count; ++k) keep(g.operand(g[i], k));
  for (const array& r : results) keep(r.id());
  linear_program out;
  out.residuals = whole.inputs;
  for (const int id : whole.inputs) whole.nodes[id].op = nullptr, whole.nodes[id].operand_count = 0;
  for (const array& a : linear) whole.inputs.push_back(a.id());
  arrays in;
  for (const int id : whole.inputs) in.push_back(array(&out.program, out.program.input(g[id].type), g[id].type));
  for (const array& y : inline_graph(out.program, whole, in.data()))
    out.program.outputs.push_back(lift(out.program, y).id());
  return out;
}
/// The part of g that computes `results` from the inputs `linear`. It was added after the first `known` nodes.
constexpr linear_program cut_linear(const graph& g, int known, const arrays& linear, const arrays& results) {
  return linked<detail::cut_linear_here>(g, known, linear, results);
}

/// Adds inputs to g for the floating leaves among `types`. Other leaves get none.
constexpr arrays linear_inputs(graph& g, const arrays& types) {
  arrays in;
  for (const array& a : types) {
    const array_type t{a.dtype(), false, a.shape()};
    in.push_back(array());
    if (is_floating(t.dtype)) in.back() = array(&g, g.input(t), t);
  }
  return in;
}
constexpr arrays existing(const arrays& list) {
  arrays out;
  for (const array& a : list)
    if (a.exists()) out.push_back(a);
  return out;
}
/// The structure of a tree, without its values.
template <class Tree>
constexpr Tree abstract_like(const Tree& given) {
  Tree tree = copy_tree(given);
  for_each_leaf([](auto& a) { static_cast<array&>(a) = array(array_type{a.dtype(), false, a.shape()}); }, tree);
  return tree;
}

}  // namespace detail

/// A linear function of a tree `From`, or of the elements of a tuple, whose result is a tree `To`. It may be called any
/// number of times: in the trace where it was made, in functions that are traced there, and on data if it was made of data.
template <class From, class To>
class linear_function {
 public:
  constexpr linear_function(const char* what, detail::linear_program program, std::vector<array> residuals,
                            const From& from, const To& to)
      : what_(what), program_(std::move(program)), residuals_(std::move(residuals)), from_(from), to_(to) {}

  /// errors  "vjp: cotangents" or "linearize: tangents" if types are not those of the result or of the arguments
  template <class Arg>
  constexpr To operator()(const Arg& arg, source_line l = source_line::current()) const {
    return run(l, detail::as_argument<true>(arg));
  }
  template <class First, class Second, class... Rest>
  constexpr To operator()(const First& first, const Second& second, const Rest&... rest) const {
    return run(source_line{}, detail::as_argument<true>(first), detail::as_argument<true>(second),
               detail::as_argument<true>(rest)...);
  }
  /// The values that the function reads besides its argument: those of the forward pass that a pullback needs.
  constexpr const std::vector<array>& residuals() const { return residuals_; }

 private:
  template <class... Args>
  constexpr To run(source_line l, const Args&... args) const {
    return in_trace(
        [this, l](graph& g, const std::vector<array>& residuals, const Args&... given) -> To {
          arrays in(residuals.data(), residuals.size());
          const arrays found = leaves(given...), wanted = leaves(from_);
          detail::require_types(g, what_, found, wanted, l);
          for (int k = 0; k < wanted.count(); ++k)
            if (is_floating(wanted[k].dtype())) in.push_back(*(k < found.count() ? &found[k] : &wanted[k]));
          const arrays results = inline_graph(g, program_.program, in.data());
          return with_leaves(to_, results);
        },
        residuals_, args...);
  }

  const char* what_;
  detail::linear_program program_;
  std::vector<array> residuals_;
  From from_;
  To to_;
};

namespace detail {
/// The value of f(args...), and a linear function made of the nodes that `differentiate(body, inputs, outputs, results)`
/// adds to the trace. `differentiate` returns the linear inputs and sets the results. With `Aux` f returns a pair, and the
/// outputs are those of its first part.
template <bool Aux, class Result, class F, class Differentiate, class... Args>
constexpr Result trace_linear(linear_program& program, std::vector<array>& residuals, graph& g, const F& f,
                              const Differentiate& differentiate, const Args&... args) {
  graph body;
  arrays operands;
  const Result y = trace_body(g, body, operands, f, args...);
  const int known = body.count(), outputs = body.outputs.count();
  int count = 0;
  (for_each_leaf([&](const array&) { ++count; }, args), ...);
  arrays xs, ys, linear, results;
  for (int k = 0; k < count; ++k) xs.push_back(array(&body, body.inputs[k], body[body.inputs[k]].type));
  const int values = leaves(differentiated<Aux>(y)).count();
  for (int k = 0; k < values; ++k) ys.push_back(array(&body, body.outputs[k], body[body.outputs[k]].type));
  {
    const ambient_trace scope(body);
    linear = differentiate(body, xs, ys, results);
    for (array& r : results) r = lift(body, r);
  }
  program = cut_linear(body, known, existing(linear), results);
  keep_effects(body, late_nodes(body, known, existing(linear)), false);
  for (const int id : program.residuals) body.outputs.push_back(id);
  const arrays early = inline_graph(g, body, operands.data());
  residuals.clear();
  for (int k = outputs; k < early.count(); ++k) residuals.push_back(early[k]);
  return with_leaves(y, early);
}
/// A value and a linear function, and what else was computed.
template <bool Aux, class Result, class Linear>
constexpr auto value_and_linear(const Result& y, Linear linear) {
  if constexpr (Aux)
    return std::tuple{y.first, std::move(linear), y.second};
  else
    return std::pair{y, std::move(linear)};
}
}  // namespace detail

}  // namespace tokamax
