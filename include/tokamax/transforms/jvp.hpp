// tokamax/transforms/jvp.hpp: the derivative of a function along a direction.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/forward.hpp>  // forward
#include <tokamax/transforms/vjp.hpp>      // as_variables, set_cotangents

namespace tokamax {

/// f(x) and its directional derivative along `tangent`, a tree like x.
///
///   { f(x), d/de f(x + e * tangent) at e = 0 }
///
/// errors  "jvp: tangent" if its types are not those of x
/// source  jax.jvp
template <class F, class Tree>
constexpr auto jvp(F f, const Tree& x, const Tree& tangent, source_line l = source_line::current()) {
  using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Tree&>>;
  return in_trace(
      [&f, l](graph& g, const Tree& traced, const Tree& direction) -> std::pair<result_type, result_type> {
        detail::require_types(g, "jvp: tangent", leaves(direction), leaves(traced), l);
        const Tree variables = detail::as_variables(traced);
        const result_type y = f(variables);
        arrays ys;
        for (const array& a : leaves(y)) ys.push_back(lift(g, a));
        result_type tangents = y;
        detail::set_cotangents(tangents, forward(g, leaves(variables), leaves(direction), ys));
        return {y, tangents};
      },
      x, tangent);
}

}  // namespace tokamax
