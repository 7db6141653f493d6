// tokamax/serve/grammar/schema_keywords.hpp: the keywords of a JSON schema, one by one, with their path in refusals.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/grammar/json_schema.cpp
#pragma once

#include <tokamax/serve/grammar/json_texts.hpp>    // bounds
#include <tokamax/serve/grammar/schema_parts.hpp>  // refuse

#include <string>  // string
#include <vector>  // vector

namespace tokamax::serve::schema {

/// The greatest count of characters, items and properties.
inline constexpr int most_count = 100'000;

/// A value as a text. What is no UTF-8 becomes U+FFFD.
inline std::string json_text_of(const json& v) { return v.dump(-1, ' ', false, json::error_handler_t::replace); }
/// A keyword, or null.
inline const json* find(const json& s, const char* name) {
  const auto at = s.find(name);
  return at == s.end() ? nullptr : &*at;
}
/// A natural number.
inline int count_of(const json& s, const char* name, int otherwise, const std::string& path) {
  const json* const v = find(s, name);
  if (!v) return otherwise;
  if (!v->is_number_integer() || *v < 0 || *v > most_count)
    refuse(path + "/" + name, json_text_of(*v), "0 to " + std::to_string(most_count));
  return v->get<int>();
}

/// Refuses the first keyword that answers cannot be held to.
inline void require_known(const json& s, const std::string& path) {
  // clang-format off
  static const std::set<std::string> known = {
      "type", "$ref", "allOf", "anyOf", "oneOf", "const", "enum", "properties", "required", "additionalProperties", "minProperties",
      "maxProperties", "items", "prefixItems", "minItems", "maxItems", "pattern", "format", "minLength", "maxLength", "minimum",
      "maximum", "exclusiveMinimum", "exclusiveMaximum"};
  // clang-format on
  for (const auto& [name, v] : s.items()) {
    if (known.contains(name) || is_annotation(name)) continue;
    if (name == "uniqueItems" && v == json(false)) continue;
    if (name == "multipleOf" && v == json(1) && s.contains("type") && s["type"] == json("integer")) continue;
    refuse(path + "/" + name, "a keyword that answers cannot be held to", "another schema");
  }
}

/// The types that a schema names, or else those of its keywords; none: it says nothing of types.
inline std::vector<std::string> types(const json& s, const std::string& path) {
  static const std::set<std::string> known = {"object", "array", "string", "number", "integer", "boolean", "null"};
  std::vector<std::string> all;
  const auto put = [&](const json& name) {
    if (!name.is_string() || !known.contains(name.get<std::string>()))
      refuse(path + "/type", json_text_of(name), "a type of JSON");
    all.push_back(name.get<std::string>());
  };
  if (const json* const type = find(s, "type")) {
    if (!type->is_array())
      put(*type);
    else
      for (const json& one : *type) put(one);
    if (all.empty()) refuse(path + "/type", "none", "a type of JSON");
    return all;
  }
  const auto has = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return s.contains(name); });
  };
  if (has({"properties", "required", "additionalProperties", "minProperties", "maxProperties"}))
    all.push_back("object");
  if (has({"items", "prefixItems", "minItems", "maxItems"})) all.push_back("array");
  if (has({"pattern", "format", "minLength", "maxLength"})) all.push_back("string");
  if (has({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})) all.push_back("number");
  return all;
}
/// Of the two keywords for one side, the narrower one counts.
inline serve::json::bounds bounds_of(const json& s, const std::string& path) {
  serve::json::bounds b;
  const auto number = [&](const char* name) -> std::optional<double> {
    const json* const v = find(s, name);
    if (!v) return std::nullopt;
    if (!v->is_number() || std::abs(v->get<double>()) > 1e15)
      refuse(path + "/" + name, json_text_of(*v), "a number of at most 15 digits");
    return v->get<double>();
  };
  b.least = number("minimum"), b.most = number("maximum");
  const auto low = number("exclusiveMinimum"), high = number("exclusiveMaximum");
  if (low && (!b.least || *low >= *b.least)) b.least = low, b.above_least = true;
  if (high && (!b.most || *high <= *b.most)) b.most = high, b.below_most = true;
  return b;
}

/// The number of properties is held to where it follows from the names, or is of others only.
inline void require_counts(const json& s, const std::string& path, int needed, int named, bool open) {
  const int least = count_of(s, "minProperties", 0, path), most = count_of(s, "maxProperties", most_count, path);
  if (least > needed && !(open && named == 0 && least == 1))
    refuse(path + "/minProperties", std::to_string(least), "at most as many as are required");
  if (most < named || (open && named != 0 && most != most_count))
    refuse(path + "/maxProperties", std::to_string(most), "at least as many as there are");
}
/// The least and the greatest number of properties, where none has a name.
inline std::pair<int, int> limit_of(const json& s, const std::string& path, bool no_names) {
  const int most = count_of(s, "maxProperties", expression::no_limit, path);
  return no_names ? std::pair(count_of(s, "minProperties", 0, path), most) : std::pair(0, expression::no_limit);
}

}  // namespace tokamax::serve::schema
