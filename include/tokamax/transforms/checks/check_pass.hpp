// tokamax/transforms/checks/check_pass.hpp: copy a program so that it computes the first error beside its results.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/checks/checkify.cpp
// umbrella: no (part of checkify)
#pragma once

#include <tokamax/core/graph/inline.hpp>                    // live_nodes, emit_op
#include <tokamax/transforms/checks/check.hpp>              // check_p
#include <tokamax/transforms/checks/op_checks.hpp>          // checks_of
#include <tokamax/transforms/control_flow/scan_rules.hpp>   // scan_attributes
#include <tokamax/transforms/control_flow/while_rules.hpp>  // while_attributes

namespace tokamax::detail {

/// The error so far, as values of the graph that is made. The code does not exist while nothing can have gone wrong.
struct error_state {
  array code, payload;
  bool exists() const { return code.exists(); }
  std::int64_t width() const { return exists() ? payload.extent(0) : 0; }
};
inline array widened(const array& payload, std::int64_t width) {
  return payload.extent(0) == width ? payload : concatenate({payload, zeros({width - payload.extent(0)}, f64)}, 0);
}
/// The first of two errors.
inline error_state first_of(const error_state& a, const error_state& b) {
  if (!a.exists() || !b.exists()) return a.exists() ? a : b;
  const std::int64_t width = std::max(a.width(), b.width());
  const array happened = a.code != zeros_like(a.code);
  return {select(happened, a.code, b.code),
          select(broadcast_to(happened, {width}), widened(a.payload, width), widened(b.payload, width))};
}
inline error_state no_error(std::int64_t width) { return {zeros({}, i32), zeros({width}, f64)}; }

/// Takes the checks out of a body, and out of the bodies in it. Returns whether it has other effects.
inline bool drop_checks(graph& g) {
  vec<int> kept;
  for (const int e : g.effects) {
    bool effect = g[e].op->effect != effect_kind::none && g[e].op != descriptor_of<check_p>();
    for (int b = 0; b < body_count(g, g[e]); ++b) effect = drop_checks(body_of(g, g[e], b)) || effect;
    if (effect) kept.push_back(e);
  }
  g.effects = kept;
  return !kept.empty();
}

/// Copies one graph into another with the checks that are wanted.
class check_pass {
 public:
  /// `only_errors`: the results are computed elsewhere too, so that effects do not happen here.
  check_pass(graph& to, const graph& from, check_set wanted, bool only_errors)
      : to_(to), from_(from), wanted_(wanted), only_errors_(only_errors), values_(from.nodes.size()) {}

  /// The results on these arguments; `state` becomes the error.
  arrays run(const array* args, error_state& state) {
    const ambient_trace scope(to_);
    for (int k = 0; k < from_.inputs.count(); ++k) values_[from_.inputs[k]] = lift(to_, args[k]);
    const vec<char> live = live_nodes(from_);
    copied_scopes scopes(to_, from_);
    for (int i = 0; i < from_.count(); ++i)
      if (live[i] && from_[i].op) {
        scopes.enter(from_[i]);
        add(i, from_[i]);
      }
    arrays results;
    for (const int o : from_.outputs) results.push_back(value(o));
    state = state_;
    return results;
  }

 private:
  const array& value(int i) const {
    if (!values_[i].exists())
      throw error("checkify: effect in a function with rules", "its result is used", "an effect outside of it");
    return values_[i];
  }
  void add(int i, const node& n) {
    const op& o = *n.op;
    if (&o == &get_p) {
      const arrays& all = tuples_[tuple_of_[from_.operand(n, 0)]];
      if (!all.empty()) values_[i] = all[picked_output(from_, n)];
      return;
    }
    words w = carry_words(from_, n, to_);
    if (n.operand_count == 0 && !o.infer_all) {
      values_[i] = array(&to_, add_node(to_, o, nullptr, 0, w, n.type, n.where), n.type);
      return;
    }
    arrays in;
    for (int k = 0; k < n.operand_count; ++k) in.push_back(value(from_.operand(n, k)));
    const arrays out = &o == descriptor_of<check_p>() ? take_check(n, w, in) : call_of_node(n, w, in);
    if (!o.infer_all) {
      values_[i] = lift(to_, out[0]);
      return;
    }
    tuple_of_.resize(from_.nodes.size(), -1);
    tuple_of_[i] = tuples_.count();
    tuples_.push_back(out);
  }

  /// The error of a place, where `failed` tells whether it happens.
  void fail(check_set kind, std::string text, location where, const array& failed, const arrays& values) {
    check_site site{kind, std::move(text), place_of(where), {}};
    for (const array& v : values) site.values.push_back({v.dtype(), false, v.shape()});
    const array code(check_sites::instance().add(site), {i32, false, {}});
    merge({select(failed, code, zeros_like(code)), payload_of(values)});
  }
  void merge(const error_state& next) {
    state_ = first_of(state_, next);
    state_.code = lift(to_, state_.code);
    state_.payload = lift(to_, state_.payload);
  }
  /// A check of the user, which vanishes.
  arrays take_check(const node& n, const words& w, const arrays& in) {
    const auto said = unpack<check_attributes>(w.data());
    const check_kind kind = said.kind;
    if (kind == check_kind::error_value) {
      merge({in[1], in[2]});
      return {};
    }
    if (!wanted_.has(kind == check_kind::index ? index_checks : user_checks)) return {};
    fail(kind == check_kind::index ? index_checks : user_checks, std::string(said.text.view()), n.where,
         logical_not(in[0]), arrays(in.data() + 1, in.size() - 1));
    return {};
  }
  arrays call_of_node(const node& n, words& w, const arrays& in) {
    const op& o = *n.op;
    if (o.bodies.branches) return call_branches(n, w, in);
    if (o.bodies.carries) return call_loop(n, w, in);
    bool effect = o.effect != effect_kind::none;
    for (int b = 0; b < body_count(from_, n); ++b) effect = drop_checks(to_.bodies[body_word(o, w, b)]) || effect;
    if (effect && only_errors_) return {};
    const arrays out = emit_op(to_, o, in.data(), in.count(), w, n.where);
    if (o.attributes.has_bodies() && o.compose) {  // errors of a function with rules are computed beside it: rules stay
      error_state inside;
      check_pass(to_, body_of(from_, n, 0), wanted_, true).run(in.data(), inside);
      if (inside.exists()) merge(inside);
    }
    call c = call_of(o, in, w, &to_, n.where);
    c.type = n.type;
    for (const op_check& k : checks_of(c, out, wanted_)) fail(k.kind, std::string(o.name), n.where, k.failed, k.values);
    return out;
  }

  /// A copy of a body whose inputs are new, and that computes an error.
  struct checked_body {
    graph g;
    arrays results;
    error_state state;
  };
  void check_body(checked_body& b, const graph& body, arrays& in) {
    for (const int id : body.inputs) in.push_back(body_input(b.g, body[id].type));
    b.results = check_pass(b.g, body, wanted_, only_errors_).run(in.data(), b.state);
  }
  static void set_outputs(checked_body& b, int first, const arrays& more) {
    arrays all(b.results.data(), static_cast<std::size_t>(first));
    for (const array& a : more) all.push_back(a);
    for (int k = first; k < b.results.count(); ++k) all.push_back(b.results[k]);
    for (const array& a : all) b.g.outputs.push_back(lift(b.g, a).id());
  }
  /// The results of a call without those of the error, which stand at `first`.
  arrays without_error(const arrays& all, int first) {
    merge({all[first], all[first + 1]});
    arrays out;
    for (int k = 0; k < all.count(); ++k)
      if (k != first && k != first + 1) out.push_back(all[k]);
    return out;
  }

  /// Each branch returns its error after its results.
  arrays call_branches(const node& n, words& w, const arrays& in) {
    const int count = body_count(from_, n);
    vec<checked_body> bodies(static_cast<std::size_t>(count));
    bool any_error = false;
    std::int64_t width = 0;
    for (int b = 0; b < count; ++b) {
      arrays inputs;
      check_body(bodies[b], body_of(from_, n, b), inputs);
      any_error = any_error || bodies[b].state.exists();
      width = std::max(width, bodies[b].state.width());
    }
    for (int b = 0; b < count; ++b) {
      const ambient_trace scope(bodies[b].g);
      const error_state e = bodies[b].state.exists() ? bodies[b].state : no_error(0);
      set_outputs(bodies[b], bodies[b].results.count(),
                  any_error ? arrays{e.code, widened(e.payload, width)} : arrays());
      to_.bodies[body_word(*n.op, w, b)] = std::move(bodies[b].g);
    }
    const arrays out = emit_op(to_, *n.op, in.data(), in.count(), w, n.where);
    return any_error ? without_error(out, out.count() - 2) : out;
  }

  /// A loop carries its error after its carries. A predicate is asked before the loop, and then after each step.
  arrays call_loop(const node& n, words& w, const arrays& in) {
    const int carries = n.op->bodies.carries(w.data()), last = body_count(from_, n) - 1;
    const graph& body = body_of(from_, n, last);
    const auto in_to = [&](int b) -> graph& { return to_.bodies[body_word(*n.op, w, b)]; };
    checked_body step;
    arrays inputs;
    check_body(step, body, inputs);
    for (int b = 0; b < last; ++b) {
      const graph& predicate = body_of(from_, n, b);
      error_state before, after;
      check_pass(to_, predicate, wanted_, true).run(in.data(), before);
      arrays next(step.results.data(), static_cast<std::size_t>(carries));
      for (int k = carries; k < inputs.count(); ++k) next.push_back(inputs[k]);
      check_pass(step.g, predicate, wanted_, true).run(next.data(), after);
      if (before.exists()) merge(before);
      const ambient_trace scope(step.g);
      step.state = first_of(step.state, after);
    }
    const bool any_error = step.state.exists();
    arrays operands(in.data(), static_cast<std::size_t>(carries));
    if (any_error) {
      const std::int64_t width = step.state.width();
      const array code = body_input(step.g, {i32, false, {}}), payload = body_input(step.g, {f64, false, {width}});
      const ambient_trace scope(step.g);
      const error_state all = first_of({code, payload}, step.state);
      set_outputs(step, carries, {all.code, all.payload});
      move_last_inputs(step.g, carries);
      for (int b = 0; b < last; ++b) add_unused_inputs(in_to(b), carries, width);
      operands.push_back(no_error(width).code);
      operands.push_back(no_error(width).payload);
      add_carries(n, w);
    } else {
      set_outputs(step, carries, {});
    }
    for (int b = 0; b < last; ++b) drop_checks(in_to(b));
    in_to(last) = std::move(step.g);
    for (int k = carries; k < in.count(); ++k) operands.push_back(in[k]);
    const arrays out = emit_op(to_, *n.op, operands.data(), operands.count(), w, n.where);
    return any_error ? without_error(out, carries) : out;
  }
  /// The two inputs that were added last become the ones from number `first` on.
  static void move_last_inputs(graph& g, int first) {
    const int n = g.inputs.count();
    vec<int> moved(g.inputs.data(), static_cast<std::size_t>(first));
    moved.push_back(g.inputs[n - 2]);
    moved.push_back(g.inputs[n - 1]);
    for (int k = first; k < n - 2; ++k) moved.push_back(g.inputs[k]);
    for (int k = 0; k < n; ++k) g.nodes[moved[k]].first_word = k;
    g.inputs = moved;
  }
  static void add_unused_inputs(graph& predicate, int first, std::int64_t width) {
    predicate.input({i32, false, {}});
    predicate.input({f64, false, {width}});
    move_last_inputs(predicate, first);
  }
  /// The attributes of a loop with two more carries: those of a loop of known length, or with a predicate.
  static void add_carries(const node& n, words& w) {
    if (n.op->bodies.repeats) {
      auto a = unpack<scan_attributes>(w.data());
      a.carries += 2;
      w = pack(a);
    } else {
      auto a = unpack<while_attributes>(w.data());
      a.carries += 2;
      w = pack(a);
    }
  }

  graph& to_;
  const graph& from_;
  check_set wanted_;
  bool only_errors_;
  error_state state_;
  vec<array> values_;   // of each node, in `to`
  vec<arrays> tuples_;  // the results of nodes with several
  vec<int> tuple_of_;
};

}  // namespace tokamax::detail
