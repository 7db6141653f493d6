// tokamax/base/error.hpp: the one exception of the library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_COMPILED_ONCE

#include <new>        // bad_alloc
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

/// Who can mend a failure: what a server needs to answer a request, or a program to decide whether to try again.
enum class error_kind : unsigned char {
  argument,  ///< the caller: a value that is not allowed, an array without data, a tree of another structure
  shape,     ///< the caller: an array of another dtype or of other extents than are expected
  file,      ///< a file or text that cannot be read or written, or is not what its format or the model says
  device,    ///< a device that is missing, lost, fails, has no kernel, or is not the one where the arrays lie
  resource,  ///< memory or another limit; a smaller call may succeed
  internal,  ///< nobody but the authors of the library or of an op: something that always holds did not
};
constexpr const char* name(error_kind k) {
  constexpr const char* names[] = {"argument", "shape", "file", "device", "resource", "internal"};
  return names[static_cast<int>(k)];
}

/// A run-time failure: its kind, and in four parts what went wrong, what was found, what was expected, and where (a source
/// line, a file, the path of a tree leaf). Of a part that is longer than 2000 bytes, only the two ends are kept.
struct error : std::runtime_error {
  error(error_kind kind_, std::string what_, std::string found_, std::string expected_, std::string where_ = {})
      : error(kind_, parts{detail::error_part(std::move(what_)), detail::error_part(std::move(found_)),
                           detail::error_part(std::move(expected_)), detail::error_part(std::move(where_))}) {}
  /// The same with the kind `argument`.
  error(std::string what_, std::string found_, std::string expected_, std::string where_ = {})
      : error(error_kind::argument, std::move(what_), std::move(found_), std::move(expected_), std::move(where_)) {}
  error_kind kind;
  std::string subject, found, expected, where;

 private:
  struct parts {
    std::string subject, found, expected, where;
  };
  error(error_kind kind_, parts p)
      : std::runtime_error(detail::error_text(p.subject, p.found, p.expected, p.where)),
        kind(kind_),
        subject(std::move(p.subject)),
        found(std::move(p.found)),
        expected(std::move(p.expected)),
        where(std::move(p.where)) {}
};

/// Memory that there is not. Where users ask for arrays and run programs it becomes an `error` of kind `resource`.
struct no_memory : std::bad_alloc {
  explicit no_memory(std::size_t n) : bytes(n) {}
  std::size_t bytes;  ///< that were asked for
};
/// That error: what needed the memory, how much that is, as far as the cause knows it, and where.
error memory_error(const std::bad_alloc& cause, const std::string& user, std::string where = {});
#if defined(TOKAMAX_COMPILED_ONCE)
TOKAMAX_COMPILED_ONCE error memory_error(const std::bad_alloc& cause, const std::string& user, std::string where) {
  const auto* const known = dynamic_cast<const no_memory*>(&cause);
  return {error_kind::resource, "memory of " + user, known ? "no " + std::to_string(known->bytes) + " bytes" : "none",
          "free memory", std::move(where)};
}
#endif

}  // namespace tokamax
