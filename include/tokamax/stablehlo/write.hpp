// tokamax/stablehlo/write.hpp: functions of ours as StableHLO text, which XLA runs.
// SPDX-License-Identifier: Apache-2.0
// umbrella: not tokamax.hpp (programs that write StableHLO include it)
#pragma once

#include <tokamax/core/trace.hpp>         // trace_into
#include <tokamax/stablehlo/program.hpp>  // TOKAMAX_STABLEHLO_COMPILED_ONCE

#include <type_traits>  // invoke_result_t

namespace tokamax {

namespace stablehlo {
/// The module of a traced program, whose function @main takes its inputs.
/// errors  "to_stablehlo: op" with the line of the op, for one that has no form in StableHLO
program_module module_of(const graph& traced);
}  // namespace stablehlo

/// The StableHLO text of f on arguments like `args`: a module whose function @main takes their leaves and returns those of the result.
///
///   std::ofstream("step.mlir") << tk::to_stablehlo(step, weights, images);
///
/// errors  those of tracing f, and "to_stablehlo: op"
/// source  jax.jit(f).lower(*args).as_text()
template <class F, class... Args>
std::string to_stablehlo(const F& f, const Args&... args) {
  std::remove_cvref_t<std::invoke_result_t<const F&, const Args&...>> result;
  graph g;
  trace_into(g, f, result, args...);
  return stablehlo::to_text(stablehlo::module_of(g));
}

}  // namespace tokamax

#if defined(TOKAMAX_STABLEHLO_COMPILED_ONCE)

  #include <tokamax/stablehlo/writer/module_of.hpp>  // detail::module_of

namespace tokamax::stablehlo {

TOKAMAX_STABLEHLO_COMPILED_ONCE program_module module_of(const graph& traced) { return detail::module_of(traced); }

}  // namespace tokamax::stablehlo
#endif
