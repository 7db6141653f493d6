// tokamax/stablehlo/check_result.hpp: how a result agreed with what a program of the test suite expects.
// SPDX-License-Identifier: Apache-2.0
// umbrella: no (part of program)
// tested by tests/stablehlo/program.cpp
#pragma once

#include <tokamax/stablehlo/module.hpp>  // position

namespace tokamax::stablehlo {

/// How a result agreed with what a program expects of it.
struct check_result {
  std::string kind;  ///< "check.expect_eq" and so on
  bool passed = false;
  double distance = 0;  ///< the largest one of two elements: in units of the last place, of expect_almost_eq as it is
  position where{};
};

}  // namespace tokamax::stablehlo
