// tokamax/text/jinja/filters.hpp: what stands behind |, by its name.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/value_filters.hpp>  // json_of

namespace tokamax::text::jinja {

/// A filter: its parameters, and what it makes of a value.
struct named_filter {
  using function = std::function<value(limits&, const value&, const bound_arguments&)>;
  std::string_view name;
  std::vector<std::string_view> parameters;
  function apply;
};

namespace detail {

using filter_function = named_filter::function;
// A filter of values without arguments, and one of the texts of values.
template <class F>
filter_function of_value(F f) {
  return [f](limits& run, const value& v, const bound_arguments&) { return f(run, v); };
}
template <class F>
filter_function of_text(F f) {
  return [f](limits& run, const value& v, const bound_arguments& a) { return f(run, to_text(run, v), a); };
}
// What it makes of HTML is HTML.
inline filter_function keeps_safe(filter_function f) {
  return [f = std::move(f)](limits& run, const value& v, const bound_arguments& a) {
    return as_safe(f(run, v, a), v.safe);
  };
}
inline filter_function cased(letter_case as, bool once = false) {
  return keeps_safe(of_text(
      [=](limits& run, const std::string& s, const bound_arguments&) { return run.text(in_case(run, s, as, once)); }));
}

inline std::vector<named_filter> filters_of_values() {
  using b = const bound_arguments&;
  const filter_function as_text = of_value([](limits& run, const value& v) { return run.text(to_text(run, v)); });
  const filter_function escape = of_value(
      [](limits& run, const value& v) { return as_safe(run.text(escaped(v.text() ? v : value(to_text(run, v))))); });
  return {
      {"abs", {}, of_value(absolute)},                      // -3 | abs: 3
      {"attr", {"name"}, attribute_by_name},                // x | attr("y"): x.y, and never x["y"]
      {"capitalize", {}, cased(letter_case::title, true)},  // "aB" | capitalize: Ab
      {"center", {"width"}, of_text([](limits& run, const std::string& s, b a) {
         return padded(run, s, a.integer(0, 80), " ", 0.5);
       })},
      {"d", {"default_value", "boolean"}, defaulted},  // x | d("y"), x | default("y", true)
      {"default", {"default_value", "boolean"}, defaulted},
      {"e", {}, escape},  // "<" | e: &lt;
      {"escape", {}, escape},
      {"float", {"default"}, as_float},  // "1.5" | float
      {"indent", {"width", "first", "blank"}, of_text(indented)},
      {"int", {"default", "base"}, as_int},      // "ff" | int(0, 16), "x" | int(7)
      {"lower", {}, cased(letter_case::lower)},  // "A" | lower
      {"replace", {"old", "new", "count"}, of_text([](limits& run, const std::string& s, b a) {
         return run.text(replaced(run, s, to_text(run, a[0]), to_text(run, a[1]), a.integer(2, -1)));
       })},
      {"round", {"precision", "method"}, rounded},  // 2.5 | round: 2.0
      {"safe", {}, of_value([](limits& run, const value& v) {
         return as_safe(run.text(to_text(run, v)));
       })},                                 // HTML as it is
      {"string", {}, keeps_safe(as_text)},  // 1 | string
      {"title", {}, of_text([](limits& run, const std::string& s, b) {
         return titled(run, s);
       })},                                                                        // "a-b c" | title: A-B C
      {"tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}, json_of},  // [1, "é"] | tojson(indent=2)
      {"trim", {"chars"}, keeps_safe(of_text([](limits& run, const std::string& s, b a) {
         return run.text(std::string(stripped(s, a.text_or_none(0))));
       }))},
      {"upper", {}, cased(letter_case::upper)},  // "a" | upper
  };
}
inline std::vector<named_filter> filters_of_lists() {
  using b = const bound_arguments&;
  const filter_function size =
      of_value([](limits& run, const value& v) { return value(static_cast<std::int64_t>(length(run, v))); });
  return {
      {"batch",
       {"linecount", "fill_with"},
       [](limits& run, const value& v, b a) {
         return grouped(run, v, a, true);
       }},                                                             // [1, 2, 3] | batch(2): [1, 2] and [3]
      {"count", {}, size},                                             // another name of length
      {"dictsort", {"case_sensitive", "by", "reverse"}, sorted_dict},  // {"b": 1, "a": 2} | dictsort: pairs
      {"first", {}, of_value(first_of)},                               // [1, 2] | first: 1
      {"items", {}, of_value(item_pairs)},                             // {"a": 1} | items: ("a", 1)
      {"join", {"d", "attribute"}, joined_by},                         // [1, 2] | join(", "): 1, 2
      {"last", {}, of_value(last_of)},                                 // [1, 2] | last: 2
      {"length", {}, size},                                            // "abc" | length: 3
      {"list", {}, of_value([](limits& run, const value& v) {
         return run.list(items_of(run, v));
       })},  // "ab" | list: ["a", "b"]
      {"max",
       {"case_sensitive", "attribute"},
       [](limits& run, const value& v, b a) { return extreme(run, v, a, true); }},
      {"min",
       {"case_sensitive", "attribute"},
       [](limits& run, const value& v, b a) { return extreme(run, v, a, false); }},
      {"reverse", {}, of_value(reversed)},  // [1, 2] | reverse, "ab" | reverse
      {"slice",
       {"slices", "fill_with"},
       [](limits& run, const value& v, b a) {
         return grouped(run, v, a, false);
       }},                                                           // [1, 2, 3] | slice(2): [1, 2] and [3]
      {"sort", {"reverse", "case_sensitive", "attribute"}, sorted},  // ["b", "A"] | sort: ["A", "b"]
      {"sum", {"attribute", "start"}, summed},                       // [1, 2] | sum: 3
      {"unique", {"case_sensitive", "attribute"}, unique},           // ["a", "A"] | unique: "a"
  };
}
// The filter of a name, or null.
inline const named_filter* find_filter(std::string_view name) {
  static const std::vector<named_filter> of_values = filters_of_values(), of_lists = filters_of_lists();
  for (const std::vector<named_filter>* all : {&of_values, &of_lists})
    for (const named_filter& f : *all)
      if (f.name == name) return &f;
  return nullptr;
}
// They take the name of another filter or test, and arguments for that.
inline bool filters_by_name(const std::string& name) {
  return is_any(name, {"map", "select", "reject", "selectattr", "rejectattr"});
}

}  // namespace detail

/// Is there a filter of this name?
inline bool knows_filter(const std::string& name) {
  return detail::filters_by_name(name) || detail::find_filter(name) != nullptr;
}

/// What a filter makes of a value.
/// errors  tokamax::error that names a filter which is not known
inline value apply_filter(limits& run, const std::string& name, const value& v, const arguments& given) {
  const limits::level l(run);
  if (name == "map") return detail::mapped(run, v, given);
  if (detail::filters_by_name(name)) return detail::selected(run, name, v, given);
  const named_filter* f = detail::find_filter(name);
  if (!f) run.refuse("filter", name, "trim, tojson, join, length, default or another that is known");
  return f->apply(run, v, bound_arguments(run, name, given, f->parameters));
}

}  // namespace tokamax::text::jinja
