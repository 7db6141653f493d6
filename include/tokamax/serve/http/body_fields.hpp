// tokamax/serve/http/body_fields.hpp: a JSON record that a client has sent, read field by field.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/http/protocol.cpp
#pragma once

#include <tokamax/checkpoint/json.hpp>        // check_json
#include <tokamax/serve/http/http_error.hpp>  // http_error

#include <cmath>     // isfinite
#include <cstdint>   // int64_t
#include <optional>  // optional
#include <set>       // set
#include <vector>    // vector

namespace tokamax::serve {

/// The value of a body: one JSON text of bounded depth and size, without a name twice.
inline ordered_json parse_body(const std::string& body) {
  try {
    checkpoint::check_json(body, "body", {.bytes = body.size(), .values = std::size_t{1} << 20, .depth = 64});
    return ordered_json::parse(body);
  } catch (const error& e) {
    throw http_error(400, e.what(), {}, "invalid_json");
  }
}

/// Fields by their names; null is as good as absent. Errors are of status 400 and have the path of the field.
class body_fields {
 public:
  explicit body_fields(const ordered_json& record, std::string path = {}) : record_(record), path_(std::move(path)) {
    if (!record.is_object()) throw http_error(400, (path_.empty() ? "the body" : path_) + " must be a record", path_);
  }

  std::string path(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const {
    throw http_error(400, path(name) + " must be " + expected, path(name));
  }
  /// The field, or null where it is not there.
  const ordered_json* find(const std::string& name) {
    asked_.insert(name);
    const auto at = record_.find(name);
    return at == record_.end() || at->is_null() ? nullptr : &*at;
  }
  const ordered_json& need(const std::string& name) {
    const ordered_json* const v = find(name);
    if (!v) throw http_error(400, path(name) + " is missing", path(name));
    return *v;
  }
  bool boolean(const std::string& name, bool otherwise) {
    const ordered_json* const v = find(name);
    if (v && !v->is_boolean()) refuse(name, "true or false");
    return v ? v->get<bool>() : otherwise;
  }
  double number(const std::string& name, double otherwise) {
    const ordered_json* const v = find(name);
    if (v && (!v->is_number() || !std::isfinite(v->get<double>()))) refuse(name, "a number");
    return v ? v->get<double>() : otherwise;
  }
  std::optional<std::int64_t> integer(const std::string& name, std::int64_t least, std::int64_t most) {
    const ordered_json* const v = find(name);
    return v ? std::optional(integer_of(*v, name, least, most)) : std::nullopt;
  }
  std::int64_t integer_of(const ordered_json& v, const std::string& name, std::int64_t least, std::int64_t most) const {
    const auto ok = [&] {
      if (v.is_number_unsigned() && v.get<std::uint64_t>() > INT64_MAX) return false;
      return v.is_number_integer() && v.get<std::int64_t>() >= least && v.get<std::int64_t>() <= most;
    };
    if (!ok()) refuse(name, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return v.get<std::int64_t>();
  }
  std::string text(const std::string& name, const std::string& otherwise) {
    const ordered_json* const v = find(name);
    if (v && !v->is_string()) refuse(name, "a text");
    return v ? v->get<std::string>() : otherwise;
  }
  /// A list of texts, or one text, which is a list of its own.
  std::vector<std::string> texts(const std::string& name, std::size_t most) {
    const ordered_json* const v = find(name);
    if (!v) return {};
    if (v->is_string()) return {v->get<std::string>()};
    if (!v->is_array() || v->size() > most) refuse(name, "a text, or a list of at most " + std::to_string(most));
    std::vector<std::string> all;
    for (const ordered_json& one : *v) {
      if (!one.is_string()) refuse(name + "[" + std::to_string(all.size()) + "]", "a text");
      all.push_back(one.get<std::string>());
    }
    return all;
  }
  /// A list of token ids.
  std::vector<std::int32_t> ids(const std::string& name) {
    const ordered_json* const v = find(name);
    return v ? ids_of(*v, name) : std::vector<std::int32_t>();
  }
  std::vector<std::int32_t> ids_of(const ordered_json& v, const std::string& name) const {
    if (!v.is_array()) refuse(name, "a list of token ids");
    std::vector<std::int32_t> all;
    for (const ordered_json& one : v)
      all.push_back(
          static_cast<std::int32_t>(integer_of(one, name + "[" + std::to_string(all.size()) + "]", 0, INT32_MAX)));
    return all;
  }
  /// Fields that are taken and change nothing.
  void ignore(std::initializer_list<const char*> names) {
    for (const char* name : names) asked_.insert(name);
  }
  /// Refuses the first field that nobody has asked for.
  void require_known() const {
    for (const auto& [name, v] : record_.items())
      if (!asked_.contains(name)) throw http_error(400, path(name) + " is no known field", path(name), "unknown_field");
  }

 private:
  const ordered_json& record_;
  std::string path_;
  std::set<std::string> asked_;
};

}  // namespace tokamax::serve
