// tokamax/base/error.hpp: the one exception of the library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#include <stdexcept>  // runtime_error
#include <string>     // string
#include <utility>    // move

namespace tokamax {

namespace detail {
std::string error_text(const std::string& what, const std::string& found, const std::string& expected,
                       const std::string& where);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE std::string error_text(const std::string& what, const std::string& found,
                                             const std::string& expected, const std::string& where) {
  return what + ": found " + found + ", expected " + expected + (where.empty() ? "" : " (" + where + ")");
}
#endif
}  // namespace detail

/// A run-time failure in four parts: what went wrong, what was found, what was expected, and where (a source line, a
/// file, the path of a tree leaf).
struct error : std::runtime_error {
  error(std::string what_, std::string found_, std::string expected_, std::string where_ = {})
      : std::runtime_error(detail::error_text(what_, found_, expected_, where_)),
        subject(std::move(what_)),
        found(std::move(found_)),
        expected(std::move(expected_)),
        where(std::move(where_)) {}
  std::string subject, found, expected, where;
};

}  // namespace tokamax
