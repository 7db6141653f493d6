// tokamax/serve/grammar/json_schema.hpp: the JSON texts that a schema takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tokamax/checkpoint/json.hpp>                // check_json
#include <tokamax/serve/grammar/json_texts.hpp>       // white_space
#include <tokamax/serve/grammar/regex.hpp>            // regex_parser
#include <tokamax/serve/grammar/schema_formats.hpp>   // regex_of_format
#include <tokamax/serve/grammar/schema_keywords.hpp>  // types
#include <tokamax/serve/grammar/schema_parts.hpp>     // merged

#include <map>  // map

namespace tokamax::serve {

/// Reads a schema into rules, of which every text validates. It is narrower than the schema in these points: properties come in the order
/// of the schema, objects with `properties` and no `additionalProperties` have no others, a schema without `type` has the types of its
/// keywords, and texts are bounded as `json` says. Keywords that it does not hold to are refused with their path.
class json_schema_reader {
 public:
  explicit json_schema_reader(schema::json root) : root_(std::move(root)) {}

  /// errors  tokamax::error "json schema: " and the path
  grammar_rules read() {
    grammar_.add("#");
    references_["#"] = 0;
    expression e = value(root_, "#");
    grammar_.rules[0] = std::move(e);
    return std::move(grammar_);
  }
  /// Any object.
  static grammar_rules any_object() {
    json_schema_reader r(schema::json::object());
    r.grammar_.add("#");
    expression e = r.object(schema::json::object(), "#");
    r.grammar_.rules[0] = std::move(e);
    return std::move(r.grammar_);
  }

 private:
  using json = schema::json;
  static constexpr int most_values = 5000;  // merged parts are copies, and each may have more

  int rule_of(const char* name, expression (json_schema_reader::*make)()) {
    const auto [at, fresh] = shared_.emplace(name, 0);
    if (fresh) {
      const int rule = at->second = grammar_.add(name);
      expression e = (this->*make)();
      grammar_.rules[static_cast<std::size_t>(rule)] = std::move(e);
    }
    return at->second;
  }
  expression any_value() { return use_rule(rule_of("value", &json_schema_reader::make_any_value)); }
  expression make_any_value() {
    return any_of({object(json::object(), ""), array(json::object(), ""), string(json::object(), ""), json_number(),
                   literal("true"), literal("false"), literal("null")});
  }
  expression json_number() { return use_rule(rule_of("number", &json_schema_reader::make_number)); }
  expression make_number() { return serve::json::numbers(); }
  expression make_character() { return serve::json::any_character(); }
  expression space() { return use_rule(rule_of("space", &json_schema_reader::make_space)); }
  expression make_space() { return serve::json::white_space(); }
  expression comma() { return joined({literal(","), space()}); }
  // A rule of its own, so that a part which stands in several places is compiled once.
  expression as_rule(const std::string& name, expression e) { return use_rule(grammar_.add(name, std::move(e))); }

  // The texts of a schema at a path. Parts that stand in many places, such as any value, are rules that all share.
  expression value(const json& s, const std::string& path) {
    if (++values_ > most_values) schema::refuse(path, "more parts", "at most " + std::to_string(most_values));
    if (s.is_boolean()) {
      if (!s.get<bool>()) schema::refuse(path, "false", "a schema that takes a value");
      return any_value();
    }
    if (!s.is_object()) schema::refuse(path, schema::json_text_of(s).substr(0, 100), "a schema");
    schema::require_known(s, path);
    for (const char* name : {"$ref", "allOf", "anyOf", "oneOf"})
      if (s.contains(name)) return combined(s, name, path);
    if (s.contains("const") || s.contains("enum")) return listed(s, path);
    std::vector<expression> all;
    for (const std::string& type : schema::types(s, path)) all.push_back(typed(s, type, path));
    if (all.empty()) return any_value();
    return any_of(std::move(all));
  }
  // One of the keywords that stand for other schemas, together with the keywords beside it.
  expression combined(const json& s, const std::string& keyword, const std::string& path) {
    const std::string at = path + "/" + keyword;
    json rest = json::object();
    for (const auto& [name, v] : s.items())
      if (name != keyword && !schema::is_annotation(name)) rest[name] = v;
    if (++depth_ > 64) schema::refuse(at, "more schemas within each other", "at most 64");
    struct leave {
      int& depth;
      ~leave() { --depth; }
    } leaves{depth_};
    if (keyword == "$ref") {
      if (!s[keyword].is_string()) schema::refuse(at, schema::json_text_of(s[keyword]), "a text");
      const std::string name = s[keyword].get<std::string>();
      const json& target = schema::at_reference(root_, name, at);
      return rest.empty() ? referenced(name, target) : value(schema::merged(target, rest, at), path);
    }
    if (!s[keyword].is_array() || s[keyword].empty()) schema::refuse(at, "no list", "a list of schemas");
    if (keyword == "allOf") {
      for (const json& one : s[keyword]) rest = schema::merged(std::move(rest), resolved(one, at), at);
      return value(rest, path);
    }
    std::vector<json> parts;
    for (const json& one : s[keyword]) parts.push_back(resolved(one, at));
    if (keyword == "oneOf")
      for (std::size_t i = 0; i < parts.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
          if (!schema::are_apart(parts[i], parts[j]))
            schema::refuse(
                at, "schemas " + std::to_string(j) + " and " + std::to_string(i) + " that may have a value in common",
                "types, constants or required constants that differ, or anyOf");
    std::vector<expression> all;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string place = at + "/" + std::to_string(i);
      all.push_back(rest.empty() ? value(s[keyword][i], place) : value(schema::merged(parts[i], rest, place), place));
    }
    return any_of(std::move(all));
  }
  // The rule of a reference, which is there before its schema is read, so that a schema may name itself.
  expression referenced(const std::string& name, const json& target) {
    const auto [at, fresh] = references_.emplace(name, 0);
    if (!fresh) return use_rule(at->second);
    const int rule = at->second = grammar_.add(name);
    expression e = value(target, name);
    grammar_.rules[static_cast<std::size_t>(rule)] = std::move(e);
    return use_rule(rule);
  }
  // A schema that is no reference alone.
  const json& resolved(const json& s, const std::string& path) const {
    const json* at = &s;
    for (int i = 0; at->is_object() && at->size() == 1 && at->contains("$ref") && (*at)["$ref"].is_string(); ++i) {
      if (i == 64) schema::refuse(path, "references without an end", "a schema");
      at = &schema::at_reference(root_, (*at)["$ref"].get<std::string>(), path);
    }
    return *at;
  }
  // The values of enum or const, as they are written without white space.
  expression listed(const json& s, const std::string& path) {
    for (const auto& [name, v] : s.items())
      if (name != "const" && name != "enum" && name != "type" && !schema::is_annotation(name))
        schema::refuse(path + "/" + name, "a keyword beside const or enum", "none");
    if (s.contains("enum") && (!s["enum"].is_array() || s["enum"].empty()))
      schema::refuse(path + "/enum", "no list", "a list of values");
    json only = json::object();
    if (s.contains("type")) only["type"] = s["type"];
    std::vector<expression> all;
    for (const json& v : schema::values_of(s)) {
      const std::set<std::string> type = schema::types_of(json{{"const", v}}), allowed = schema::types_of(only);
      if (allowed.contains(*type.begin())) all.push_back(literal(schema::json_text_of(v)));
    }
    if (all.empty()) schema::refuse(path, "no value of the type", "one or more");
    return any_of(std::move(all));
  }

  expression typed(const json& s, const std::string& type, const std::string& path) {
    if (type == "object") return object(s, path);
    if (type == "array") return array(s, path);
    if (type == "string") return string(s, path);
    if (type == "boolean") return any_of({literal("true"), literal("false")});
    if (type == "null") return literal("null");
    const serve::json::bounds b = schema::bounds_of(s, path);
    if (type == "number" && !b.any()) return json_number();
    expression e = type == "integer" ? serve::json::integers(b) : serve::json::numbers(b);
    if (serve::json::integers(b).parts.empty())
      schema::refuse(path, "bounds without an integer between them", "one or more");
    return e;
  }
  // Between the quotes are characters up to a number, or what a pattern or format says.
  expression string(const json& s, const std::string& path) {
    const int least = schema::count_of(s, "minLength", 0, path),
              most = schema::count_of(s, "maxLength", expression::no_limit, path);
    if (most != expression::no_limit && most < least)
      schema::refuse(path + "/maxLength", std::to_string(most), "minLength or more");
    const bool counted = least != 0 || most != expression::no_limit;
    const json *const pattern = schema::find(s, "pattern"), *const format = schema::find(s, "format");
    if ((pattern && format) || ((pattern || format) && counted))
      schema::refuse(path + (pattern ? "/pattern" : "/format"), "another demand beside it", "none");
    if (!pattern && !format) {
      const int one = rule_of("character", &json_schema_reader::make_character);
      return joined({literal("\""), repeat(use_rule(one), least, most), literal("\"")});
    }
    const char* const name = pattern ? "pattern" : "format";
    const json& given = pattern ? *pattern : *format;
    if (!given.is_string()) schema::refuse(path + "/" + name, schema::json_text_of(given), "a text");
    std::optional<std::string> source = given.get<std::string>();
    if (format && !(source = regex_of_format(*source)))
      schema::refuse(path + "/format", schema::json_text_of(given),
                     "date, time, date-time, uuid, ipv4, ipv6, hostname, email or uri");
    try {
      return joined(
          {literal("\""), regex_parser(*source, serve::json::character).parse(pattern != nullptr), literal("\"")});
    } catch (const error& e) {
      schema::refuse(path + "/" + name, e.found, e.expected);
    }
  }

  // Items of the prefix one by one, and then others up to a number.
  expression array(const json& s, const std::string& path) {
    const int least = schema::count_of(s, "minItems", 0, path);
    int most = schema::count_of(s, "maxItems", expression::no_limit, path);
    std::vector<expression> first;
    const json *const prefix = schema::find(s, "prefixItems"), *const items = schema::find(s, "items");
    if (prefix && !prefix->is_array()) schema::refuse(path + "/prefixItems", "no list", "a list of schemas");
    if (prefix)
      for (const json& one : *prefix)
        first.push_back(as_rule("item", value(one, path + "/prefixItems/" + std::to_string(first.size()))));
    const int fixed = static_cast<int>(first.size());
    const bool closed = (prefix && !items) || (items && *items == json(false));
    if (closed && (most == expression::no_limit || most > fixed)) most = fixed;
    if (most != expression::no_limit && most < least)
      schema::refuse(path + "/maxItems", std::to_string(most), std::to_string(least) + " or more items");
    expression item;
    if (!closed) item = !items ? any_value() : as_rule("item", value(*items, path + "/items"));
    // Item i and those behind it, from the last one on. Behind the prefix all are alike.
    const int begin = std::max(fixed, 1);
    expression rest = joined();
    if (!closed && (most == expression::no_limit || most > begin))
      rest = repeat(joined({comma(), item}), std::max(0, least - begin),
                    most == expression::no_limit ? most : most - begin);
    for (int i = begin; i-- > 0;) {
      if (most != expression::no_limit && i >= most) continue;
      const expression& one = i < fixed ? first[static_cast<std::size_t>(i)] : item;
      rest = i == 0 ? joined({one, std::move(rest)}) : joined({comma(), one, std::move(rest)});
      if (i >= least) rest = optional_text(std::move(rest));
    }
    return joined({literal("["), space(), std::move(rest), space(), literal("]")});
  }

  expression object(const json& s, const std::string& path) {
    const json no_properties = json::object(), *properties = schema::find(s, "properties"),
               *more = schema::find(s, "additionalProperties");
    const bool named = properties != nullptr;
    if (!named) properties = &no_properties;
    if (!properties->is_object()) schema::refuse(path + "/properties", "no record", "a record of schemas");
    std::set<std::string> needed, names;
    if (const json* const list = schema::find(s, "required")) {
      if (!list->is_array()) schema::refuse(path + "/required", "no list", "a list of names");
      for (const json& one : *list) {
        if (!one.is_string()) schema::refuse(path + "/required", schema::json_text_of(one), "a list of names");
        needed.insert(one.get<std::string>());
      }
    }
    const bool open = more ? *more != json(false) : !named;
    std::vector<std::pair<expression, bool>> fields;  // and is it required?
    const auto put = [&](const std::string& name, expression v) {
      names.insert(name);
      fields.emplace_back(as_rule(name, joined({literal(schema::json_text_of(name) + ":"), space(), std::move(v)})),
                          needed.contains(name));
    };
    for (const auto& [name, one] : properties->items()) put(name, value(one, path + "/properties/" + name));
    expression other;
    if (open)
      other = more && !more->is_boolean() ? as_rule("additional", value(*more, path + "/additionalProperties"))
                                          : any_value();
    for (const std::string& name : needed) {
      if (names.contains(name)) continue;
      if (!open) schema::refuse(path + "/required", "'" + name + "', which is no property", "properties");
      put(name, other);
    }
    if (open)
      other = as_rule("field", joined({literal("\""), serve::json::other_name(names), literal("\":"), space(), other}));
    schema::require_counts(s, path, static_cast<int>(needed.size()), static_cast<int>(fields.size()), open);
    return joined({literal("{"), space(),
                   fields_of(fields, open ? &other : nullptr, schema::limit_of(s, path, fields.empty())), space(),
                   literal("}")});
  }
  // Fields in order, with commas between those that are there, and then others.
  expression fields_of(const std::vector<std::pair<expression, bool>>& fields, const expression* other,
                       std::pair<int, int> limit) {
    expression behind = joined();  // what follows a field that is there
    if (other && fields.empty()) {
      if (limit.second == 0) return joined();
      const int most = limit.second == expression::no_limit ? limit.second : limit.second - 1;
      expression all = joined({*other, repeat(joined({comma(), *other}), std::max(0, limit.first - 1), most)});
      return limit.first == 0 ? optional_text(std::move(all)) : all;
    }
    if (other) behind = as_rule("fields", repeat(joined({comma(), *other}), 0));
    expression first =
        other ? optional_text(joined({*other, behind})) : joined();  // the fields from here on, with none before
    for (auto f = fields.rbegin(); f != fields.rend(); ++f) {
      expression with = joined({f->first, behind});
      first = f->second ? std::move(with) : any_of({std::move(with), std::move(first)});
      expression next = joined({comma(), f->first});
      if (!f->second) next = optional_text(std::move(next));
      behind = as_rule("fields", joined({std::move(next), std::move(behind)}));
    }
    return first;
  }

  json root_;
  grammar_rules grammar_;
  std::map<std::string, int> references_, shared_;
  int depth_ = 0, values_ = 0;
};

/// The JSON texts of a schema, which is itself a JSON text.
/// errors  tokamax::error with the path of what is not possible
inline grammar_rules json_schema_grammar(std::string_view text) {
  checkpoint::check_json(text, "json schema", {.bytes = std::size_t{1} << 20, .values = 100'000, .depth = 64});
  return json_schema_reader(schema::json::parse(text)).read();
}

}  // namespace tokamax::serve
