// tokamax/ops/attention/flex_functions.hpp: the score and mask functions of flex_attention, and what can be made of them.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/ops/attention/flex_attention.cpp
#pragma once

#include <tokamax/base/error.hpp>             // error
#include <tokamax/core/trace.hpp>             // trace_into
#include <tokamax/lax/iota.hpp>               // iota
#include <tokamax/ops/attention/options.hpp>  // for its users: attention_options

#include <utility>  // pair

namespace tokamax::detail {

/// Traces f on abstract arrays into g. `inside` is a trace to whose values f may refer, or null. False if f makes a mistake.
template <class F, class... Args>
constexpr bool traces_without_mistake(graph& g, graph* inside, auto& result, const F& f, const Args&... args) {
  g.parent = inside;
  if (inside) g.depth = inside->depth + 1, g.dynamic = inside->dynamic;
  if (std::is_constant_evaluated()) {
    trace_into(g, f, result, args...);
    return !g.error.failed;
  }
  try {
    trace_into(g, f, result, args...);
  } catch (const error&) {
    return false;
  }
  return !g.error.failed;
}

/// The extents in [B, N, T, S] of a value of rank 4 at most, before it was broadcast: 1 along axes where it does not vary.
constexpr shape extents_of_term(const graph& g, int id) {
  const node& n = g[id];
  const int missing = 4 - n.type.shape.rank();
  shape s{1, 1, 1, 1};
  if (n.op == &broadcast_in_dim_p) {
    const axes to = unpack<broadcast_options>(g.words_of(n)).dimensions;
    const shape& from = g[g.operand(n, 0)].type.shape;
    for (int i = 0; i < from.rank(); ++i) s[missing + static_cast<int>(to[i])] = from[i];
  } else {
    for (int i = missing; i < 4; ++i) s[i] = n.type.shape[i - missing];
  }
  return s;
}
/// If the first output of g is its first input with terms added that do not depend on it: the extents of all terms together.
/// The shape has rank 0 otherwise.
constexpr shape extents_added(const graph& g) {
  const int input = g.inputs[0];
  vec<char> depends(g.nodes.size(), 0);
  depends[input] = 1;
  for (int i = 0; i < g.count(); ++i)
    for (int k = 0; k < g[i].operand_count; ++k) depends[i] |= depends[g.operand(g[i], k)];
  shape all{1, 1, 1, 1};
  for (int at = g.outputs[0]; at != input;) {
    const node& n = g[at];
    if (n.op != &add_p && n.op != &sub_p) return {};
    const int first = g.operand(n, 0), second = g.operand(n, 1);
    if (depends[first] == depends[second] || (depends[second] && n.op == &sub_p)) return {};
    const shape term = extents_of_term(g, depends[first] ? second : first);
    for (int i = 0; i < 4; ++i)
      if (term[i] != 1) all[i] = term[i];
    at = depends[first] ? first : second;
  }
  return all;
}

/// The functions of flex_attention on scores of some extents, with their checks.
template <class Score, class Mask>
struct flex_functions {
  const Score& score;
  const Mask& mask;
  const array& q;
  shape all;  // [B, N, T, S]
  source_line where;

  constexpr array numbers(int axis) const {
    shape s{1, 1, 1, 1};
    s[axis] = all[axis];
    return iota(i32, s, axis, where);
  }
  constexpr bool fits(const char* what, const array& x, bool right_dtype, const char* expected) const {
    bool broadcasts = x.rank() <= 4;
    broadcasts = broadcasts && broadcast_shapes(x.shape(), all, broadcasts) == all && broadcasts;
    if (!broadcasts || !right_dtype)
      reject(q, where, what, x.type(), message(expected) << " that broadcast to " << all);
    return broadcasts && right_dtype;
  }
  constexpr array seen() const {
    const array b = numbers(0), h = numbers(1), i = numbers(2), j = numbers(3);
    return mask(b, h, i, j);
  }
  constexpr bool mask_fits(const array& x) const {
    return !x.exists() || fits("flex_attention: mask", x, x.dtype() == bool_, "booleans");
  }
  constexpr array scored(const array& s) const {
    const array b = numbers(0), h = numbers(1), i = numbers(2), j = numbers(3);
    return score(s, b, h, i, j);
  }
  constexpr array modified(const array& s) const {
    const array changed = scored(s);
    if (!fits("flex_attention: score", changed, is_floating(changed.dtype()), "floats")) return s;
    return broadcast_to(astype(changed, s.dtype(), where), all, where);
  }
  /// What a function that only adds to scores adds. Its extents are 1 where it adds the same to all.
  constexpr array bias(dtype scores) const { return scored(zeros({1, 1, 1, 1}, scores)); }

  /// Do both give what they should?
  constexpr bool work(graph* inside, dtype scores) const {
    graph g;
    array result;
    return traces_without_mistake(g, inside, result, [&] {
      const array x = seen();
      mask_fits(x);
      return modified(zeros(all, scores));
    });
  }
  /// Is this attention with a bias and booleans, which take no more than `most` bytes together?
  constexpr bool only_add(graph* inside, dtype scores, std::int64_t most) const {
    graph g;
    std::pair<array, array> results;  // the changed scores and the mask
    const auto both = [&](const array& s) {
      const array x = seen();
      return std::pair{scored(s), mask_fits(x) && x.exists() ? x : zeros({}, bool_)};
    };
    const array_type type{scores, false, all};
    if (!traces_without_mistake(g, inside, results, both, array(type)) || results.first.type() != type) return false;
    const shape added = extents_added(g);
    const std::int64_t hidden = results.second.rank() == 0 ? 0 : results.second.size();
    return added.rank() == 4 && size(added) * size_of(scores) + hidden <= most;
  }
};

}  // namespace tokamax::detail
