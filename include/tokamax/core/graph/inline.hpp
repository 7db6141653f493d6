// tokamax/core/graph/inline.hpp: copy the nodes of one graph into another, and replace some of them on the way.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/linked.hpp>               // linked
#include <tokamax/core/bind.hpp>                 // emit_op
#include <tokamax/core/scope/copied_scopes.hpp>  // copied_scopes

namespace tokamax {

/// Marks the nodes that outputs and effects depend on.
constexpr vec<char> live_nodes(const graph& g) {
  vec<char> live(g.nodes.size(), 0);
  for (int o : g.outputs) live[o] = 1;
  for (int e : g.effects) live[e] = 1;
  const node* const nodes = g.nodes.data();
  const int* const operands = g.operands.data();
  for (int i = g.count() - 1; i >= 0; --i) {
    if (!live[i]) continue;
    const int first = nodes[i].first_operand, last = first + nodes[i].operand_count;
    for (int k = first; k < last; ++k) live[operands[k]] = 1;
  }
  return live;
}

namespace detail {
/// Copies the live nodes of the graph `from` into the graph `to`. Most passes over graphs are such a copy in which some
/// nodes become others: `replace.handles(op)` selects these, and `replace(call)` returns the arrays to take instead.
///
/// `id_[i]` is the node of `to` for node i of `from`; below -1 it is an input that nothing has used yet.
template <class Replace>
class inliner {
 public:
  constexpr inliner(graph& to, const graph& from, const array* args, const Replace& replace)
      : to_(to), from_(from), args_(args), replace_(replace), ids_(from.nodes.size(), -1), id_(ids_.data()) {
    for (int k = 0; k < from.inputs.count(); ++k) id_[from.inputs[k]] = -2 - k;
  }

  constexpr arrays run() {
    const vec<char> needed = live_nodes(from_);
    const char* const live = needed.data();
    const node* const nodes = from_.nodes.data();
    const int n = from_.count();
    if (!std::is_constant_evaluated() && to_.nodes.empty()) to_.nodes.reserve(from_.nodes.size());
    copied_scopes scopes(to_, from_);
    for (int i = 0; i < n; ++i) {
      if (!live[i] || !nodes[i].op) continue;
      scopes.enter(nodes[i]);
      add(i, nodes[i]);
    }
    arrays result;
    result.reserve(from_.outputs.size());
    for (int o : from_.outputs) {
      if (id_[o] < -1)
        result.push_back(args_[-2 - id_[o]]);
      else
        result.push_back(value(o));
    }
    return result;
  }

 private:
  constexpr array value(int i) {
    if (id_[i] < 0) id_[i] = lift(to_, args_[-2 - id_[i]]).id();  // an input, at its first use
    return array(&to_, id_[i], to_.nodes[id_[i]].type);
  }
  constexpr void add(int i, const node& n) {
    const op& o = *n.op;
    if (&o == &get_p) {
      id_[i] = lift(to_, tuples_[tuple_of_[from_.operand(n, 0)]][picked_output(from_, n)]).id();
    } else if (&o == &constant_p) {
      id_[i] = add_constant(to_, constant_bits(from_, n), n.type, n.where);
    } else if (&o == &captured_p) {
      id_[i] = add_node(to_, o, nullptr, 0, carry_words(from_, n, to_), n.type, n.where);
    } else if (o.infer_all || o.attributes.has_bodies() || replace_.handles(o) || !repeat(i, n)) {
      call_again(i, n);
    }
  }
  /// Copies a node without applying rules, if its operands have the same ops as before: then the node was simplified when
  /// it was traced, and nothing is left to simplify. False if it was not copied.
  constexpr bool repeat(int i, const node& n) {
    int ids[4] = {};
    if (n.operand_count > 4) return false;
    const int* const operands = from_.operands.data() + n.first_operand;
    for (int k = 0; k < n.operand_count; ++k)
      if (id_[operands[k]] < 0) value(operands[k]);
    const node *const there = to_.nodes.data(), *const here = from_.nodes.data();
    for (int k = 0; k < n.operand_count; ++k) {
      ids[k] = id_[operands[k]];
      if (there[ids[k]].op != here[operands[k]].op) return false;
    }
    if (n.op->algebra.commutative && n.operand_count == 2) order_operands(to_, ids);
    id_[i] = to_.find_or_add(n.op, sharing_of(*n.op), ids, n.operand_count, from_.words_of(n), n.word_count, n.type,
                             n.where);
    return true;
  }
  /// Copies a node by applying its op to the new operands, with all rules of the op.
  constexpr void call_again(int i, const node& n) {
    arrays in;
    in.reserve(static_cast<std::size_t>(n.operand_count));
    for (int k = 0; k < n.operand_count; ++k) in.push_back(value(from_.operand(n, k)));
    const words w = carry_words(from_, n, to_);
    arrays out;
    if (replace_.handles(*n.op)) {
      call c = call_of(*n.op, in, w, &to_, n.where);
      c.type = n.type;
      out = replace_(c);
    }
    if (!n.op->infer_all) {
      if (out.empty()) out.push_back(emit_one(to_, *n.op, in.data(), in.count(), w, n.where, &n.type));
      id_[i] = lift(to_, out[0]).id();
      return;
    }
    if (out.empty()) out = emit_op(to_, *n.op, in.data(), in.count(), w, n.where);
    tuple_of_.resize(from_.nodes.size(), -1);
    tuple_of_[i] = tuples_.count();
    tuples_.push_back(std::move(out));
  }

  graph& to_;
  const graph& from_;
  const array* args_;
  const Replace& replace_;
  vec<int> ids_;        // of each value, in `to`; -2 - k: input k, not lifted yet
  int* const id_;       // the same: what a table's accessor costs the compiler counts here
  vec<arrays> tuples_;  // results of nodes with several
  vec<int> tuple_of_;
};

struct replace_nothing {
  constexpr bool handles(const op&) const { return false; }
  constexpr arrays operator()(const call&) const { return {}; }
};
}  // namespace detail

/// Emits the live nodes of `from` into `to`, `args` standing for its inputs, and returns its outputs there. Simplification
/// and sharing happen again on the way. For an op that `replace.handles(op)`, `replace(call)` may return arrays that take
/// the place of the node.
template <class Replace>
constexpr arrays inline_graph(graph& to, const graph& from, const array* args, const Replace& replace) {
  return detail::inliner<Replace>(to, from, args, replace).run();
}

constexpr arrays inline_graph_here(graph& to, const graph& from, const array* args) {
  return inline_graph(to, from, args, detail::replace_nothing{});
}
constexpr arrays inline_graph(graph& to, const graph& from, const array* args) {
  return linked<inline_graph_here>(to, from, args);
}

}  // namespace tokamax
