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
std::string error_part(std::string text);
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE std::string error_text(const std::string& what, const std::string& found,
                                             const std::string& expected, const std::string& where) {
  return what + ": found " + found + ", expected " + expected + (where.empty() ? "" : " (" + where + ")");
}
// Texts that come from files or users may have any length. Of a long one, only the two ends are shown.
TOKAMAX_COMPILED_ONCE std::string error_part(std::string text) {
  constexpr std::size_t most = 2000;
  if (text.size() > most) text.replace(most / 2, text.size() - most, "...");
  return text;
}
#endif
}  // namespace detail

/// A run-time failure in four parts: what went wrong, what was found, what was expected, and where (a source line, a
/// file, the path of a tree leaf). Of a part that is longer than 2000 bytes, only the two ends are kept.
struct error : std::runtime_error {
  error(std::string what_, std::string found_, std::string expected_, std::string where_ = {})
      : error(parts{detail::error_part(std::move(what_)), detail::error_part(std::move(found_)),
                    detail::error_part(std::move(expected_)), detail::error_part(std::move(where_))}) {}
  std::string subject, found, expected, where;

 private:
  struct parts {
    std::string subject, found, expected, where;
  };
  explicit error(parts p)
      : std::runtime_error(detail::error_text(p.subject, p.found, p.expected, p.where)),
        subject(std::move(p.subject)),
        found(std::move(p.found)),
        expected(std::move(p.expected)),
        where(std::move(p.where)) {}
};

}  // namespace tokamax
