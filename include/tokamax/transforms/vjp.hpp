// tokamax/transforms/vjp.hpp: a function's value together with the transpose of its derivative.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/linear_function.hpp>  // linear_function
#include <tokamax/transforms/passes/backward.hpp>  // backward

namespace tokamax {

namespace detail {
template <bool Aux, class F, class... Args>
constexpr auto vjp_of(const F& f, const Args&... args) {
  using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
  using grads_type = decltype(one_or_tuple(std::declval<std::tuple<Args...>>()));
  linear_program program;
  auto values = in_trace(
      [&](graph& g, const Args&... traced) -> std::pair<result_type, std::vector<array>> {
        const auto transpose = [](graph& body, const arrays& xs, const arrays& ys, arrays& grads) {
          const arrays cts = linear_inputs(body, ys);
          grads = backward(body, ys, cts, xs);
          for (int k = 0; k < grads.count(); ++k)
            if (!grads[k].exists()) grads[k] = array(0.0, {xs[k].dtype(), false, xs[k].shape()});
          return cts;
        };
        std::vector<array> residuals;
        const result_type y = trace_linear<Aux, result_type>(program, residuals, g, f, transpose, traced...);
        return {y, residuals};
      },
      args...);
  const auto from = abstract_like(differentiated<Aux>(values.first));
  return value_and_linear<Aux>(values.first, linear_function<std::remove_const_t<decltype(from)>, grads_type>(
                                                 "vjp: cotangents", std::move(program), std::move(values.second), from,
                                                 one_or_tuple(std::tuple<Args...>(abstract_like(args)...))));
}
}  // namespace detail

/// f's value at `args`, and the pullback there. The pullback maps cotangents (a tree like the value) to the cotangents of
/// the arguments: one tree, or a tuple of several. It can be called many times, and the residuals are computed once.
///
///   auto [y, pullback] = vjp(f, x, w);
///   auto [dx, dw] = pullback(ct);  // ct^T (df/dx, df/dw)
///
/// With `vjp(f, has_aux, x, w)` f returns a pair of the value and of anything else, which comes third.
///
/// errors  "vjp: cotangents", when the pullback is called, if their types are not those of the value
/// source  jax.vjp; leaves that are no floats get zeros
template <class F, class... Args>
constexpr auto vjp(F f, const Args&... args) {
  return detail::vjp_of<false>(f, detail::as_argument<true>(args)...);
}
template <class F, class... Args>
constexpr auto vjp(F f, has_aux_tag, const Args&... args) {
  return detail::vjp_of<true>(f, detail::as_argument<true>(args)...);
}

}  // namespace tokamax
