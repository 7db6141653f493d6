// tokamax/compiler/passes/lower.hpp: rewrite a traced program into ops that the backend has kernels for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/graph/composed.hpp>  // composed
#include <tokamax/lax/convert.hpp>          // convert_element_type

namespace tokamax {

/// Copies the live nodes of `from` into `to`, on the way from a traced program to one that can be planned:
///
///   - markers (alias ops) vanish;
///   - an op without a kernel is replaced by its `compose`, and so on until every op has one;
///   - simplification and sharing happen once more, now over the whole program;
///   - an operand that products round to bfloat16 is rounded where it is computed, once for all of these products.
///
/// `has_kernel(op)` tells whether the backend runs an op. Elementwise ops, views and constants need no kernel.
template <class HasKernel>
constexpr void lower(graph& to, const graph& from, const HasKernel& has_kernel);

namespace detail {

/// The replacement rule that `inline_graph` applies. An empty result means that the node is copied as it is.
template <class HasKernel>
struct lowering {
  graph& to;
  const HasKernel& has_kernel;
  bool& leaves_unused;  ///< set where an op with several results was written out: some of them may have no use

  constexpr bool handles(const op& o) const {
    if (rounds_operands(o) || (o.compose && o.precision.kernels_in_f32)) return true;
    return o.memory.kind == op_kind::alias || runs_bodies(o) || (o.compose && !has_kernel(o));
  }
  constexpr arrays operator()(const call& c) const {
    const op& o = *c.self;
    if (o.memory.kind == op_kind::alias) return c[0];
    if (runs_bodies(o)) return with_lowered_bodies(c);
    if (has_kernel(o) && !needs_f64(c)) {
      if (rounds_operands(o)) return with_rounded_operands(c);
      return arrays();
    }
    // The meaning of the op is traced into a graph of its own, which is then lowered into `to`: it may contain ops
    // without a kernel again.
    const graph inner = composed(c);
    leaves_unused = leaves_unused || inner.outputs.size() > 1;
    return inline_graph(to, inner, c.inputs, *this);
  }

 private:
  constexpr bool runs_bodies(const op& o) const { return o.attributes.has_bodies() && (!o.compose || has_kernel(o)); }
  constexpr bool rounds_operands(const op& o) const { return o.precision.product_operands > 0 && has_kernel(o); }
  static constexpr bool needs_f64(const call& c) {
    bool wide = false;
    for (int k = 0; k < c.count; ++k) wide = wide || c[k].dtype() == f64;
    return wide && c.self->precision.kernels_in_f32 && c.self->compose;
  }
  // The op itself, on operands that are rounded to the format in which its products multiply. Results keep their dtypes.
  constexpr arrays with_rounded_operands(const call& c) const {
    const op& o = *c.self;
    arrays in = c.operands();
    if (has_algorithm(o) && algorithm_of(o, c.attributes) == dot_algorithm::bf16_bf16_f32)
      for (int k = 0; k < o.precision.product_operands; ++k)
        if (in[k].dtype() == f32) in[k] = rounded(in[k]);
    const words w = c.attribute_words();
    types results;
    if (o.infer_all)
      results = o.infer_all(c);
    else
      results.push_back(o.infer(c));
    return emit_op(to, o, in.data(), c.count, w, c.where, &results);
  }
  // x as bfloat16 if the program computes x. An input is returned as it is, because products round it while they read it.
  // A view is rounded by rounding the array that it is a view of.
  constexpr array rounded(const array& x) const {
    const node n = to[lift(to, x).id()];
    if (n.op == nullptr || n.operand_count == 0) return x;
    if (n.op->memory.kind != op_kind::view) return convert_element_type(x, bf16);
    const int id = to.operands[n.first_operand];
    const array from = rounded(array(&to, id, to[id].type));
    if (from.dtype() != bf16) return x;
    array_type type = n.type;
    type.dtype = bf16;
    words w;
    append_words(w, to, n);
    return emit_one(to, *n.op, &from, 1, w, n.where, &type);
  }
  constexpr arrays with_lowered_bodies(const call& c) const {
    for (int b = 0; b < body_count(c); ++b) {
      graph body;
      lower(body, c.body(b), has_kernel);
      c.mutable_body(b) = std::move(body);
    }
    return arrays();
  }
};

/// Nodes with one result that nothing reads become constants, which are no steps of a program.
constexpr void drop_unused(graph& g) {
  const vec<char> live = live_nodes(g);
  const int zero = g.words.count();
  g.words.push_back(0);
  for (int i = 0; i < g.count(); ++i) {
    node& n = g.nodes[i];
    if (live[i] || !n.op || n.operand_count == 0 || n.op->infer_all || n.op == &get_p) continue;
    n.op = &constant_p;
    n.operand_count = 0;
    n.first_word = zero;
    n.word_count = 1;
  }
}
}  // namespace detail

template <class HasKernel>
constexpr void lower(graph& to, const graph& from, const HasKernel& has_kernel) {
  arrays in;
  for (int id : from.inputs) in.push_back(array(&to, to.input(from[id].type), from[id].type));
  bool leaves_unused = false;
  const detail::lowering<HasKernel> rule{to, has_kernel, leaves_unused};
  for (const array& y : inline_graph(to, from, in.data(), rule)) to.outputs.push_back(lift(to, y).id());
  if (leaves_unused) detail::drop_unused(to);
}

}  // namespace tokamax
