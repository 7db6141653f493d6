// tests/support/json_schema_check.hpp: does a value validate? The keywords by their definitions, with std::regex for patterns.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/serve/grammar/schema_parts.hpp>  // at_reference

#include <tokamax/text/utf8.hpp>  // for_each_code

#include <cmath>
#include <regex>

namespace tokamax::test {

using schema_json = nlohmann::ordered_json;

inline bool is_type(const schema_json& v, const std::string& type) {
  if (type == "integer")
    return v.is_number_integer() || (v.is_number() && v.get<double>() == std::floor(v.get<double>()));
  return type == (v.is_null()      ? "null"
                  : v.is_boolean() ? "boolean"
                  : v.is_number()  ? "number"
                  : v.is_string()  ? "string"
                  : v.is_array()   ? "array"
                                   : "object");
}

inline bool validates(const schema_json& v, const schema_json& s, const schema_json& root);

inline bool object_validates(const schema_json& v, const schema_json& s, const schema_json& root) {
  const std::size_t size = v.size();
  if (size < s.value("minProperties", 0u) || size > s.value("maxProperties", 1000000u)) return false;
  for (const schema_json& name : s.value("required", schema_json::array()))
    if (!v.contains(name.get<std::string>())) return false;
  const schema_json properties = s.value("properties", schema_json::object());
  for (const auto& [name, one] : v.items()) {
    if (properties.contains(name) && !validates(one, properties[name], root)) return false;
    if (!properties.contains(name) && s.contains("additionalProperties") &&
        !validates(one, s["additionalProperties"], root))
      return false;
  }
  return true;
}
inline bool array_validates(const schema_json& v, const schema_json& s, const schema_json& root) {
  if (v.size() < s.value("minItems", 0u) || v.size() > s.value("maxItems", 1000000u)) return false;
  const schema_json prefix = s.value("prefixItems", schema_json::array());
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (i < prefix.size() ? !validates(v[i], prefix[i], root)
                          : s.contains("items") && !validates(v[i], s["items"], root))
      return false;
  }
  return true;
}
inline bool string_validates(const std::string& v, const schema_json& s) {
  std::size_t codes = 0;
  text::for_each_code(v, [&](char32_t, std::size_t) { ++codes; });
  if (codes < s.value("minLength", 0u) || codes > s.value("maxLength", 1000000u)) return false;
  const auto wide = [](const std::string& t) {  // regular expressions are of code points
    std::wstring w;
    text::for_each_code(t, [&](char32_t c, std::size_t) { w += static_cast<wchar_t>(c); });
    return w;
  };
  return !s.contains("pattern") || std::regex_search(wide(v), std::wregex(wide(s["pattern"].get<std::string>())));
}
inline bool number_validates(double v, const schema_json& s) {
  return !(s.contains("minimum") && v < s["minimum"]) && !(s.contains("maximum") && v > s["maximum"]) &&
         !(s.contains("exclusiveMinimum") && v <= s["exclusiveMinimum"]) &&
         !(s.contains("exclusiveMaximum") && v >= s["exclusiveMaximum"]);
}

inline bool validates(const schema_json& v, const schema_json& s, const schema_json& root) {
  if (s.is_boolean()) return s.get<bool>();
  if (s.contains("$ref") && !validates(v, serve::schema::at_reference(root, s["$ref"].get<std::string>(), ""), root))
    return false;
  if (s.contains("type")) {
    const schema_json types = s["type"].is_array() ? s["type"] : schema_json::array({s["type"]});
    if (std::none_of(types.begin(), types.end(),
                     [&](const schema_json& t) { return is_type(v, t.get<std::string>()); }))
      return false;
  }
  if (s.contains("const") && v != s["const"]) return false;
  if (s.contains("enum") && std::find(s["enum"].begin(), s["enum"].end(), v) == s["enum"].end()) return false;
  const auto count = [&](const char* name) {
    return std::count_if(s[name].begin(), s[name].end(),
                         [&](const schema_json& one) { return validates(v, one, root); });
  };
  if (s.contains("allOf") && count("allOf") != std::ssize(s["allOf"])) return false;
  if (s.contains("anyOf") && count("anyOf") == 0) return false;
  if (s.contains("oneOf") && count("oneOf") != 1) return false;
  if (v.is_object()) return object_validates(v, s, root);
  if (v.is_array()) return array_validates(v, s, root);
  if (v.is_string()) return string_validates(v.get<std::string>(), s);
  return !v.is_number() || number_validates(v.get<double>(), s);
}

}  // namespace tokamax::test
