// tokamax/core/effect.hpp: which calls have an effect, and effects that belong to no program.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/callback.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>     // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/attributes/facts.hpp>  // body_count

namespace tokamax::detail {

/// Does the op of a call have an effect, or an op in one of its bodies?
constexpr bool has_effect(const call& c) {
  bool effect = c.self->effect != effect_kind::none;
  for (int b = 0; b < body_count(c); ++b) effect = effect || !c.body(b).effects.empty();
  return effect;
}

/// Called for an effect whose operands are all constants. Nothing then says which program the effect is a part of. At run
/// time the thread knows it; while compiling, the compiler stops here and names this function in its error.
[[noreturn]] void effect_without_traced_operand();
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void effect_without_traced_operand() {
  throw_error("effect", "no traced operand", "one, where a program is traced while compiling", {});
}
#endif

}  // namespace tokamax::detail
