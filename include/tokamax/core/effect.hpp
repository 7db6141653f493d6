// tokamax/core/effect.hpp: which calls have an effect, and effects that belong to no program.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/transforms/callback.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/op.hpp>             // call

namespace tokamax::detail {

/// Has the op of a call an effect, or one of its bodies?
constexpr bool has_effect(const call& c) {
  bool effect = c.self->effect != effect_kind::none;
  for (int b = 0; b < body_count(c); ++b) effect = effect || !c.body(b).effects.empty();
  return effect;
}

/// What the compiler meets, and names, in the trace of an effect whose operands are all constants: nothing says which
/// program it is a part of. At run time the thread knows.
[[noreturn]] void effect_without_traced_operand();
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void effect_without_traced_operand() {
  throw_error("effect", "no traced operand", "one, where a program is traced while compiling", {});
}
#endif

}  // namespace tokamax::detail
