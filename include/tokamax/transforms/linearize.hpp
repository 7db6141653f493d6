// tokamax/transforms/linearize.hpp: a function's value together with its derivative there as a function.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/transforms/linear_function.hpp>  // linear_function
#include <tokamax/transforms/passes/forward.hpp>   // forward

namespace tokamax {

namespace detail {
template <bool Aux, class F, class... Args>
constexpr auto linearize_of(const F& f, const Args&... args) {
  using result_type = std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>>;
  linear_program program;
  auto values = in_trace(
      [&](graph& g, const Args&... traced) -> std::pair<result_type, std::vector<array>> {
        const auto push = [](graph& body, const arrays& xs, const arrays& ys, arrays& tangents) {
          const arrays dxs = linear_inputs(body, xs);
          tangents = forward(body, xs, dxs, ys);
          for (int k = 0; k < tangents.count(); ++k)
            if (!tangents[k].exists()) tangents[k] = array(0.0, {ys[k].dtype(), false, ys[k].shape()});
          return dxs;
        };
        std::vector<array> residuals;
        const result_type y = trace_linear<Aux, result_type>(program, residuals, g, f, push, traced...);
        return {y, residuals};
      },
      args...);
  const auto to = abstract_like(differentiated<Aux>(values.first));
  return value_and_linear<Aux>(values.first, linear_function<std::tuple<Args...>, std::remove_const_t<decltype(to)>>(
                                                 "linearize: tangents", std::move(program), std::move(values.second),
                                                 std::tuple<Args...>(abstract_like(args)...), to));
}
}  // namespace detail

/// f's value at `args`, and its derivative there as a linear function of tangents, one tree for each argument. The function
/// can be called many times and does not compute f again.
///
///   auto [y, f_jvp] = linearize(f, x);
///   y + f_jvp(dx)  // f(x + dx), except for terms of second order
///
/// With `linearize(f, has_aux, x)` f returns a pair of the value and of anything else, which comes third.
///
/// errors  "linearize: tangents", when the function is called, if their types are not those of the arguments
/// source  jax.linearize; leaves that are no floats have no tangents
template <class F, class... Args>
constexpr auto linearize(F f, const Args&... args) {
  return detail::linearize_of<false>(f, detail::as_argument<true>(args)...);
}
template <class F, class... Args>
constexpr auto linearize(F f, has_aux_tag, const Args&... args) {
  return detail::linearize_of<true>(f, detail::as_argument<true>(args)...);
}

}  // namespace tokamax
