// tokamax/transforms/remat.hpp: recompute a function in the backward pass instead of keeping what it computed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/inline.hpp>          // inline_graph
#include <tokamax/core/trace.hpp>           // in_trace
#include <tokamax/transforms/backward.hpp>  // backward

namespace tokamax {

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
      arrays ys = inline_graph(*c.trace, body, again.data());
      arrays cts;
      for (int k = 0; k < ys.count(); ++k) {
        ys[k] = lift(*c.trace, ys[k]);
        cts.push_back(c.cotangents[k]);
      }
      return backward(*c.trace, ys, cts, again);
    },
};

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

/// A function with the values of f whose derivative runs f again: memory for time.
/// source  jax.checkpoint (the policy that saves nothing)
template <class F>
constexpr remat_function<F> remat(F f) {
  return {f};
}
template <class F>
inline constexpr bool is_stateless<remat_function<F>> = is_stateless<F>;

}  // namespace tokamax
