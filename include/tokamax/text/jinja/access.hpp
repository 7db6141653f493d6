// tokamax/text/jinja/access.hpp: fields, items, parts and methods of values.
// SPDX-License-Identifier: Apache-2.0
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/operators.hpp>  // find

#include <span>  // span

namespace tokamax::text::jinja {

namespace detail {

// Names of methods that are known, and then of those that Python has and templates may not use here.
inline constexpr std::string_view text_methods[] = {
    "capitalize", "center",  "count",     "endswith",   "find",      "format",       "index",        "isalnum",
    "isalpha",    "isascii", "isdecimal", "isdigit",    "isnumeric", "islower",      "isspace",      "isupper",
    "join",       "ljust",   "lower",     "lstrip",     "partition", "removeprefix", "removesuffix", "replace",
    "rfind",      "rindex",  "rjust",     "rpartition", "rsplit",    "rstrip",       "split",        "splitlines",
    "startswith", "strip",   "swapcase",  "title",      "upper",     "zfill"};
inline constexpr std::string_view other_text_methods[] = {"casefold",   "encode",       "expandtabs",
                                                          "format_map", "isidentifier", "isprintable",
                                                          "istitle",    "maketrans",    "translate"};
inline constexpr std::string_view dict_methods[] = {"copy", "get", "items", "keys", "values"};
inline constexpr std::string_view other_dict_methods[] = {"clear",   "fromkeys",   "pop",
                                                          "popitem", "setdefault", "update"};
inline constexpr std::string_view list_methods[] = {"count", "index"};
inline constexpr std::string_view other_list_methods[] = {"append", "clear",  "copy",    "extend", "insert",
                                                          "pop",    "remove", "reverse", "sort"};
inline constexpr std::string_view number_fields[] = {
    "as_integer_ratio", "bit_count", "bit_length", "conjugate", "denominator", "from_bytes", "fromhex", "hex", "imag",
    "is_integer",       "numerator", "real",       "to_bytes"};

inline bool has_name(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
// A method of a value as a function, or nothing.
inline std::optional<value> method(limits& run, const value& of, const std::string& name) {
  std::span<const std::string_view> known, others;
  if (of.text()) known = text_methods, others = other_text_methods;
  if (of.dict()) known = dict_methods, others = other_dict_methods;
  if (of.places()) known = list_methods, others = other_list_methods;
  if (as_real(of)) others = number_fields;
  if (has_name(others, name) || name.starts_with("__"))
    run.refuse(type_name(of) + "." + name, "what a template may not use here", "another method or field");
  if (!has_name(known, name)) return std::nullopt;
  callable c{callable::kind::method, name};
  c.self = of;
  return value(std::move(c));
}

// What is not there says so when it is used.
inline value missing(const value& of, const std::string& name) {
  return undefined{std::make_shared<const std::string>("no " + name + " in a value of type " + type_name(of))};
}

// Places are counted from 1 and from 0, from the beginning and from the end.
inline value field_of_loop(limits& run, const std::shared_ptr<loop_state>& loop, const std::string& name) {
  const std::vector<value>& items = loop->items->items;
  const auto at = static_cast<std::int64_t>(loop->at), size = static_cast<std::int64_t>(items.size());
  if (name == "index") return at + 1;
  if (name == "index0") return at;
  if (name == "revindex") return size - at;
  if (name == "revindex0") return size - at - 1;
  if (name == "first") return at == 0;
  if (name == "last") return at + 1 == size;
  if (name == "length") return size;
  if (name == "depth") return std::int64_t{1};  // no loop is recursive
  if (name == "depth0") return std::int64_t{0};
  if (name == "previtem") return at > 0 ? items[loop->at - 1] : missing(loop, name);
  if (name == "nextitem") return at + 1 < size ? items[loop->at + 1] : missing(loop, name);
  if (name != "cycle" && name != "changed")
    run.refuse("loop." + name, "nothing of this name",
               "index, index0, revindex, revindex0, first, last, length, depth, depth0, previtem, nextitem, cycle or "
               "changed");
  callable c{callable::kind::method, name};
  c.self = loop;
  return value(std::move(c));
}

// A place counted from the end if it is negative, or nothing.
inline std::optional<std::size_t> place(std::int64_t index, std::size_t size) {
  const auto n = static_cast<std::int64_t>(size);
  if (index < -n || index >= n) return std::nullopt;
  return static_cast<std::size_t>(index < 0 ? index + n : index);
}
// The character of a number.
inline std::string_view character(std::string_view s, std::size_t number) {
  std::size_t at = 0;
  while (number-- > 0) at += decode_utf8(s, at).length;
  return s.substr(at, decode_utf8(s, at).length);
}
// An item of a dict by its key, and of a list or text by its place.
inline std::optional<value> found_item(limits& run, const value& of, const value& key) {
  if (const dictionary* d = of.dict()) {
    run.spend(1 + d->items.size() / 8);
    const value* found = key.text() ? find(*d, *key.text()) : find(run, *d, key);
    return found ? std::optional(*found) : std::nullopt;
  }
  const auto index = as_integer(key);
  if (!index) return std::nullopt;
  if (const sequence* s = of.places()) {
    const auto at = place(*index, s->items.size());
    return at ? std::optional(s->items[*at]) : std::nullopt;
  }
  if (const std::string* s = of.text()) {
    const auto at = place(*index, length(run, of));
    return at ? std::optional(as_safe(value(character(*s, *at)), of.safe)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace detail

/// of.name: a method, else an item, else what is not defined.
inline value attribute(limits& run, const value& of, const std::string& name) {
  require_defined(run, of);
  if (name_space* const* n = std::get_if<name_space*>(&of.is)) {
    const auto at = (*n)->fields.find(name);
    return at != (*n)->fields.end() ? at->second : detail::missing(of, name);
  }
  if (const auto* l = std::get_if<std::shared_ptr<loop_state>>(&of.is)) return detail::field_of_loop(run, *l, name);
  if (of.dict() && !detail::has_name(detail::dict_methods, name))
    if (const value* found = find(*of.dict(), name)) return *found;
  if (auto m = detail::method(run, of, name)) return *m;
  return detail::missing(of, name);
}

/// of[key]: an item, else a method or field, else what is not defined.
inline value item(limits& run, const value& of, const value& key) {
  require_defined(run, of);
  if (auto found = detail::found_item(run, of, key)) return *found;
  if (!key.text()) return detail::missing(of, "item of type " + type_name(key));
  return attribute(run, of, *key.text());
}

/// of[begin:end:step]
inline value slice(limits& run, const value& of, const value& begin, const value& end, const value& step) {
  if (!of.text() && !of.places()) refuse_type(run, "a slice", of, "a list or a text");
  const auto number = [&](const value& v, std::int64_t otherwise) {
    if (v.is_none()) return otherwise;
    const auto i = as_integer(v);
    if (!i) refuse_type(run, "a slice", v, "an integer");
    return *i;
  };
  const auto size = static_cast<std::int64_t>(length(run, of));
  const std::int64_t by = number(step, 1);
  if (by == 0) run.refuse("a slice", "the step 0", "another step", error_kind::argument);
  const auto clamp = [&](std::int64_t i) {
    if (i < 0) i = i < -size ? -1 : i + size;
    return by > 0 ? std::clamp<std::int64_t>(i, 0, size) : std::clamp<std::int64_t>(i, -1, size - 1);
  };
  const auto bound = [&](const value& v, std::int64_t otherwise) {
    return v.is_none() ? otherwise : clamp(number(v, 0));
  };
  const std::int64_t first = bound(begin, by > 0 ? 0 : size - 1), last = bound(end, by > 0 ? size : -1);
  const std::vector<value> items = of.text() && by != 1 ? items_of(run, of) : std::vector<value>();
  if (const std::string* s = of.text(); s && by == 1) {
    std::size_t at = 0, from = 0;
    for (std::int64_t i = 0; i < std::max(first, last); ++i) {
      if (i == first) from = at;
      at += decode_utf8(*s, at).length;
    }
    return as_safe(first < last ? run.text(s->substr(from, at - from)) : value(""), of.safe);
  }
  const std::vector<value>& all = of.text() ? items : of.list()->items;
  std::vector<value> result;
  for (std::int64_t i = first; by > 0 ? i < last : i > last;) {
    result.push_back(all[static_cast<std::size_t>(i)]);
    if (__builtin_add_overflow(i, by, &i)) break;
  }
  if (of.list()) return run.list(std::move(result), of.list()->is);
  std::string text;
  for (const value& v : result) text += *v.text();
  return as_safe(run.text(std::move(text)), of.safe);
}

}  // namespace tokamax::text::jinja
