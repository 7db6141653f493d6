// tokamax/text/jinja/methods.hpp: calls of the methods of texts, lists, dicts and loops.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/access.hpp>           // found_item
#include <tokamax/text/jinja/bound_arguments.hpp>  // bound_arguments
#include <tokamax/text/jinja/print.hpp>            // to_text
#include <tokamax/text/jinja/text_methods.hpp>     // split

namespace tokamax::text::jinja {

/// A text between fillings, so that it has `width` characters.
inline value padded(limits& run, const std::string& s, std::int64_t width, const std::string& fill, double left_share) {
  const auto size = static_cast<std::int64_t>(length(run, s));
  const std::int64_t missing = width - size;
  if (missing <= 0) return run.text(s);
  if (length(run, fill) != 1) run.refuse("a filling", fill, "one character", error_kind::argument);
  if (missing > static_cast<std::int64_t>(limits::most_bytes / 4)) run.spend_bytes(limits::most_bytes + 1);
  std::int64_t left = static_cast<std::int64_t>(static_cast<double>(missing) * left_share);
  if (left_share == 0.5) left = missing / 2 + (missing & width & 1);
  std::string result;
  for (std::int64_t i = 0; i < left; ++i) result += fill;
  result += s;
  for (std::int64_t i = left; i < missing; ++i) result += fill;
  return run.text(std::move(result));
}

/// Texts of values with a text between.
inline value joined(limits& run, const std::vector<value>& items, const std::string& between) {
  std::string result;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) result += between;
    result += to_text(run, items[i]);
    if (result.size() > limits::most_bytes) run.spend_bytes(result.size());
  }
  return run.text(std::move(result));
}

namespace detail {

// "{} {name} {0}" with arguments; conversions and widths are refused.
inline value formatted(limits& run, const std::string& s, const arguments& given) {
  std::string result;
  std::size_t next = 0;
  const auto refuse = [&](const std::string& found) {
    run.refuse("format", found, "{}, {0} or {name} of an argument", error_kind::argument);
  };
  for (std::size_t at = 0; at < s.size(); ++at) {
    if ((s[at] == '{' || s[at] == '}') && s.substr(at + 1, 1) == s.substr(at, 1)) {
      result += s[at++];
      continue;
    }
    if (s[at] == '}') refuse("}");
    if (s[at] != '{') {
      result += s[at];
      continue;
    }
    const std::size_t end = s.find('}', at);
    if (end == std::string::npos) refuse("{ without }");
    const std::string field = s.substr(at + 1, end - at - 1);
    const bool digits = field.find_first_not_of("0123456789") == std::string::npos && field.size() < 6;
    if (digits) {
      const std::size_t i = field.empty() ? next++ : std::stoul(field);
      if (i >= given.positional.size()) refuse("no argument " + std::to_string(i));
      result += to_text(run, given.positional[i]);
    } else {
      const auto is_it = [&](const auto& n) { return n.first == field; };
      const auto found = std::find_if(given.named.begin(), given.named.end(), is_it);
      if (found == given.named.end()) refuse("{" + field + "}");
      result += to_text(run, found->second);
    }
    if (result.size() > limits::most_bytes) run.spend_bytes(result.size());
    at = end;
  }
  return run.text(std::move(result));
}

inline bool is_any(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What is true of all characters of a text that has some.
inline value all_are(limits& run, const std::string& s, const std::string& name) {
  run.spend(s.size() / 4);
  const bool cased = name == "islower" || name == "isupper";
  bool all = !s.empty(), any = false;
  if (name == "isascii")
    return std::all_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) < 128; });
  for_each_code(s, [&](char32_t c, std::size_t) {
    const bool decimal = category_within(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_ND);
    const bool other_number = c >= 0x80 && !decimal && (is_number(c) || (name == "isnumeric" && is_letter(c)));
    if (other_number && is_any(name, {"isdigit", "isnumeric", "isalnum"}))
      run.refuse(name, "a character that is a number and no decimal digit", "another text");
    if (name == "isspace") all = all && is_space(c);
    if (name == "isalpha") all = all && is_letter(c);
    if (name == "isalnum") all = all && (is_letter(c) || decimal);
    if (is_any(name, {"isdigit", "isdecimal", "isnumeric"})) all = all && decimal;
    if (!cased) return;
    const bool lower = category_within(c, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LL);
    const bool upper = category_within(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LU);
    const bool title = category_within(c, UTF8PROC_CATEGORY_LT, UTF8PROC_CATEGORY_LT);
    any = any || lower || upper;
    if (title || (name == "islower" ? upper : lower)) all = false;
  });
  return all && (!cased || any);
}

// The place of a text in another one, between two characters.
inline std::int64_t found_at(limits& run, const std::string& s, const bound_arguments& a, bool last) {
  const value part = slice(run, s, a.get(1, none{}), a.get(2, none{}), none{});
  run.spend(s.size() / 16);
  const std::size_t at = last ? part.text()->rfind(a.text(0)) : part.text()->find(a.text(0));
  if (at == std::string::npos) return -1;
  const auto size = static_cast<std::int64_t>(length(run, s));
  const std::int64_t begin = a.integer(1, 0);
  return static_cast<std::int64_t>(length(run, part.text()->substr(0, at))) +
         (begin < 0 ? std::max<std::int64_t>(begin + size, 0) : begin);
}
// A tuple of texts asks whether one of them does.
inline value starts_or_ends(limits& run, const std::string& s, const bound_arguments& a, bool starts) {
  const value part = slice(run, s, a.get(1, none{}), a.get(2, none{}), none{});
  const auto fits = [&](const value& v) {
    if (!v.text()) refuse_type(run, starts ? "startswith" : "endswith", v, "a text, or a tuple of texts");
    return starts ? part.text()->starts_with(*v.text()) : part.text()->ends_with(*v.text());
  };
  if (const sequence* all = a[0].list(); all && all->is == sequence::kind::tuple)
    return std::any_of(all->items.begin(), all->items.end(), fits);
  return fits(a[0]);
}
// What is before a separator, the separator, and what is behind it.
inline value partition(limits& run, const std::string& s, const std::string& by, bool last) {
  if (by.empty()) run.refuse("partition", "an empty separator", "a text", error_kind::argument);
  const std::size_t at = last ? s.rfind(by) : s.find(by);
  if (at == std::string::npos)
    return run.list(last ? std::vector<value>{"", "", s} : std::vector<value>{s, "", ""}, sequence::kind::tuple);
  return run.list({s.substr(0, at), by, s.substr(at + by.size())}, sequence::kind::tuple);
}

// Methods that look for a text; nothing if it is none of them.
inline std::optional<value> call_searching(limits& run, const std::string& s, const std::string& name,
                                           const arguments& given) {
  const auto bind = [&](std::initializer_list<std::string_view> names) {
    return bound_arguments(run, name, given, names);
  };
  if (name == "startswith" || name == "endswith")
    return starts_or_ends(run, s, bind({"prefix", "start", "end"}), name == "startswith");
  if (is_any(name, {"find", "rfind", "index", "rindex"})) {
    const std::int64_t at = found_at(run, s, bind({"sub", "start", "end"}), name[0] == 'r');
    if (at < 0 && name.ends_with("index")) run.refuse(name, "no such text", "a part of the text", error_kind::argument);
    return value(at);
  }
  if (name == "count") {
    const bound_arguments a = bind({"sub"});
    if (a.text(0).empty()) return value(static_cast<std::int64_t>(length(run, s)) + 1);
    std::int64_t count = 0;
    for (std::size_t at = 0; (at = s.find(a.text(0), at)) != std::string::npos; at += a.text(0).size()) ++count;
    return value(count);
  }
  return std::nullopt;
}
// Another case, or what is true of all characters.
inline value call_without_arguments(limits& run, const std::string& s, const std::string& name,
                                    const arguments& given) {
  bound_arguments(run, name, given, {});
  if (name == "upper") return run.text(in_case(run, s, letter_case::upper));
  if (name == "lower") return run.text(in_case(run, s, letter_case::lower));
  if (name == "title") return run.text(in_case(run, s, letter_case::title));
  if (name == "capitalize") return run.text(in_case(run, s, letter_case::title, true));
  if (name == "swapcase") {
    std::string result;
    for_each_code(s, [&](char32_t c, std::size_t) {
      append_case(result, c, to_lower(c) != c ? letter_case::lower : letter_case::upper);
    });
    return run.text(std::move(result));
  }
  return all_are(run, s, name);
}
// A method of a text. Those that are left at the end are of the list in access.hpp.
inline value call_of_text(limits& run, const std::string& s, const std::string& name, const arguments& given) {
  const auto bind = [&](std::initializer_list<std::string_view> names) {
    return bound_arguments(run, name, given, names);
  };
  if (name == "format") return formatted(run, s, given);
  if (is_any(name, {"strip", "lstrip", "rstrip"}))
    return run.text(std::string(stripped(s, bind({"chars"}).text_or_none(0), name != "rstrip", name != "lstrip")));
  if (name == "split" || name == "rsplit") {
    const bound_arguments a = bind({"sep", "maxsplit"});
    return run.list(split(run, s, a.text_or_none(0), a.integer(1, -1), name == "rsplit"));
  }
  if (name == "replace") {
    const bound_arguments a = bind({"old", "new", "count"});
    return run.text(replaced(run, s, a.text(0), a.text(1), a.integer(2, -1)));
  }
  if (name == "join") {
    const std::vector<value> items = items_of(run, bind({"iterable"})[0]);
    for (const value& v : items)
      if (!v.text()) refuse_type(run, "join", v, "texts");
    return joined(run, items, s);
  }
  if (name == "removeprefix" || name == "removesuffix") {
    const std::string part = bind({"part"}).text(0);
    if (name == "removeprefix") return run.text(s.starts_with(part) ? s.substr(part.size()) : s);
    return run.text(s.ends_with(part) ? s.substr(0, s.size() - part.size()) : s);
  }
  if (name == "partition" || name == "rpartition") return partition(run, s, bind({"sep"}).text(0), name[0] == 'r');
  if (name == "splitlines") {
    const auto lines = lines_of(s, bind({"keepends"}).flag(0, false));
    return run.list({lines.begin(), lines.end()});
  }
  if (is_any(name, {"center", "ljust", "rjust"})) {
    const bound_arguments a = bind({"width", "fillchar"});
    a[0];
    return padded(run, s, a.integer(0, 0), a.has(1) ? a.text(1) : " ", name[0] == 'l' ? 0 : name[0] == 'r' ? 1 : 0.5);
  }
  if (name == "zfill") {
    const bound_arguments a = bind({"width"});
    a[0];
    const bool sign = !s.empty() && (s[0] == '-' || s[0] == '+');
    const value digits = padded(run, s.substr(sign), a.integer(0, 0) - sign, "0", 1);
    return run.text(s.substr(0, sign) + *digits.text());
  }
  if (const auto found = call_searching(run, s, name, given)) return *found;
  return call_without_arguments(run, s, name, given);
}

// get does not fail where an item does; keys, values and items can be counted and looped over.
inline value call_of_dict(limits& run, const value& self, const std::string& name, const arguments& given) {
  const dictionary& d = *self.dict();
  if (name == "get") {
    const bound_arguments a(run, name, given, {"key", "default"});
    const auto found = found_item(run, self, a[0]);
    return found ? *found : a.get(1, none{});
  }
  bound_arguments(run, name, given, {});
  if (name == "copy") return self;
  std::vector<value> all;
  for (const auto& [key, v] : d.items)
    all.push_back(name == "keys" ? key : name == "values" ? v : run.list({key, v}, sequence::kind::tuple));
  return run.list(std::move(all), sequence::kind::view);
}

// How often a value is there, or where it is first.
inline value call_of_list(limits& run, const value& self, const std::string& name, const arguments& given) {
  const bound_arguments a(run, name, given, {"value"});
  const std::vector<value>& items = self.list()->items;
  const auto is_it = [&](const value& v) { return equal(run, v, a[0]); };
  if (name == "count") return static_cast<std::int64_t>(std::count_if(items.begin(), items.end(), is_it));
  const auto at = std::find_if(items.begin(), items.end(), is_it);
  if (at == items.end()) run.refuse("index", "no such item", "an item of the list", error_kind::argument);
  return static_cast<std::int64_t>(at - items.begin());
}

// cycle gives its values in turn, and changed says whether they are others than in the turn before.
inline value call_of_loop(limits& run, loop_state& loop, const std::string& name, const arguments& given) {
  if (!given.named.empty()) run.refuse("loop." + name, "the argument " + given.named[0].first, "values only");
  if (name == "cycle") {
    if (given.positional.empty()) run.refuse("loop.cycle", "no values", "values", error_kind::argument);
    return given.positional[loop.at % given.positional.size()];
  }
  const auto same = [&](const value& a, const value& b) { return equal(run, a, b); };
  const bool changed =
      !std::equal(loop.last.begin(), loop.last.end(), given.positional.begin(), given.positional.end(), same);
  loop.last = given.positional;
  return changed;
}

}  // namespace detail

/// Calls a method that `attribute` gave.
inline value call_method(limits& run, const callable& c, const arguments& given) {
  if (const std::string* s = c.self.text()) {
    if (c.self.safe && detail::is_any(c.name, {"format", "join", "partition", "replace", "rpartition", "rsplit",
                                               "split", "splitlines"}))
      run.refuse(c.name, "a text that is safe", "another text; | string ~ \"\" makes it of this one");
    value result = detail::call_of_text(run, *s, c.name, given);
    return result.text() ? as_safe(std::move(result), c.self.safe) : result;
  }
  if (c.self.dict()) return detail::call_of_dict(run, c.self, c.name, given);
  if (c.self.list()) return detail::call_of_list(run, c.self, c.name, given);
  return detail::call_of_loop(run, *std::get<std::shared_ptr<loop_state>>(c.self.is), c.name, given);
}

}  // namespace tokamax::text::jinja
