// tokamax/core/refused_arrays.hpp: arrays that no op takes: of a trace that has ended, or without data beside others.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/core/bind.cpp
#pragma once

#include <tokamax/core/op.hpp>  // throw_error

namespace tokamax::detail {

[[noreturn]] void reject_leaked(const array& a, location where);
/// Refuses data together with an abstract operand: a model that has not been given its first values.
[[noreturn]] void reject_abstract(const op& o, const array* in, int n, location where);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE void reject_abstract(const op& o, const array* in, int n, location where) {
  int k = 0;
  while (k + 1 < n && !in[k].is_abstract()) ++k;
  throw error(std::string(o.name) + ": operand " + std::to_string(k),
              std::string(message(in[k].type()).view()) + " without data",
              "data, as the other operands have; init or restore gives them to a model", place_text({}, where));
}
TOKAMAX_COMPILED_ONCE void reject_leaked(const array& a, location where) {
  throw_error("array of a trace that has ended", a.type(), "a result of the traced function, or data", where);
}
#endif
/// Refuses, at run time, a node whose graph no longer exists: a traced function has stored it somewhere.
inline void require_live(const array& a, location where) {
  if (a.outlived_its_trace()) reject_leaked(a, where);
}

}  // namespace tokamax::detail
