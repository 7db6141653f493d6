// tokamax/runtime/run/step_error.hpp: exceptions of the steps of programs, which say where in the program they happened.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/runtime/run/step_error.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE
#include <tokamax/core/graph.hpp>          // place_text

#include <exception>    // throw_with_nested
#include <new>          // bad_alloc
#include <string>       // string
#include <string_view>  // string_view

namespace tokamax::detail {

/// Throws the exception of a step that is being handled again, as a tokamax::error that has it nested and says where it
/// happened: in which part of the program, and on which line. `step` names the step for those that do not say themselves
/// what failed. An error that comes out of a step within the same part is thrown as it is.
[[noreturn]] void rethrow_from_step(std::string_view part, const location& where, const std::string& step);

#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void rethrow_from_step(std::string_view part, const location& where, const std::string& step) {
  const std::string place = place_text(part, where);
  try {
    throw;
  } catch (const error& e) {
    const bool placed = dynamic_cast<const std::nested_exception*>(&e) && e.where.starts_with(part);
    if (placed || place.empty()) throw;
    std::throw_with_nested(
        error(e.kind, e.subject, e.found, e.expected, e.where.empty() ? place : place + ", " + e.where));
  } catch (const std::bad_alloc& e) {
    std::throw_with_nested(memory_error(e, step, place));
  } catch (const std::exception& e) {
    std::throw_with_nested(error(error_kind::internal, step, e.what(), "no exception", place));
  }
}
#endif

}  // namespace tokamax::detail
