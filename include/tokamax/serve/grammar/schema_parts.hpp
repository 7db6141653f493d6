// tokamax/serve/grammar/schema_parts.hpp: JSON schemas as data: references, two schemas as one, and whether two have a value in common.
// SPDX-License-Identifier: Apache-2.0
// tested by tests/serve/grammar/json_schema.cpp
#pragma once

#include <tokamax/base/error.hpp>  // error

#include <nlohmann/json.hpp>  // ordered_json

#include <algorithm>  // find, none_of
#include <set>        // set

namespace tokamax::serve::schema {

using json = nlohmann::ordered_json;

/// A refusal that names the path of a keyword, such as "#/properties/a/not".
[[noreturn]] inline void refuse(const std::string& path, const std::string& found, const std::string& expected) {
  throw error("json schema: " + path, found, expected);
}
inline bool is_annotation(const std::string& keyword) {
  static const std::set<std::string> all = {
      "title",    "description", "default",    "examples", "$schema",     "$id",           "$comment", "$defs",
      "readOnly", "writeOnly",   "deprecated", "id",       "definitions", "discriminator", "$anchor",  "example"};
  return all.contains(keyword);
}

/// The schema that a reference within `root` names.
inline const json& at_reference(const json& root, const std::string& reference, const std::string& path) {
  const auto fail = [&](const std::string& why) {
    refuse(path, "'" + reference + "', " + why, "# or #/ and a path in the schema");
  };
  if (reference == "#") return root;
  if (!reference.starts_with("#/")) fail("which is elsewhere");
  const json* at = &root;
  for (std::size_t begin = 2, end; begin <= reference.size(); begin = end + 1) {
    end = std::min(reference.find('/', begin), reference.size());
    std::string name;
    for (std::size_t i = begin; i < end; ++i) {
      const bool escape = reference[i] == '~' && i + 1 < end && (reference[i + 1] == '0' || reference[i + 1] == '1');
      name += !escape ? reference[i] : reference[++i] == '0' ? '~' : '/';
    }
    if (!at->is_object() || !at->contains(name)) fail("which is not there");
    at = &(*at)[name];
  }
  return *at;
}

/// A schema with the demands of both.
inline json merged(json a, const json& b, const std::string& path) {
  if (b.is_boolean() && b.get<bool>()) return a;
  if (a.is_boolean() && a.get<bool>()) return b;
  if (!a.is_object() || !b.is_object()) refuse(path, "a schema without values", "schemas with values");
  // What one schema closes, the other may not open.
  const auto closes = [](const json& s) {
    return s.contains("additionalProperties") && s["additionalProperties"] != json(true);
  };
  if ((closes(a) && b.contains("properties")) || (closes(b) && a.contains("properties")))
    refuse(path + "/additionalProperties", "properties of another schema beside it", "true");
  for (const auto& [name, v] : b.items()) {
    if (is_annotation(name)) continue;
    if (!a.contains(name) || a[name] == v) {
      a[name] = v;
    } else if (name == "required" && a[name].is_array() && v.is_array()) {
      for (const json& one : v)
        if (std::find(a[name].begin(), a[name].end(), one) == a[name].end()) a[name].push_back(one);
    } else if (name == "properties" && a[name].is_object() && v.is_object()) {
      for (const auto& [property, s] : v.items())
        a[name][property] =
            a[name].contains(property) ? merged(a[name][property], s, path + "/properties/" + property) : s;
    } else {
      refuse(path + "/" + name, "two of them", "one");
    }
  }
  return a;
}

/// The names of types that values of a schema may have, as far as it says that itself.
inline std::set<std::string> types_of(const json& s) {
  std::set<std::string> all;
  const auto type_of = [](const json& v) -> std::string {
    return v.is_null()      ? "null"
           : v.is_boolean() ? "boolean"
           : v.is_number()  ? "number"
           : v.is_string()  ? "string"
           : v.is_array()   ? "array"
                            : "object";
  };
  if (s.is_object() && s.contains("const")) return {type_of(s["const"])};
  if (s.is_object() && s.contains("enum") && s["enum"].is_array()) {
    for (const json& v : s["enum"]) all.insert(type_of(v));
    return all;
  }
  const auto put = [&](const json& name) {
    if (name.is_string()) all.insert(name == "integer" ? "number" : name.get<std::string>());
  };
  if (s.is_object() && s.contains("type")) {
    if (s["type"].is_array())
      for (const json& name : s["type"]) put(name);
    else
      put(s["type"]);
    return all;
  }
  if (s.is_object() && s.contains("properties")) return {"object"};
  return {"null", "boolean", "number", "string", "array", "object"};
}

/// The values of an enumeration or constant; empty if it is neither.
inline json values_of(const json& s) {
  if (!s.is_object()) return json::array();
  if (s.contains("const")) return json::array({s["const"]});
  if (s.contains("enum") && s["enum"].is_array()) return s["enum"];
  return json::array();
}

/// Is it sure that no value is of both schemas? They differ in types, in listed values, or in a listed property that both require.
inline bool are_apart(const json& a, const json& b) {
  const std::set<std::string> types_a = types_of(a), types_b = types_of(b);
  const auto shared = [&](const std::string& t) { return types_b.contains(t); };
  if (std::none_of(types_a.begin(), types_a.end(), shared)) return true;
  // Two lists without a common value.
  const auto values_apart = [](const json& x, const json& y) {
    const json xs = values_of(x), ys = values_of(y);
    return !xs.empty() && !ys.empty() && std::none_of(xs.begin(), xs.end(), [&](const json& v) {
      return std::find(ys.begin(), ys.end(), v) != ys.end();
    });
  };
  if (values_apart(a, b)) return true;
  if (types_a != std::set<std::string>{"object"} || types_b != types_a) return false;
  const auto requires_it = [](const json& s, const std::string& name) {
    return s.contains("required") && std::find(s["required"].begin(), s["required"].end(), name) != s["required"].end();
  };
  if (!a.contains("properties") || !b.contains("properties")) return false;
  for (const auto& [name, s] : a["properties"].items())
    if (b["properties"].contains(name) && requires_it(a, name) && requires_it(b, name) &&
        values_apart(s, b["properties"][name]))
      return true;
  return false;
}

}  // namespace tokamax::serve::schema
