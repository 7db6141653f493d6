// tests/support/error_of.hpp: the text of the error that a call throws.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <string>  // string

namespace tokamax::test {

/// What f() throws, or "none".
std::string error_of(const auto& f) {
  try {
    f();
  } catch (const error& e) {
    return e.what();
  }
  return "none";
}

}  // namespace tokamax::test
