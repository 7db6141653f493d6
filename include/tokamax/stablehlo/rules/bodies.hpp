// tokamax/stablehlo/rules/bodies.hpp: what the bodies of reductions, scatters and sorts are, where they are known.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/rules/rules.cpp
#pragma once

#include <tokamax/stablehlo/rules/evaluator.hpp>  // for its users: run_on_elements

namespace tokamax::stablehlo::detail {

/// The operation that a body of two arguments applies to them, if it does nothing else; "first" or "second" if it returns an
/// argument; nothing for other bodies.
inline std::string combiner_of(const region& r) {
  if (r.arguments.size() != 2 || r.operations.empty() || !r.operations.back().name.ends_with("return") ||
      r.operations.back().operands.size() != 1)
    return "";
  const int result = r.operations.back().operands[0];
  if (r.operations.size() == 1) return result == r.arguments[0] ? "first" : result == r.arguments[1] ? "second" : "";
  const operation& o = r.operations[0];
  if (r.operations.size() != 2 || o.operands.size() != 2 || o.results != std::vector<int>{result}) return "";
  const bool in_order = o.operands == r.arguments;
  const bool turned = o.operands[0] == r.arguments[1] && o.operands[1] == r.arguments[0];
  return in_order || turned ? o.name : "";
}
/// May what a body combines be grouped in any way?
inline bool is_associative(const region& r) {
  const std::string how = combiner_of(r);
  for (const char* known : {"first", "second", "stablehlo.add", "stablehlo.and", "stablehlo.maximum",
                            "stablehlo.minimum", "stablehlo.multiply", "stablehlo.or", "stablehlo.xor"})
    if (how == known) return true;
  return false;
}

}  // namespace tokamax::stablehlo::detail
