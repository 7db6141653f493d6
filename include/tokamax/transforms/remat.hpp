// tokamax/transforms/remat.hpp: compute a function again in the backward pass, instead of keeping its values in memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/inline.hpp>          // inline_graph
#include <tokamax/core/trace.hpp>           // in_trace
#include <tokamax/transforms/backward.hpp>  // backward
#include <tokamax/transforms/body.hpp>      // forward_body

namespace tokamax {

namespace detail {
constexpr arrays remat_jvp(const call& c);
}  // namespace detail

/// Attributes of remat: its body, a function of the operands.
struct remat_attributes {
  std::int64_t body = 0;
};

inline constexpr op remat_p{
    .name = "remat",
    .bodies = {.count = 1},
    .attributes = schema<remat_attributes>,
    .infer_all = [](const call& c) -> types {
      const graph& body = c.trace->bodies[c.attrs<remat_attributes>().body];
      types t;
      for (int o : body.outputs) t.push_back(body[o].type);
      return t;
    },
    .compose = [](const call& c) -> arrays {
      const graph body(c.trace->bodies[c.attrs<remat_attributes>().body]);
      return inline_graph(*c.trace, body, c.inputs);
    },
    .vjp = [](const call& c) -> arrays {
      const graph body(c.trace->bodies[c.attrs<remat_attributes>().body]);
      arrays again;
      for (int k = 0; k < c.count; ++k) again.push_back(optimization_barrier(lift(*c.trace, c[k])));
      const int effects = c.trace->effects.count();
      arrays ys = inline_graph(*c.trace, body, again.data());
      c.trace->effects.resize(static_cast<std::size_t>(effects));  // effects have happened in the forward pass
      arrays cts;
      for (int k = 0; k < ys.count(); ++k) {
        ys[k] = lift(*c.trace, ys[k]);
        cts.push_back(c.cotangents[k]);
      }
      return backward(*c.trace, ys, cts, again);
    },
    .jvp = [](const call& c) -> arrays { return detail::remat_jvp(c); },
};

namespace detail {
/// A function of values and tangents, which is computed again in the backward pass too.
constexpr arrays remat_jvp(const call& c) {
  const graph body(c.body(0));
  const int results = body.outputs.count();
  const vec<int> in{c.count};
  vec<char> moving;
  for (int k = 0; k < c.count; ++k) moving.push_back(c.tangents[k].exists());
  const std::int64_t both = add_body(*c.trace, forward_body(body, in, moving, {results}));
  const arrays operands = with_tangents(c, 0, in, moving);
  const arrays ys = bind_all(remat_p, operands.data(), operands.count(), pack(remat_attributes{both}), c.where);
  arrays out(static_cast<std::size_t>(results));
  for (int k = 0, at = results; k < results; ++k)
    if (is_floating(ys[k].dtype())) out[k] = ys[at++];
  return out;
}
}  // namespace detail

/// What `remat(f)` returns.
template <class F>
struct remat_function {
  [[no_unique_address]] F f;
  template <class... Args>
  constexpr auto operator()(const Args&... args) const {
    using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
    return in_trace(
        [this](graph& g, const Args&... traced) -> result_type {
          graph body;
          arrays operands;
          const result_type out = trace_body(g, body, operands, f, traced...);
          g.bodies.push_back(std::move(body));
          return with_leaves(out, bind_all(remat_p, operands.data(), operands.count(),
                                           pack(remat_attributes{g.bodies.count() - 1}), location{}));
        },
        args...);
  }
};

/// The function f, whose derivative computes f again. It takes less memory and more time.
/// source  jax.checkpoint (the policy that saves nothing)
template <class F>
constexpr remat_function<F> remat(F f) {
  return {f};
}
template <class F>
inline constexpr bool is_stateless<remat_function<F>> = is_stateless<F>;

}  // namespace tokamax
