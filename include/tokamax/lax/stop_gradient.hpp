// tokamax/lax/stop_gradient.hpp: markers that leave values alone: stop_gradient, variable, optimization_barrier.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/core/bind.hpp>  // bind

namespace tokamax {

namespace detail {
constexpr array_type identity_infer(const call& c) { return c[0].type(); }
constexpr arrays identity_batch(const call& c) { return bind(*c.self, {c[0]}, words{}, c.where); }
}  // namespace detail

inline constexpr op stop_gradient_p{
    .name = "stop_gradient",
    .algebra = {.constant = true},
    .memory = {.kind = op_kind::alias},
    .infer = detail::identity_infer,
    .vjp = [](const call&) -> arrays { return arrays(); },
    .jvp = [](const call&) -> arrays { return arrays(); },
    .batch = detail::identity_batch,
};

/// The input of a differentiated function. It gives a value a new name, so that only the uses inside of the function
/// count for the derivative.
inline constexpr op variable_p{
    .name = "variable",
    .unique = true,
    .algebra = {.linear = true},
    .memory = {.kind = op_kind::alias},
    .infer = detail::identity_infer,
    .vjp = [](const call& c) -> arrays { return c.ct(); },
    .batch = detail::identity_batch,
};

/// Prevents values that are computed from the result from being merged with equal ones elsewhere. remat recomputes behind
/// such a barrier.
inline constexpr op optimization_barrier_p{
    .name = "optimization_barrier",
    .stablehlo = "stablehlo.optimization_barrier",
    .unique = true,
    .algebra = {.linear = true},
    .memory = {.kind = op_kind::barrier},
    .infer = detail::identity_infer,
    .vjp = [](const call& c) -> arrays { return c.ct(); },
    .batch = detail::identity_batch,
};

/// The value of x with a derivative of zero.
/// source  jax.lax.stop_gradient
constexpr array stop_gradient(const array& x, source_line l = source_line::current()) {
  if (x.is_literal() || x.is_concrete()) return x;
  return bind(described<stop_gradient_p>(), {x}, words{}, l);
}

constexpr array optimization_barrier(const array& x, source_line l = source_line::current()) {
  return bind(described<optimization_barrier_p>(), {x}, words{}, l);
}

}  // namespace tokamax
