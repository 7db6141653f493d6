// tokamax/stablehlo/type_text.hpp: types as MLIR's text.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/reader/read_bytecode.cpp
#pragma once

#include <tokamax/stablehlo/module.hpp>  // value_type

namespace tokamax::stablehlo::detail {

/// `tensor<3x?xf32>`, `complex<f64>`, or what a type of another kind is.
inline std::string type_text(const value_type& t) {
  if (t.dtype == dtype::none) return t.other;
  std::string s;
  if (t.is == value_type::form::array) {
    s = "tensor<";
    for (std::int64_t e : t.extents) s += (e < 0 ? "?" : std::to_string(e)) + "x";
  }
  if (t.complex) s += "complex<";
  s += t.other.empty() ? info(t.dtype).stablehlo : std::string_view(t.other);
  if (t.complex) s += ">";
  return t.is == value_type::form::array ? s + ">" : s;
}

}  // namespace tokamax::stablehlo::detail
