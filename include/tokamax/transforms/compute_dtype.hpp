// tokamax/transforms/compute_dtype.hpp: copy a program of f32 into a narrower dtype, except for sums of many numbers.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/precision.cpp
#pragma once

#include <tokamax/base/linked.hpp>        // linked
#include <tokamax/core/graph/inline.hpp>  // live_nodes, emit_op
#include <tokamax/lax/convert.hpp>        // convert_element_type
#include <tokamax/lax/dot_general.hpp>    // dot_algorithm

namespace tokamax {

/// A precision policy for with_precision. Arguments and results of a function keep their dtypes, so parameters stay f32 and
/// gradients are f32.
struct precision_policy {
  dot_algorithm dots = dot_algorithm::unspecified;  ///< the algorithm of products that do not name one
  /// The dtype in which f32 values are computed. Sums, losses and products that name their algorithm stay f32.
  dtype compute = dtype::none;
};

namespace detail {

constexpr arrays compute_in_here(graph& to, const graph& from, const arrays& args, const precision_policy& policy);
constexpr arrays compute_in(graph& to, const graph& from, const arrays& args, const precision_policy& policy) {
  return linked<detail::compute_in_here>(to, from, args, policy);
}

/// Copies one graph into another under a policy. A value that was f32 is in one of these states:
///   loose    computed from constants and integers only; it takes the dtype of the value that it meets
///   entered  an argument, or the result of a loop; it is f32, and is converted where it meets narrow values
///   chained  f32, the result of an elementwise op that only elementwise ops and sums use, as in one fused loop
///   narrow   it has the compute dtype
///   wide     f32, because it is a sum or depends on one; an op with a wide operand computes in f32, and a product makes
///            the value narrow again
/// So elementwise ops that follow each other round once, where another op uses the value.
class compute_dtype_pass {
 public:
  constexpr compute_dtype_pass(graph& to, const graph& from, const precision_policy& policy)
      : to_(to),
        from_(from),
        policy_(policy),
        values_(from.nodes.size()),
        states_(from.nodes.size(), unchanged),
        leaves_(from.nodes.size(), 0) {}

  constexpr arrays run(const arrays& args) {
    for (int k = 0; k < from_.inputs.count(); ++k) set(from_.inputs[k], lift(to_, args[k]), entered);
    const vec<char> live = live_nodes(from_);
    for (int i = 0; i < from_.count(); ++i)
      if (live[i] && from_[i].op && !is_elementwise(from_[i]) && !from_[i].op->precision.sums)
        for (int k = 0; k < from_[i].operand_count; ++k) leaves_[from_.operand(from_[i], k)] = 1;
    copied_scopes scopes(to_, from_);
    for (int i = 0; i < from_.count(); ++i)
      if (live[i] && from_[i].op) {
        scopes.enter(from_[i]);
        repeat(i, from_[i]);
      }
    arrays results;
    for (const int o : from_.outputs) results.push_back(as(o, from_[o].type.dtype));
    return results;
  }

 private:
  enum state : char { unchanged, loose, entered, chained, narrow, wide };
  static constexpr bool is_elementwise(const node& n) { return n.op->memory.kind == op_kind::elementwise; }

  constexpr void set(int i, const array& value, state f32_state) {
    values_[i] = value;
    if (from_[i].type.dtype == f32) states_[i] = value.dtype() == policy_.compute ? narrow : f32_state;
  }
  /// The value of node i: of dtype `t`, if it was f32.
  constexpr array as(int i, dtype t) const {
    if (from_[i].type.dtype != f32 || values_[i].dtype() == t) return values_[i];
    return lift(to_, convert_element_type(values_[i], t));
  }

  constexpr void repeat(int i, const node& n) {
    const op& o = *n.op;
    if (&o == &get_p) {
      const int tuple = from_.operand(n, 0);
      return set(i, tuples_[tuple_of_[tuple]][picked_output(from_, n)], static_cast<state>(states_[tuple]));
    }
    words w = carry_words(from_, n, to_);
    if (n.operand_count == 0 && !o.infer_all)
      return set(i, array(&to_, add_node(to_, o, nullptr, 0, w, n.type, n.where), n.type), loose);
    const bool product = has_algorithm(o);
    const bool exact = product && algorithm_of(o, w.data()) != dot_algorithm::unspecified;
    if (product && !exact) set_algorithm(o, w, policy_.dots);
    state met = unchanged;  // the strongest state of an operand
    for (int k = 0; k < n.operand_count; ++k)
      if (const char s = states_[from_.operand(n, k)]; s > met) met = static_cast<state>(s);
    if (o.memory.kind == op_kind::alias || o.memory.kind == op_kind::barrier || met <= loose)
      return emit_in(i, n, w, dtype::none, met < loose ? loose : met);
    if (o.attributes.has_bodies()) {
      for (int b = 0; b < body_count(from_, n); ++b) narrow_body(static_cast<int>(body_word(o, w, b)));
      return emit_in(i, n, w, f32, entered);
    }
    if (o.run) return emit_in(i, n, w, f32, entered);  // the host's functions get what the program says
    if (exact || o.precision.sums || (met == wide && !product)) return emit_in(i, n, w, f32, wide);
    if (is_elementwise(n)) {
      emit_in(i, n, w, f32, chained);
      if (leaves_[i]) set(i, as(i, policy_.compute), narrow);
      return;
    }
    if (!o.precision.selects || states_[from_.operand(n, 0)] != entered) return emit_in(i, n, w, policy_.compute, wide);
    emit_in(i, n, w, f32, wide);
    set(i, as(i, policy_.compute), narrow);
  }
  /// The op on operands of which those that were f32 are converted to t; for dtype::none, nothing is converted.
  constexpr void emit_in(int i, const node& n, const words& w, dtype t, state f32_state) {
    arrays in;
    for (int k = 0; k < n.operand_count; ++k) {
      const int operand = from_.operand(n, k);
      if (t == dtype::none)
        in.push_back(values_[operand]);
      else if (f32_state == chained && states_[operand] == entered)  // arguments are rounded in any case
        in.push_back(lift(to_, convert_element_type(as(operand, policy_.compute), t)));
      else
        in.push_back(as(operand, t));
    }
    arrays out = emit_op(to_, *n.op, in.data(), in.count(), w, n.where);
    if (!n.op->infer_all) return set(i, lift(to_, out[0]), f32_state);
    states_[i] = f32_state;
    tuple_of_.resize(from_.nodes.size(), -1);
    tuple_of_[i] = tuples_.count();
    tuples_.push_back(std::move(out));
  }
  /// Applies the policy inside of a loop. Its carries and results stay f32, which holds narrow values without loss.
  constexpr void narrow_body(int b) {
    const graph body(to_.bodies[b]);
    graph changed;
    arrays inputs;
    for (const int id : body.inputs) inputs.push_back(array(&changed, changed.input(body[id].type), body[id].type));
    for (const array& y : compute_in(changed, body, inputs, policy_)) changed.outputs.push_back(lift(changed, y).id());
    to_.bodies[b] = std::move(changed);
  }

  graph& to_;
  const graph& from_;
  const precision_policy& policy_;
  vec<array> values_;   // the value of each node in `to`
  vec<char> states_;    // the state of each node
  vec<char> leaves_;    // of each node: does an op use it that is neither elementwise nor a sum?
  vec<arrays> tuples_;  // the results of nodes with several
  vec<int> tuple_of_;
};

constexpr arrays compute_in_here(graph& to, const graph& from, const arrays& args, const precision_policy& policy) {
  return compute_dtype_pass(to, from, policy).run(args);
}

}  // namespace detail

}  // namespace tokamax
