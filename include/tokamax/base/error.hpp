// tokamax/base/error.hpp: the one exception of the library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>  // runtime_error
#include <string>     // string
#include <utility>    // move

namespace tokamax {

/// A run-time failure in four parts: what went wrong, what was found, what was expected, and where (a source line, a
/// file, the path of a tree leaf).
struct error : std::runtime_error {
  error(std::string what_, std::string found_, std::string expected_, std::string where_ = {})
      : std::runtime_error(what_ + ": found " + found_ + ", expected " + expected_ +
                           (where_.empty() ? "" : " (" + where_ + ")")),
        subject(std::move(what_)),
        found(std::move(found_)),
        expected(std::move(expected_)),
        where(std::move(where_)) {}
  std::string subject, found, expected, where;
};

}  // namespace tokamax
