// tokamax/stablehlo/writer/write_call.hpp: what the rule of an op that is written sees of its call.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/write.cpp
#pragma once

#include <tokamax/core/op.hpp>                             // call
#include <tokamax/stablehlo/writer/operation_builder.hpp>  // operation_builder

namespace tokamax::stablehlo::detail {

/// One call of an op that is written.
struct write_call {
  const call& c;
  const std::vector<written>& in;
  operation_builder& to;

  const written& operator[](int k) const { return in[static_cast<std::size_t>(k)]; }
  template <class Options>
  Options attrs() const {
    return unpack<Options>(c.attributes);
  }
  const array_type& type() const { return c.type; }
};
/// Adds the operations of a call, and returns the value of its result.
using write_rule = written (*)(const write_call&);
/// A rule by the name of its op.
struct write_entry {
  std::string_view name;
  write_rule apply;
};

}  // namespace tokamax::stablehlo::detail
