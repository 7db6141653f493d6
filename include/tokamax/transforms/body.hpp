// tokamax/transforms/body.hpp: functions as bodies of ops: how they are traced, differentiated and batched.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/control_flow/while_loop.cpp
#pragma once

#include <tokamax/core/trace.hpp>                 // ambient_trace, leaves
#include <tokamax/lax/convert.hpp>                // convert_element_type
#include <tokamax/transforms/passes/batch.hpp>    // batch
#include <tokamax/transforms/passes/forward.hpp>  // forward

namespace tokamax::detail {

constexpr array body_input(graph& g, const array_type& t) {
  const array_type strong{t.dtype, false, t.shape};
  return array(&g, g.input(strong), strong);
}

/// Traces f inside of `g` into `body`. The inputs of the body are like the leaves of `args`, followed by the values that f
/// closes over; its outputs are the results of f. Inputs are not weak, because the results of a loop become its inputs.
template <class F, class... Args>
constexpr auto trace_body_of(graph& g, graph& body, location where, const F& f, const Args&... args) {
  body.become_body_of(g);
  auto result = [&] {
    const ambient_trace scope(body);
    [[maybe_unused]] auto enter = [&](auto tree) {
      for_each_leaf([&](auto& a) { static_cast<array&>(a) = body_input(body, a.type()); }, tree);
      return tree;
    };
    const std::tuple<Args...> inside{enter(args)...};  // braces: inputs are numbered from left to right
    return std::apply(f, inside);
  }();
  for (const array& a : leaves(result)) body.outputs.push_back(lift(body, a, where).id());
  order_captures(body);
  return result;
}

/// Adds bodies of one op, such as the branches of a cond, to `g`. Each gets the same inputs: first its own, then one for
/// every value that any of them closes over. These values join the operands. Returns the indices of the bodies.
constexpr vec<body_index> add_bodies(graph& g, vec<graph>& bodies, arrays& operands) {
  vec<int> captures;  // the values, as ids in g
  const auto known = [&](int id) {
    for (int c : captures)
      if (c == id) return true;
    return false;
  };
  for (const graph& b : bodies)
    for (int id : b.captures)
      if (!known(id)) captures.push_back(id);
  vec<body_index> indices;
  for (graph& b : bodies) {
    const int own = b.inputs.count() - b.captures.count();
    vec<int> inputs(b.inputs.data(), static_cast<std::size_t>(own));
    for (int id : captures) {
      int input = -1;
      for (int k = 0; k < b.captures.count(); ++k)
        if (b.captures[k] == id) input = b.inputs[own + k];
      if (input < 0) input = b.input(g[id].type);
      b.nodes[input].first_word = inputs.count();
      inputs.push_back(input);
    }
    b.inputs = inputs;
    close_body(b);
    g.bodies.push_back(std::move(b));
    indices.push_back(g.bodies.count() - 1);
  }
  for (int id : captures) operands.push_back(array(&g, id, g[id].type));
  return indices;
}

/// The index of a graph that becomes a body of a call in `g`.
constexpr std::int64_t add_body(graph& g, graph body) {
  g.bodies.push_back(std::move(body));
  return g.bodies.count() - 1;
}
/// The op of c with these bodies; w are its attribute words but for them.
constexpr arrays bind_bodies(const call& c, vec<graph> bodies, words w, const arrays& operands) {
  for (int b = 0; b < bodies.count(); ++b) body_word(*c.self, w, b) = add_body(*c.trace, std::move(bodies[b]));
  return bind_all(*c.self, operands.data(), operands.count(), w, c.where);
}
/// The first body of c on its operands: what ops mean that are a call of it until they are differentiated.
constexpr arrays call_first_body(const call& c) {
  const graph function(c.body(0));
  return inline_graph(*c.trace, function, c.inputs);
}
/// The types of its results.
constexpr types types_of_first_body(const call& c) {
  const graph& body = c.body(0);
  types t;
  for (const int o : body.outputs) t.push_back({body[o].type.dtype, false, body[o].type.shape});
  return t;
}

/// Does a node do something outside of the program, itself or in one of its bodies?
constexpr bool has_ordered_effect(const graph& g, const node& n) {
  if (n.op->effect == effect_kind::ordered) return true;
  for (int b = 0; b < body_count(g, n); ++b) {
    const graph& body = body_of(g, n, b);
    for (const int e : body.effects)
      if (has_ordered_effect(body, body[e])) return true;
  }
  return false;
}
constexpr bool has_ordered_effect(const graph& g) {
  for (const int e : g.effects)
    if (has_ordered_effect(g, g[e])) return true;
  return false;
}
/// Is one of the results of a node with several an operand, or a result of the graph?
constexpr bool is_used(const graph& g, int tuple) {
  vec<char> result(g.nodes.size(), 0);
  bool used = false;
  for (int i = tuple + 1; i < g.count(); ++i)
    for (int k = 0; k < g[i].operand_count; ++k) {
      const int operand = g.operand(g[i], k);
      if (operand == tuple)
        result[i] = 1;
      else
        used = used || result[operand];
    }
  for (const int o : g.outputs) used = used || result[o];
  return used;
}
/// Of what was computed before, and now once more for the derivative of c, the effects do not happen again: those after the
/// first `kept` ones, and those in bodies that run. A value that came with an effect cannot be computed again.
constexpr void drop_effects(graph& g, int kept, const call& c) {
  for (int k = kept; k < g.effects.count(); ++k) {
    const int id = g.effects[k];
    const node& n = g[id];
    if (n.op->effect == effect_kind::ordered && is_used(g, id))
      c.fail(message(n.op->name) << ": derivative", message("its result inside of ") << c.self->name,
             "a call outside of what derivatives compute again");
    const int running = n.op->compose ? 1 : body_count(g, n);  // rules of functions have not run
    for (int b = 0; b < running; ++b) drop_effects(body_of(g, n, b), 0, c);
  }
  g.effects.resize(static_cast<std::size_t>(kept));
}

/// Refuses effects that vmap would make happen for examples that would not have come to them.
constexpr void refuse_effects(const call& c, const char* expected) {
  c.fail(message(c.self->name) << ": vmap", "an effect outside of the program", expected);
}

constexpr array zero_like(const array& x) { return array(0.0, {x.dtype(), false, x.shape()}); }

/// A body of c on values and their tangents. Its inputs are in groups with the sizes `in`: the values of a group, then the
/// tangents of those in `moving`. Its results are values, followed by the tangents of the floating ones.
constexpr graph forward_body(const call& c, const graph& body, const vec<int>& in, const vec<char>& moving,
                             const vec<int>& out) {
  graph b;
  arrays args, tangents;
  for (int group : in) {
    const int first = args.count();
    for (int k = first; k < first + group; ++k) args.push_back(body_input(b, body[body.inputs[k]].type));
    for (int k = first; k < first + group; ++k) tangents.push_back(moving[k] ? body_input(b, args[k].type()) : array());
  }
  arrays ys = inline_graph(b, body, args.data());
  for (array& y : ys) y = lift(b, y);
  drop_effects(b, 0, c);
  const arrays dys = forward(b, args, tangents, ys);
  int first = 0;
  for (int group : out) {
    for (int k = first; k < first + group; ++k) b.outputs.push_back(ys[k].id());
    for (int k = first; k < first + group; ++k)
      if (is_floating(ys[k].dtype())) b.outputs.push_back(lift(b, dys[k].exists() ? dys[k] : zero_like(ys[k])).id());
    first += group;
  }
  return b;
}
/// The operands of such a body: values and tangents. Tangents that do not exist become zeros.
constexpr arrays with_tangents(const call& c, int first, const vec<int>& in, const vec<char>& moving) {
  arrays operands;
  for (int group : in) {
    for (int k = first; k < first + group; ++k) operands.push_back(c[k]);
    for (int k = first; k < first + group; ++k)
      if (moving[k]) operands.push_back(c.tangents[k].exists() ? c.tangents[k] : zero_like(c[k]));
    first += group;
  }
  return operands;
}

/// The bits of an operand that is a constant of the trace; null if it is none.
constexpr const node* constant_operand(const call& c, int k) {
  const node& n = (*c.trace)[c[k].id()];
  return n.op == &constant_p ? &n : nullptr;
}
/// A value in the place of a result, whose type is not weak.
constexpr array as_result(graph& g, const array& x) { return lift(g, convert_element_type(x, x.dtype())); }

constexpr array_type stacked_type(const array_type& t, std::int64_t n) {
  array_type s{t.dtype, false, {n}};
  for (std::int64_t e : t.shape) s.shape.push_back(e);
  return s;
}
/// A body for the whole batch of the call c. Inputs in `batched` have the batch axis, and so have results in `results`.
constexpr graph batched_body(const graph& body, const call& c, const vec<char>& batched, const vec<char>& results) {
  const std::int64_t n = c.batch_size;
  graph b;
  arrays args, examples, batches;
  for (int k = 0; k < body.inputs.count(); ++k) {
    const array_type& t = body[body.inputs[k]].type;
    if (!batched[k]) {
      args.push_back(body_input(b, t));
      continue;
    }
    batches.push_back(body_input(b, stacked_type(t, n)));
    examples.push_back(placeholder(b, {t.dtype, false, t.shape}));
    args.push_back(examples.back());
  }
  arrays ys = inline_graph(b, body, args.data());
  for (array& y : ys) y = lift(b, y);
  const arrays mapped = batch(b, n, examples, batches, ys, c.axis);
  for (int k = 0; k < ys.count(); ++k) {
    array y = mapped[k].exists() ? mapped[k] : ys[k];
    if (results[k] && !mapped[k].exists()) y = with_leading_axis(y, n);
    b.outputs.push_back(lift(b, y).id());
  }
  return b;
}

/// The same, with the batch axis for all results.
constexpr graph batched_body(const graph& body, const call& c, const vec<char>& batched) {
  return batched_body(body, c, batched, vec<char>(body.outputs.size(), 1));
}

/// Which outputs of a body depend on the inputs in `from`, or on a named axis.
constexpr vec<char> dependent_outputs(const graph& body, const vec<char>& from, std::string_view axis = {}) {
  vec<char> depends(body.nodes.size(), 0);
  for (int k = 0; k < body.inputs.count(); ++k) depends[body.inputs[k]] = from[k];
  for (int i = 0; i < body.count(); ++i) {
    if (!axis.empty() && body[i].op && is_along(body, body[i], axis)) depends[i] = 1;
    for (int k = 0; k < body[i].operand_count && !depends[i]; ++k) depends[i] = depends[body.operand(body[i], k)];
  }
  vec<char> out;
  for (int o : body.outputs) out.push_back(depends[o]);
  return out;
}

}  // namespace tokamax::detail
