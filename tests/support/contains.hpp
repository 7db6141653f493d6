// tests/support/contains.hpp: the matcher for a part of a message, whichever of Catch2 version 2 and 3 is installed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/catch.hpp"

inline auto contains(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}
