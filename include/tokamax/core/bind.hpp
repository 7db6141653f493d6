// tokamax/core/bind.hpp: apply an op to arrays: trace it, run it, or work out its type.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>     // TOKAMAX_COMPILED_ONCE
#include <tokamax/base/linked.hpp>            // linked
#include <tokamax/core/arguments.hpp>         // check_result
#include <tokamax/core/context.hpp>           // current_context
#include <tokamax/core/eager.hpp>             // run_eagerly
#include <tokamax/core/effect.hpp>            // has_effect
#include <tokamax/core/graph/open_graph.hpp>  // meet
#include <tokamax/core/refused_arrays.hpp>    // require_live
#include <tokamax/core/scope/leaf_path.hpp>   // leaf_path
#include <tokamax/core/structural_ops.hpp>    // constant_p, captured_p, stand_in_p

namespace tokamax {

/// The attribute words of a node, for a copy of it in `to`. Bodies and captured data are copied there too.
constexpr words carry_words(const graph& from, const node& n, graph& to) {
  words w(from.words_of(n), static_cast<std::size_t>(n.word_count));
  if (n.op->attributes.has_bodies())
    for (int b = 0; b < body_count(from, n); ++b) {
      to.bodies.push_back(graph(body_of(from, n, b)));
      body_word(*n.op, w, b) = to.bodies.count() - 1;
    }
  if (n.op == &captured_p) {
    to.captured.push_back(captured_data_of(from, n));
    w = {to.captured.count() - 1};
  }
  return w;
}

namespace detail {

constexpr sharing sharing_of(const op& o) {
  return o.unique || o.effect != effect_kind::none ? sharing::none
         : o.algebra.commutative                   ? sharing::either_order
                                                   : sharing::same_order;
}
constexpr int add_node(graph& g, const op& o, const int* in, int n_in, const words& w, const array_type& t,
                       location l) {
  const int id = g.find_or_add(&o, sharing_of(o), in, n_in, w.data(), w.count(), t, l);
  if (!__builtin_is_constant_evaluated() && &o == &captured_p) g.captured_nodes.note(g, id);
  return id;
}
/// Makes constants the last operands of commutative ops, so that equal layers have equal loops.
constexpr void order_operands(const graph& g, int* ids) {
  if (g[ids[0]].op == &constant_p && g[ids[1]].op != &constant_p) std::swap(ids[0], ids[1]);
}
/// The number of the operand that is the result, because the other operand is neutral; -1 if there is none.
constexpr int fold_neutral(const graph& g, const op& o, const int* ids) {
  const auto holds = [&](int id, double value) {
    const node& n = g.nodes[id];
    if (n.op != &constant_p) return false;
    const double v = as_double(constant_bits(g, n), n.type.dtype);
    if (v != 0 || !is_floating(n.type.dtype)) return v == value;
    return std::bit_cast<std::uint64_t>(v) == std::bit_cast<std::uint64_t>(value);  // 0 and -0 differ
  };
  return holds(ids[0], o.algebra.left_neutral) ? 1 : holds(ids[1], o.algebra.right_neutral) ? 0 : -1;
}
/// Does this value come from a dynamic extent that was used as a number, or from its inverse?
constexpr bool comes_of_dynamic_extent(element_bits bits, dtype t) {
  if (is_integer(t)) {
    const auto whole = static_cast<std::int64_t>(bits.value);
    if (bits_of(t) == 64) return is_signed(t) && is_dyn(whole) && is_extent(whole);
    return may_be_extent(whole);
  }
  return lacks_extents(t) ? bits == extent_mark(t) : may_be_extent(as_double(bits, t));
}
constexpr int add_constant(graph& g, element_bits value, const array_type& t, location l) {
  if (g.dynamic && comes_of_dynamic_extent(value, t.dtype))
    reject(&g, l, "dynamic extent: as a number", "a literal", "extent_as_array(extent)");
  const auto bits = static_cast<std::int64_t>(value.value);
  return g.find_or_add(&constant_p, sharing::same_order, nullptr, 0, &bits, 1, t, l);
}

/// Copies node `id` of a constant expression, and the nodes that it depends on, into `to`. Nodes that are there already are
/// used.
constexpr int import_expression(graph& to, const graph& from, int id) {
  vec<int>& map = to.imported_from(&from);
  if (map.count() <= id) map.resize(from.nodes.size(), -1);
  if (map[id] >= 0) return map[id];
  const auto count = static_cast<unsigned>(id) + 1u;  // g++ 12 warns of a signed one: it might be 0
  vec<char> live(count, 0);
  live[id] = 1;
  for (int i = id; i >= 0; --i)
    if (live[i] && map[i] < 0)
      for (int k = 0; k < from[i].operand_count; ++k) live[from.operand(from[i], k)] = 1;
  for (int i = 0; i <= id; ++i) {
    if (!live[i] || map[i] >= 0) continue;
    const node& n = from[i];
    vec<int> in;
    for (int k = 0; k < n.operand_count; ++k) in.push_back(map[from.operand(n, k)]);
    const words w = carry_words(from, n, to);
    map[i] = to.find_or_add(n.op, sharing_of(*n.op), in.data(), in.count(), w.data(), w.count(), n.type, n.where);
  }
  return map[id];
}

/// The id in the body `g` of a value of a graph around it. Values that a body closes over become further inputs of it.
constexpr int capture(graph& g, const array& a) {
  if (a.trace() == &g) return a.id();
  const int outer = capture(*g.parent, a);
  for (int i = 0; i < g.captures.count(); ++i)
    if (g.captures[i] == outer) return g.inputs[g.inputs.count() - g.captures.count() + i];
  g.captures.push_back(outer);
  const int path = leaf_path(*g.parent, outer);
  return g.input(a.type(), path ? g.names.import(0, g.parent->names, path) : 0);
}

constexpr array emit_one(graph& g, const op& o, const array* in, int n, const words& w, location where,
                         const array_type* known = nullptr);
/// A value of a graph around `g` as one of the body `g`. Products there may not need the result of an op with `in_product`,
/// so the body gets its operands and applies it again.
constexpr array enter_body(graph& g, const array& a, location where) {
  const graph& from = *a.trace();
  const node& n = from[a.id()];
  if (!n.op || !n.op->in_product) return array(&g, capture(g, a), a.type());
  arrays in;
  for (int k = 0; k < n.operand_count; ++k) {
    const int id = from.operand(n, k);
    in.push_back(enter_body(g, array(a.trace(), id, from[id].type), where));
  }
  return emit_one(g, *n.op, in.data(), in.count(), words(from.words_of(n), static_cast<std::size_t>(n.word_count)),
                  where);
}
}  // namespace detail

constexpr array lift_here(graph& g, const array& a, location where) {
  if (!__builtin_is_constant_evaluated()) detail::require_live(a, where);
  if (a.trace() == &g) return a;
  if (a.is_literal()) return array(&g, detail::add_constant(g, a.literal_bits(), a.type(), where), a.type());
  if (graph* from = a.trace()) {
    if (from->floating && from->error.failed) {  // a mistake that was made before there was a trace to record it
      if (!g.error.failed) g.error = from->error;
      return array(&g, detail::add_constant(g, {}, a.type(), where), a.type());
    }
    if (from->floating && !from->open) return array(&g, detail::import_expression(g, *from, a.id()), a.type());
    for (graph* p = g.parent; p; p = p->parent)
      if (p == from) return detail::enter_body(g, a, where);
    if (std::is_constant_evaluated() && detail::meet(*from, g))
      return array(&g, detail::add_node(g, stand_in_p, nullptr, 0, {}, a.type(), where), a.type());
    if (!std::is_constant_evaluated())
      throw error("array of another trace", std::string(message(a.type()).view()), "a value of this trace or data");
  }
  if (!std::is_constant_evaluated() && a.is_concrete()) {
    if (g.parent) return array(&g, detail::capture(g, lift_here(*g.parent, a, where)), a.type());
    if (const int id = g.captured_nodes.find(g, a.storage().get(), a.type()); id >= 0) return array(&g, id, a.type());
    g.captured.push_back(a.storage());
    const array data(&g, detail::add_node(g, captured_p, nullptr, 0, {g.captured.count() - 1}, a.type(), where),
                     a.type());
    g.nodes[data.id()].scope = {};  // it belongs to no part of the program
    return data;
  }
  reject(&g, where, "abstract array in a trace", a.type(), "an argument or data");
  return array(&g, detail::add_constant(g, {}, a.type(), where), a.type());
}
/// `a` as a node of `g`. Literals become constants, constant expressions are copied, values of graphs around `g` become
/// inputs, and data is captured.
/// errors  tokamax::error for an abstract array, or a value of a trace that has ended
constexpr array lift(graph& g, const array& a, location where = {}) { return linked<lift_here>(g, a, where); }

namespace detail {

/// The operands of a node as values of its graph, and their ids. If all of them are in the graph already, nothing is copied.
struct operand_list {
  const array* values;
  vec<array> lifted;
  int few[4] = {};
  vec<int> many;
  int* ids = few;

  constexpr operand_list(graph& g, const array* in, int n, location where) : values(in) {
    bool inside = true;
    for (int i = 0; i < n; ++i) inside = inside && in[i].trace() == &g;
    if (!inside) {
      lifted.reserve(static_cast<std::size_t>(n));
      for (int i = 0; i < n; ++i) lifted.push_back(lift(g, in[i], where));
      values = lifted.data();
    }
    if (n > 4) {
      many.resize(static_cast<std::size_t>(n));
      ids = many.data();
    }
    for (int i = 0; i < n; ++i) ids[i] = values[i].id();
  }
  operand_list(const operand_list&) = delete;
};

/// The value of an op with constant operands, as kernels would compute it, if it can be folded while tracing. Infinities and
/// NaN are left to the kernels, because `inf - inf` is an error in a constant expression.
constexpr array folded(graph& g, const op& o, const int* ids, int n, const array_type& type, location where) {
  double x[3] = {};
  element_bits whole[3] = {};
  const dtype operand = g.nodes[ids[0]].type.dtype;
  const bool floating = is_floating(operand);
  for (int i = 0; i < n; ++i) {
    const node& constant = g.nodes[ids[i]];
    if (constant.op != &constant_p) return {};
    whole[i] = constant_bits(g, constant);
    if (!floating) continue;
    x[i] = as_double(whole[i], operand);
    const double most = bits_of(operand) == 64 ? 0x1p500 : 0x1p129;
    if (!(x[i] > -most && x[i] < most)) return {};
  }
  if (floating) return array(&g, add_constant(g, kept(o.algebra.fold(x), type.dtype), type, where), type);
  return array(&g, add_constant(g, kept(o.algebra.fold_integers(whole, operand), type.dtype), type, where), type);
}

/// Adds a node with one result to `g`, unless folding, neutral operands or the op's `simplify` give something cheaper.
/// `known` is the type of the result if it need not be inferred.
constexpr array emit_one(graph& g, const op& o, const array* in, int n, const words& w, location where,
                         const array_type* known) {
  operand_list operands(g, in, n, where);
  int* const ids = operands.ids;
  call c = call_of(o, operands.values, n, w.data(), w.count(), &g, where);
  if (known)
    c.type = *known;
  else
    check_result(c, c.type = o.infer(c));
  if (g.error.failed) return array(&g, 0, c.type);
  if (o.algebra.fold_integers && g.nodes[ids[0]].op == &constant_p) {  // nvcc rejects an array declared in the `if`
    const array value = folded(g, o, ids, n, c.type, where);
    if (value.exists()) return value;
  }
  if (n == 2)
    if (const int kept = fold_neutral(g, o, ids); kept >= 0) return operands.values[kept];
  if (o.simplify) {
    const array better = o.simplify(c);
    if (better.exists()) return better;
  }
  if (o.algebra.commutative && n == 2) order_operands(g, ids);
  return array(&g, add_node(g, o, ids, n, w, c.type, where), c.type);
}

/// The same for any number of results.
constexpr arrays emit_here(graph& g, const op& o, const array* in, int n, const words& w, location where,
                           const types* known) {
  if (!o.infer_all) return emit_one(g, o, in, n, w, where, known ? known->data() : nullptr);
  const operand_list operands(g, in, n, where);
  const call c = call_of(o, operands.values, n, w.data(), w.count(), &g, where);
  types ts;
  if (known)
    ts = *known;
  else
    ts = o.infer_all(c);
  for (const array_type& t : ts) check_result(c, t);
  if (o.simplify_all && !g.error.failed) {
    arrays better = o.simplify_all(c);
    if (!better.empty()) return better;
  }
  const int tuple = add_node(g, o, operands.ids, n, w, {}, where);
  if (has_effect(c)) {
    if (g.floating && !g.open) effect_without_traced_operand();
    g.effects.push_back(tuple);
  }
  arrays out;
  for (int k = 0; k < ts.count(); ++k)
    out.push_back(array(&g, add_node(g, get_p, &tuple, 1, {k}, ts[k], where), ts[k]));
  return out;
}
constexpr arrays emit_op(graph& g, const op& o, const array* in, int n, const words& w, location where,
                         const types* known = nullptr) {
  return linked<detail::emit_here>(g, o, in, n, w, where, known);
}

/// The innermost graph among those of the operands. A constant expression counts only if there is no other graph.
constexpr graph* trace_of(const array* in, int n, handle& owner) {
  graph* g = nullptr;
  for (int i = 0; i < n; ++i) {
    graph* t = in[i].trace();
    if (!t || t == g || (g && precedence(*t) <= precedence(*g))) continue;
    g = t;
    if (t->floating) owner = in[i].storage();
  }
  return g;
}

/// Packs elements into words, with the layout that they have in memory.
constexpr words packed_elements(dtype type, const vec<element_bits>& values) {
  const auto bytes = static_cast<std::size_t>(size_of(type));
  words w((values.size() * bytes + 7) / 8, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = i * bytes;
    const std::uint64_t low = bytes == 8 ? values[i].value : values[i].value & ((std::uint64_t{1} << 8 * bytes) - 1);
    w[at / 8] = static_cast<std::int64_t>(static_cast<std::uint64_t>(w[at / 8]) | low << 8 * (at % 8));
  }
  return w;
}
array data_of_table(const array_type& type, const vec<element_bits>& values);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE array data_of_table(const array_type& type, const vec<element_bits>& values) {
  array a = array::uninitialized(type);
  dispatch(type.dtype, [&]<dtype T>() {
    auto* to = a.mutable_data<element_t<T>>();
    for (const element_bits& v : values) *to++ = v.as<element_t<T>>();
  });
  return a;
}
#endif
constexpr array table_of(const array_type& type, const vec<element_bits>& values) {
  if (!std::is_constant_evaluated()) return data_of_table(type, values);
  const handle shared = make_floating_graph();
  graph& g = *shared->expression;
  return array(&g, add_node(g, dense_p, nullptr, 0, packed_elements(type.dtype, values), type, {}), type, shared);
}

}  // namespace detail

constexpr arrays bind_all_here(const op& o, const array* in, int n, const words& w, location where) {
  handle owner;
  if (!std::is_constant_evaluated())
    for (int i = 0; i < n; ++i) detail::require_live(in[i], where);
  graph* g = detail::trace_of(in, n, owner);
  if (!std::is_constant_evaluated() && !g) g = current_context.trace;
  if (g) {
    arrays out = detail::emit_op(*g, o, in, n, w, where);
    if (owner && g->floating)
      for (array& a : out) a = array(a.trace(), a.id(), a.type(), owner);
    return out;
  }
  bool abstract = false, data = false;
  for (int i = 0; i < n; ++i) {
    abstract = abstract || in[i].is_abstract();
    data = data || (in[i].is_concrete() && !in[i].is_literal());
  }
  if (abstract) {
    if (data && !std::is_constant_evaluated()) detail::reject_abstract(o, in, n, where);
    const call c = call_of(o, in, n, w.data(), w.count(), nullptr, where);
    arrays out;
    if (o.infer_all)
      for (const array_type& t : o.infer_all(c)) out.push_back(array(t));
    else
      out.push_back(array(o.infer(c)));
    return out;
  }
  if (std::is_constant_evaluated()) {
    const handle shared = make_floating_graph();
    arrays out = detail::emit_op(*shared->expression, o, in, n, w, where);
    for (array& a : out) a = array(a.trace(), a.id(), a.type(), shared);
    return out;
  }
  return detail::run_eagerly(o, in, n, w, where);
}
/// Applies an op. Traced operands give a traced result. Concrete operands are computed at once. Abstract operands give an
/// abstract result, which is only a type.
/// errors  "OP: operand k" if some operands are abstract and others have data
constexpr arrays bind_all(const op& o, const array* in, int n, const words& w, location where) {
  return linked<bind_all_here>(o, in, n, w, where);
}

/// The same for ops with one result.
constexpr array bind_one(const op& o, const array* in, int n, const words& w, location where) {
  if (__builtin_is_constant_evaluated()) {  // the usual case, with few evaluation steps; linked.hpp says why the builtin
    handle owner;
    if (graph* g = detail::trace_of(in, n, owner); g && !g->floating) return detail::emit_one(*g, o, in, n, w, where);
  }
  return bind_all(o, in, n, w, where)[0];
}
constexpr array bind(const op& o, std::initializer_list<array> in, const words& w, location where) {
  return bind_one(o, in.begin(), static_cast<int>(in.size()), w, where);
}
template <class Options = words>
constexpr array bind(const op& o, std::initializer_list<array> in, const Options& options, location where) {
  return tokamax::bind(o, in, pack(options), where);
}

}  // namespace tokamax
