// tokamax/transforms/remat.hpp: computes a function again in the backward pass instead of keeping its values in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/linked.hpp>                 // linked
#include <tokamax/core/graph/inline.hpp>           // inline_graph
#include <tokamax/core/trace.hpp>                  // in_trace
#include <tokamax/transforms/body.hpp>             // forward_body
#include <tokamax/transforms/passes/backward.hpp>  // backward

namespace tokamax {

namespace detail {
constexpr arrays remat_jvp(const call& c);
}  // namespace detail

/// Attributes of remat. Its body is a function of the operands; the last `saved` results are for the backward pass only.
struct remat_attributes {
  body_index body = {};
  int saved = 0;
};

namespace detail {
/// The backward pass computes the body again, except for the saved values.
constexpr arrays remat_vjp_here(const call& c) {
  const auto w = c.attrs<remat_attributes>();
  const graph body(c.body(0));
  const int results = body.outputs.count() - w.saved;
  graph b;
  arrays args, in, cts, again, ys;
  const auto enter = [&](const array& value) {
    in.push_back(lift(*c.trace, value));
    return body_input(b, in.back().type());
  };
  for (int k = 0; k < c.count; ++k) args.push_back(enter(c[k]));
  for (int k = 0; k < body.outputs.count(); ++k) {
    cts.push_back(array());
    if (c.cotangents[k].exists()) cts.back() = enter(c.cotangents[k]);
  }
  for (const array& a : args) again.push_back(lift(b, optimization_barrier(a)));
  for (const array& y : inline_graph(b, body, again.data())) ys.push_back(lift(b, y));
  drop_effects(b, 0, c);
  for (const array& ct : backward(b, ys, cts, again)) b.outputs.push_back(ct.exists() ? lift(b, ct).id() : -1);
  for (int k = results; k < ys.count(); ++k) {  // the results from here on are the saved values
    const int id = ys[k].id();
    if (!b[id].op) continue;
    b.nodes[id].op = nullptr;
    b.nodes[id].operand_count = 0;
    b.inputs.push_back(id);
    in.push_back(lift(*c.trace, optimization_barrier(c.outputs[k])));
  }
  const vec<int> wanted = b.outputs;
  b.outputs.clear();
  for (const int id : wanted)
    if (id >= 0) b.outputs.push_back(id);
  const arrays pulled = inline_graph(*c.trace, b, in.data());
  arrays out;
  for (int k = 0, at = 0; k < c.count; ++k) {
    out.push_back(array());
    if (wanted[k] >= 0) out.back() = pulled[at++];
  }
  return out;
}
constexpr arrays remat_vjp(const call& c) { return linked<detail::remat_vjp_here>(c); }
}  // namespace detail

inline constexpr op remat_p{
    .name = "remat",
    .attributes = schema<remat_attributes>,
    .infer_all = [](const call& c) -> types {
      types t = detail::types_of_first_body(c);
      for (int k = 0; k < t.count(); ++k) t[k].weak = c.body(0)[c.body(0).outputs[k]].type.weak;
      return t;
    },
    .compose = [](const call& c) -> arrays { return detail::call_first_body(c); },
    .vjp = [](const call& c) -> arrays { return detail::remat_vjp(c); },
    .jvp = [](const call& c) -> arrays { return detail::remat_jvp(c); },
};

namespace detail {
/// The function of values and tangents. The backward pass computes it again, too.
constexpr arrays remat_jvp(const call& c) {
  const graph body(c.body(0));
  const int results = body.outputs.count();
  const vec<int> in{c.count};
  vec<char> moving;
  for (int k = 0; k < c.count; ++k) moving.push_back(c.tangents[k].exists());
  const arrays operands = with_tangents(c, 0, in, moving);
  const arrays ys = bind_bodies(c, {forward_body(c, body, in, moving, {results})}, pack(remat_attributes{}), operands);
  arrays out(static_cast<std::size_t>(results));
  for (int k = 0, at = results; k < results; ++k)
    if (is_floating(ys[k].dtype())) out[k] = ys[at++];
  return out;
}
}  // namespace detail

// A policy says of each node whether its value is kept for the backward pass.
inline constexpr auto nothing_saveable = [](const graph&, const node&) { return false; };
inline constexpr auto everything_saveable = [](const graph&, const node&) { return true; };
/// Keeps the results of products, which cost most to compute.
inline constexpr auto dots_saveable = [](const graph&, const node& n) { return has_algorithm(*n.op); };

namespace detail {
/// Appends the values that a policy saves to the results of a body. Returns their number. For a marker, such as a name, it
/// is the value that is marked, which the derivative of the op before may need.
template <class Policy>
constexpr int save_results(graph& body, const Policy& saves) {
  vec<char> saved(body.nodes.size(), 0);
  int count = 0;
  for (int i = 0; i < body.count(); ++i) {
    const node& n = body[i];
    if (!n.op || n.operand_count == 0 || n.type.dtype == dtype::none || !saves(body, n)) continue;
    int value = i;
    while (body[value].op && body[value].op->memory.kind == op_kind::alias) value = body.operand(body[value], 0);
    if (!body[value].op || saved[value]) continue;
    body.outputs.push_back(value);
    saved[value] = 1;
    ++count;
  }
  return count;
}
}  // namespace detail

/// What `remat(f)` returns.
template <class F, class Policy>
struct remat_function {
  [[no_unique_address]] F f;
  [[no_unique_address]] Policy policy;
  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    return in_trace(
        [this](graph& g, const Args&... traced) -> result_type {
          graph body;
          arrays operands;
          const result_type out = trace_body(g, body, operands, f, traced...);
          remat_attributes w{0, detail::save_results(body, policy)};
          w.body = detail::add_body(g, std::move(body));
          return with_leaves(out,
                             bind_all(described<remat_p>(), operands.data(), operands.count(), pack(w), location{}));
        },
        args...);
  }
};

/// The function f with a derivative that computes f again: it needs less memory and more time. A policy says which values
/// are kept all the same: `remat(f, dots_saveable)`, one of remat/policies.hpp, or a function of your own that looks at the
/// op or the name of a scope:
///
///   constexpr auto attention_saveable = [](const graph& g, const node& n) {
///     return g.name_of(n).view().ends_with("attend");
///   };
///
/// source  jax.checkpoint with jax.checkpoint_policies
template <class F, class Policy = decltype(nothing_saveable)>
constexpr remat_function<F, Policy> remat(F f, Policy policy = {}) {
  return {f, policy};
}
template <class F, class Policy>
inline constexpr bool is_stateless<remat_function<F, Policy>> = is_stateless<F> && is_stateless<Policy>;

}  // namespace tokamax
