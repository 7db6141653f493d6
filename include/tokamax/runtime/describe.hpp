// tokamax/runtime/describe.hpp: the graph and the plan of a compiled function, as text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/compiler/text/print.hpp>      // to_text
#include <tokamax/runtime/program/program.hpp>  // thaw, fusion

namespace tokamax {

/// The traced graph of a program that is known while compiling, its fused loops, and its steps with the places of their
/// operands in the arena: `describe<decltype(step)::for_types<model, batch>>()`.
template <class Program>
std::string describe() {
  return "traced graph\n" + to_text(thaw(view(Program::trace), Program::ops.at)) + "\nafter fusion and planning\n" +
         to_text(view(Program::plan::tables, Program::plan::code));
}

}  // namespace tokamax
