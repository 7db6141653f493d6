// tokamax/compiler/verify.hpp: a verifier of programs: their graph, the lowered graph and the plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>     // TOKAMAX_COMPILED_ONCE
#include <tokamax/compiler/verify/graph.hpp>  // verify_graph
#include <tokamax/compiler/verify/plan.hpp>   // verify_plan

namespace tokamax {

/// Is each program verified when it is made? The variable TOKAMAX_VERIFY=1 of the environment asks for it, and
/// `verify_programs`. A program that is known while compiling is verified at its first call, others after each pass.
///
/// errors  what is wrong, of which node or step, what was found and expected, and its scope and line. Such an error is a mistake
///         of a pass, of a rule of an op or of a device's facts about its kernels
bool verifies_programs();
/// Asks that all programs made from now on are verified, or that none is.
void verify_programs(bool on);

}  // namespace tokamax

#if defined(TOKAMAX_COMPILED_ONCE)

  #include <atomic>   // atomic
  #include <cstdlib>  // getenv

namespace tokamax {
namespace detail {
inline std::atomic<bool>& program_verification() {
  static std::atomic<bool> on = [] {
    const char* const asked = std::getenv("TOKAMAX_VERIFY");
    return asked && *asked == '1';
  }();
  return on;
}
}  // namespace detail

TOKAMAX_COMPILED_ONCE bool verifies_programs() {
  return detail::program_verification().load(std::memory_order_relaxed);
}
TOKAMAX_COMPILED_ONCE void verify_programs(bool on) {
  detail::program_verification().store(on, std::memory_order_relaxed);
}

}  // namespace tokamax
#endif
