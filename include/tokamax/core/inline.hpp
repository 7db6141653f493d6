// tokamax/core/inline.hpp: repeat the nodes of one graph in another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/linked.hpp>  // linked
#include <tokamax/core/bind.hpp>    // emit

namespace tokamax {

/// Which nodes the outputs need.
constexpr vec<char> live_nodes(const graph& g) {
  vec<char> live(g.nodes.size(), 0);
  for (int o : g.outputs) live[o] = 1;
  for (int i = g.count() - 1; i >= 0; --i)
    if (live[i])
      for (int k = 0; k < g[i].operand_count; ++k) live[g.operand(g[i], k)] = 1;
  return live;
}

/// The attribute words of a node, its body (if any) copied to `to`.
constexpr words carry_words(const graph& from, const node& n, graph& to) {
  words w(from.words_of(n), static_cast<std::size_t>(n.word_count));
  if (n.kind->has_body) {
    to.bodies.push_back(graph(from.bodies[w[0]]));
    w[0] = to.bodies.count() - 1;
  }
  if (n.kind == &captured_p) {
    to.captured.push_back(from.captured[w[0]]);
    w[0] = to.captured.count() - 1;
  }
  return w;
}

/// Emits the live nodes of `from` into `to`, `args` standing for its inputs, and returns its outputs there. Simplification
/// and sharing happen again on the way. `replace(call)` may return arrays that take the place of a node.
template <class Replace>
constexpr arrays inline_graph(graph& to, const graph& from, const array* args, Replace replace) {
  const vec<char> live = live_nodes(from);
  vec<array> value(from.nodes.size());
  vec<arrays> tuple;  // outputs of nodes with several
  vec<int> tuple_of(from.nodes.size(), -1);
  for (int i = 0; i < from.inputs.count(); ++i) value[from.inputs[i]] = args[i];
  vec<array> in;
  for (int i = 0; i < from.count(); ++i) {
    const node& n = from[i];
    if (!live[i] || !n.kind) continue;
    if (n.kind == &get_p) {
      value[i] = tuple[tuple_of[from.operand(n, 0)]][*from.words_of(n)];
      continue;
    }
    if (n.kind == &constant_p) {
      value[i] = array(std::bit_cast<double>(*from.words_of(n)), n.type);
      continue;
    }
    in.clear();
    for (int k = 0; k < n.operand_count; ++k) in.push_back(value[from.operand(n, k)]);
    const words w = carry_words(from, n, to);
    if (n.kind == &captured_p) {
      value[i] = array(&to, detail::add_node(to, captured_p, nullptr, 0, w, n.type, n.where), n.type);
      continue;
    }
    arrays out = replace(call{.self = n.kind,
                              .inputs = in.data(),
                              .count = in.count(),
                              .attributes = w.data(),
                              .attribute_count = w.count(),
                              .type = n.type,
                              .trace = &to,
                              .where = n.where});
    if (n.kind->infer_all) {
      if (out.empty()) out = detail::emit(to, *n.kind, in.data(), in.count(), w, n.where);
      tuple_of[i] = tuple.count();
      tuple.push_back(std::move(out));
    } else if (out.empty()) {
      value[i] = detail::emit_one(to, *n.kind, in.data(), in.count(), w, n.where, &n.type);
    } else {
      value[i] = out[0];
    }
  }
  arrays result;
  for (int o : from.outputs) result.push_back(value[o]);
  return result;
}

constexpr arrays inline_graph_here(graph& to, const graph& from, const array* args) {
  return inline_graph(to, from, args, [](const call&) { return arrays(); });
}
constexpr arrays inline_graph(graph& to, const graph& from, const array* args) {
  return linked<inline_graph_here>(to, from, args);
}

}  // namespace tokamax
