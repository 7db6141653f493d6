// tokamax/checkpoint/json.hpp: JSON that anybody may have written, read strictly and within bounds.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/checkpoint/metadata.cpp
#pragma once

#include <tokamax/base/compiled_once.hpp>  // TOKAMAX_FILES_COMPILED_ONCE

#include <nlohmann/json_fwd.hpp>  // json; a program that links the library of file formats does not read all of it

#include <cstddef>      // size_t
#include <cstdint>      // uint64_t
#include <optional>     // optional
#include <string>       // string
#include <string_view>  // string_view

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
  #include <tokamax/base/error.hpp>  // error

  #include <nlohmann/json.hpp>  // json

  #include <set>     // names
  #include <vector>  // vector
#endif

namespace tokamax::checkpoint {

/// Limits on the memory and stack that a text may take. `values` counts names too.
struct json_limits {
  std::size_t bytes = std::size_t{1} << 27, values = std::size_t{1} << 20, depth = 64;
};

/// Throws unless `text` is one JSON value within the limits, without a name twice in a record.
/// errors  tokamax::error that names `where`
void check_json(std::string_view text, const std::string& where, const json_limits& limits = {});

/// The value that a text holds; errors as `check_json`.
nlohmann::json parse_json(std::string_view text, const std::string& where, const json_limits& limits = {});

/// A value as an integer from 0 on; nothing if it is anything else, floats included.
std::optional<std::uint64_t> natural(const nlohmann::json& json);

namespace detail {
// How messages show a value.
std::string brief(const nlohmann::json& json);
}  // namespace detail

#if defined(TOKAMAX_FILES_COMPILED_ONCE)
namespace detail {

// Reads a text without keeping it, and stops at the first problem.
class json_checker : public nlohmann::json_sax<nlohmann::json> {
 public:
  json_checker(const json_limits& limits, const std::string& where) : limits_(limits), where_(where) {}
  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(std::int64_t) override { return count(); }
  bool number_unsigned(std::uint64_t) override { return count(); }
  bool number_float(double, const std::string&) override { return count(); }
  bool string(std::string&) override { return count(); }
  bool binary(nlohmann::json::binary_t&) override { return count(); }
  bool key(std::string& name) override {
    if (!names_.back().insert(name).second)
      throw error(error_kind::file, "json: name", name + " twice", "distinct names", where_);
    return count();
  }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    throw error(error_kind::file, "json", e.what(), "a text of the format", where_);
  }

 private:
  bool count() {
    if (++values_ > limits_.values)
      throw error(error_kind::file, "json: values", "more", "at most " + std::to_string(limits_.values), where_);
    return true;
  }
  bool enter() {
    names_.emplace_back();
    if (names_.size() > limits_.depth)
      throw error(error_kind::file, "json: depth", "more", "at most " + std::to_string(limits_.depth), where_);
    return count();
  }
  bool leave() {
    names_.pop_back();
    return true;
  }

  json_limits limits_;
  const std::string& where_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> names_;  // the names that each open record has so far
};

}  // namespace detail

TOKAMAX_FILES_COMPILED_ONCE void check_json(std::string_view text, const std::string& where,
                                            const json_limits& limits) {
  if (text.size() > limits.bytes)
    throw error(error_kind::file, "json", std::to_string(text.size()) + " bytes",
                "at most " + std::to_string(limits.bytes), where);
  if (text.find('\0') != std::string_view::npos)  // the parser would take it for the end of the text
    throw error(error_kind::file, "json", "a zero byte", "a text of the format", where);
  detail::json_checker checker(limits, where);
  nlohmann::json::sax_parse(text, &checker);
}
TOKAMAX_FILES_COMPILED_ONCE nlohmann::json parse_json(std::string_view text, const std::string& where,
                                                      const json_limits& limits) {
  check_json(text, where, limits);
  return nlohmann::json::parse(text);
}
TOKAMAX_FILES_COMPILED_ONCE std::optional<std::uint64_t> natural(const nlohmann::json& json) {
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (!json.is_number_integer() || json.get<std::int64_t>() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(json.get<std::int64_t>());
}
TOKAMAX_FILES_COMPILED_ONCE std::string detail::brief(const nlohmann::json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text.size() <= 200 ? text : text.substr(0, 200) + "...";
}
#endif

}  // namespace tokamax::checkpoint
