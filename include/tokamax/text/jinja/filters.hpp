// tokamax/text/jinja/filters.hpp: what stands behind |: filters of single values, and of lists by others.
// SPDX-License-Identifier: Apache-2.0
// needs <utf8proc.h>
// umbrella: in the map only (the library of `tokamax::text` compiles it)
// tested by tests/text/chat_template.cpp
#pragma once

#include <tokamax/text/jinja/value_tests.hpp>  // apply_test

namespace tokamax::text::jinja {

value apply_filter(limits& run, const std::string& name, const value& v, const arguments& given);

namespace detail {

// A field by its name, or a path with dots, whose numbers are indices; what is not there is `otherwise`, if that is given.
inline value by_path(limits& run, const value& of, const value& path, const value* otherwise = nullptr) {
  if (!path.text()) return item(run, of, path);
  const std::string dot = ".";
  value result = of;
  for (const value& part : split(run, *path.text(), &dot, -1, false)) {
    const std::string& name = *part.text();
    const bool digits = !name.empty() && name.size() < 10 && name.find_first_not_of("0123456789") == std::string::npos;
    result = item(run, result, digits ? value(std::int64_t{std::stoi(name)}) : part);
    if (otherwise && result.is_undefined()) result = *otherwise;
  }
  return result;
}
inline value sort_key(limits& run, const value& v, const bound_arguments& a, std::size_t attribute, bool keeps_case) {
  const value key = a.has(attribute) && !a[attribute].is_none() ? by_path(run, v, a[attribute]) : v;
  if (keeps_case || !key.text()) return key;
  return run.text(in_case(run, *key.text(), letter_case::lower));
}
inline void sort_by(limits& run, std::vector<std::pair<value, value>>& keyed, bool reverse) {
  const auto before = [&](const auto& x, const auto& y) {
    run.spend(1);
    return reverse ? less(run, y.first, x.first) : less(run, x.first, y.first);
  };
  std::stable_sort(keyed.begin(), keyed.end(), before);
}
inline value second_of(limits& run, std::vector<std::pair<value, value>> keyed) {
  std::vector<value> result;
  for (auto& [key, v] : keyed) result.push_back(std::move(v));
  return run.list(std::move(result));
}

// select, reject, selectattr, rejectattr and map take the name of a test or filter, and arguments for it.
inline value selected(limits& run, const std::string& name, const value& v, arguments given) {
  const bool by_field = name.ends_with("attr"), keep = name.starts_with("select");
  value field;
  const auto take_first = [&](const char* expected) {
    if (given.positional.empty()) run.refuse(name, "no argument", expected);
    value first = std::move(given.positional.front());
    given.positional.erase(given.positional.begin());
    return first;
  };
  if (by_field) field = take_first("the name of a field");
  std::string test;
  if (!given.positional.empty()) {
    const value n = take_first("a test");
    if (!n.text()) refuse_type(run, name, n, "the name of a test");
    test = *n.text();
  }
  std::vector<value> result;
  for (const value& one : truth(v) ? items_of(run, v) : std::vector<value>()) {
    const value asked = by_field ? by_path(run, one, field) : one;
    if ((test.empty() ? truth(asked) : apply_test(run, test, asked, given)) == keep) result.push_back(one);
  }
  return run.list(std::move(result), sequence::kind::generator);
}
inline value mapped(limits& run, const value& v, arguments given) {
  std::vector<value> result;
  const std::vector<value> items = truth(v) ? items_of(run, v) : std::vector<value>();
  if (given.positional.empty()) {
    const bound_arguments a(run, "map", given, {"attribute", "default"});
    const value* otherwise = a.has(1) && !a[1].is_none() ? &a[1] : nullptr;
    for (const value& one : items) result.push_back(by_path(run, one, a[0], otherwise));
  } else {
    const value filter = given.positional.front();
    if (!filter.text()) refuse_type(run, "map", filter, "the name of a filter");
    given.positional.erase(given.positional.begin());
    for (const value& one : items) result.push_back(apply_filter(run, *filter.text(), one, given));
  }
  return run.list(std::move(result), sequence::kind::generator);
}

inline value first_of(limits& run, const value& v) {
  if (const sequence* s = v.list(); s && s->is == sequence::kind::generator)
    return s->taken < s->items.size() ? s->items[s->taken++] : missing(v, "first item");
  const std::vector<value> items = items_of(run, v);
  return items.empty() ? missing(v, "first item") : items.front();
}
inline value last_of(limits& run, const value& v) {
  if (v.list() && v.list()->is == sequence::kind::generator) refuse_type(run, "last", v, "a list or a text");
  require_defined(run, v);
  const std::vector<value> items = items_of(run, v);
  return items.empty() ? missing(v, "last item") : items.back();
}
inline value unique(limits& run, const value& v, const bound_arguments& a) {
  std::vector<value> result, keys;
  for (const value& one : items_of(run, v)) {
    value key = sort_key(run, one, a, 1, a.flag(0, false));
    if (std::any_of(keys.begin(), keys.end(), [&](const value& k) { return equal(run, k, key); })) continue;
    keys.push_back(std::move(key));
    result.push_back(one);
  }
  return run.list(std::move(result), sequence::kind::generator);
}
inline value sorted(limits& run, const value& v, const bound_arguments& a) {
  std::vector<std::pair<value, value>> keyed;
  for (const value& one : items_of(run, v)) keyed.emplace_back(sort_key(run, one, a, 2, a.flag(1, false)), one);
  sort_by(run, keyed, a.flag(0, false));
  return second_of(run, std::move(keyed));
}
inline value sorted_dict(limits& run, const value& v, const bound_arguments& a) {
  if (!v.dict()) refuse_type(run, "dictsort", v, "a dict");
  const std::string by = a.has(1) ? a.text(1) : "key";
  if (by != "key" && by != "value") run.refuse("dictsort", by, "key or value", error_kind::argument);
  std::vector<std::pair<value, value>> keyed;
  const bound_arguments none_(run, "dictsort", {}, {"attribute"});
  for (const auto& [key, item] : v.dict()->items)
    keyed.emplace_back(sort_key(run, by == "key" ? key : item, none_, 0, a.flag(0, false)),
                       run.list({key, item}, sequence::kind::tuple));
  sort_by(run, keyed, a.flag(2, false));
  return second_of(run, std::move(keyed));
}
inline value extreme(limits& run, const value& v, const bound_arguments& a, bool greatest) {
  const std::vector<value> items = items_of(run, v);
  if (items.empty()) return missing(v, "item");
  const value* best = &items[0];
  value best_key = sort_key(run, items[0], a, 1, a.flag(0, false));
  for (const value& one : items) {
    value key = sort_key(run, one, a, 1, a.flag(0, false));
    if (greatest ? less(run, best_key, key) : less(run, key, best_key)) best = &one, best_key = std::move(key);
  }
  return *best;
}
inline value summed(limits& run, const value& v, const bound_arguments& a) {
  value sum = a.get(1, std::int64_t{0});
  for (const value& one : items_of(run, v))
    sum = arithmetic(run, "+", sum, a.has(0) && !a[0].is_none() ? by_path(run, one, a[0]) : one);
  return sum;
}
inline value reversed(limits& run, const value& v) {
  std::vector<value> items = items_of(run, v);
  std::reverse(items.begin(), items.end());
  if (v.text()) return joined(run, items, "");
  return run.list(std::move(items), sequence::kind::generator);
}
// Lists of `count` items, or `count` lists of as many items each as possible.
inline value grouped(limits& run, const value& v, const bound_arguments& a, bool batches) {
  const std::vector<value> items = items_of(run, v);
  const std::int64_t count = a.integer(0, 0);
  if (count <= 0) run.refuse("a filter", std::to_string(count) + " items", "a positive number", error_kind::argument);
  const auto n = static_cast<std::size_t>(count);
  if (!batches) run.spend(n);
  std::vector<value> result;
  for (std::size_t i = 0, at = 0; batches ? at < items.size() : i < n; ++i) {
    const std::size_t rest = items.size() % n;
    const std::size_t take = batches ? std::min(n, items.size() - at) : items.size() / n + (i < rest);
    std::vector<value> group(items.begin() + static_cast<std::ptrdiff_t>(at),
                             items.begin() + static_cast<std::ptrdiff_t>(at + take));
    at += take;
    if (a.has(1) && !a[1].is_none()) {
      if (batches) run.spend(n - take);
      if (batches) group.resize(n, a[1]);
      if (!batches && rest > 0 && i >= rest) group.push_back(a[1]);
    }
    result.push_back(run.list(std::move(group)));
  }
  return run.list(std::move(result), sequence::kind::generator);
}

inline value json_of(limits& run, const value& v, const bound_arguments& a) {
  json_style style;
  style.ascii = a.flag(0, false);
  if (a.has(1) && !a[1].is_none()) {
    style.indent = a[1].text() ? *a[1].text() : std::string();
    if (!a[1].text()) style.indent = *repeated(run, " ", a.integer(1, 0)).text();
    style.comma = ",";
  }
  if (a.has(2) && !a[2].is_none()) {
    const sequence* two = a[2].places();
    if (!two || two->items.size() != 2 || !two->items[0].text() || !two->items[1].text())
      refuse_type(run, "tojson", a[2], "two texts as separators");
    style.comma = *two->items[0].text(), style.colon = *two->items[1].text();
  }
  style.sorted = a.flag(3, false);
  return run.text(to_json(run, v, style));
}
inline value indented(limits& run, const std::string& s, const bound_arguments& a) {
  const std::string by = a.has(0) && a[0].text() ? *a[0].text() : *repeated(run, " ", a.integer(0, 4)).text();
  const bool blank = a.flag(2, false);
  const std::string with_end = s + "\n";
  std::string result = a.flag(1, false) ? by : "";
  const std::vector<std::string_view> lines = lines_of(with_end);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) result += "\n";
    if (i > 0 && (blank || !lines[i].empty())) result += by;
    result += lines[i];
    if (result.size() > limits::most_bytes) run.spend_bytes(result.size());
  }
  return run.text(std::move(result));
}
// The filter `title` knows other words than the method.
inline value titled(limits& run, const std::string& s) {
  std::string result;
  bool inside = false;
  run.spend(s.size() / 4);
  for_each_code(s, [&](char32_t c, std::size_t) {
    const bool between = is_space(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
    append_case(result, c, inside ? letter_case::lower : letter_case::upper);
    inside = !between;
  });
  return run.text(std::move(result));
}
// A number that a text begins and ends with, but for spaces; nothing if it is none.
template <class T>
std::optional<T> parsed(const std::string& s, int base = 10) {
  std::string digits(stripped(s, nullptr));
  for (std::size_t i = 1; i + 1 < digits.size(); ++i)  // 1_000
    if (digits[i] == '_' && std::isalnum(static_cast<unsigned char>(digits[i - 1])) &&
        std::isalnum(static_cast<unsigned char>(digits[i + 1])))
      digits.erase(i, 1);
  std::string_view rest = digits;
  if (rest.starts_with('+') && !rest.starts_with("+-")) rest.remove_prefix(1);
  T result{};
  std::from_chars_result r{};
  if constexpr (std::is_integral_v<T>)
    r = std::from_chars(rest.data(), rest.data() + rest.size(), result, base);
  else
    r = std::from_chars(rest.data(), rest.data() + rest.size(), result);
  if (r.ec != std::errc{} || r.ptr != rest.data() + rest.size()) return std::nullopt;
  return result;
}
inline value as_int(limits& run, const value& v, const bound_arguments& a) {
  const value otherwise = a.get(0, std::int64_t{0});
  require_defined(run, v);
  if (const auto i = as_integer(v)) return *i;
  std::optional<double> d;
  if (v.real()) d = *v.real();
  if (const std::string* s = v.text()) {
    if (const auto i = parsed<std::int64_t>(*s, static_cast<int>(std::clamp<std::int64_t>(a.integer(1, 10), 2, 36))))
      return *i;
    d = parsed<double>(*s);
  }
  if (!d || !std::isfinite(*d)) return otherwise;
  if (std::fabs(*d) >= 9.2e18) run.refuse("int", text_of_real(*d), "integers of 64 bits", error_kind::resource);
  return static_cast<std::int64_t>(*d);
}
inline value as_float(limits& run, const value& v, const bound_arguments& a) {
  require_defined(run, v);
  if (const auto d = as_real(v)) return *d;
  if (const std::string* s = v.text())
    if (const auto d = parsed<double>(*s)) return *d;
  return a.get(0, 0.0);
}
inline value rounded(limits& run, const value& v, const bound_arguments& a) {
  const auto x = as_real(v);
  if (!x) refuse_type(run, "round", v, "a number");
  const std::string how = a.has(1) ? a.text(1) : "common";
  const std::int64_t digits = a.integer(0, 0);
  if ((how != "common" && how != "ceil" && how != "floor") || digits < 0 || digits > 15)
    run.refuse("round", how + " to " + std::to_string(digits) + " digits", "common, ceil or floor, to 0 to 15 digits");
  if (how != "common") {
    const double scale = std::pow(10.0, static_cast<double>(digits));
    return (how == "ceil" ? std::ceil(*x * scale) : std::floor(*x * scale)) / scale;
  }
  if (v.integer()) return *v.integer();
  std::array<char, 400> text{};  // the decimal digits of a double are exact, so that ties are ties
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), *x, std::chars_format::fixed, static_cast<int>(digits)).ptr;
  double result = 0;
  std::from_chars(text.data(), end, result);
  return result;
}

}  // namespace detail

/// A filter: its parameters, and what it makes of a value. Texts are what `to_text` gives.
struct named_filter {
  std::string_view name;
  std::vector<std::string_view> parameters;
  std::function<value(limits&, const value&, const bound_arguments&)> apply;
};

namespace detail {

inline std::vector<named_filter> make_filters() {
  using b = const bound_arguments&;
  using function = std::function<value(limits&, const value&, b)>;
  const auto of_text = [](auto f) -> function {
    return [f](limits& run, const value& v, b a) { return f(run, to_text(run, v), a); };
  };
  const auto keeps_safe = [](function f) -> function {
    return [f](limits& run, const value& v, b a) { return as_safe(f(run, v, a), v.safe); };
  };
  const auto plain = [](auto f) -> function { return [f](limits& run, const value& v, b) { return f(run, v); }; };
  const auto cased = [=](letter_case as, bool once) {
    return of_text([=](limits& run, const std::string& s, b) { return run.text(in_case(run, s, as, once)); });
  };
  const function defaulted = [](limits&, const value& v, b a) {
    return v.is_undefined() || (a.flag(1, false) && !truth(v)) ? a.get(0, "") : v;
  };
  const function as_text = plain([](limits& run, const value& v) { return run.text(to_text(run, v)); });
  const function size =
      plain([](limits& run, const value& v) { return value(static_cast<std::int64_t>(length(run, v))); });
  const function escape = [](limits& run, const value& v, b) {
    return as_safe(run.text(escaped(v.text() ? v : value(to_text(run, v)))));
  };
  const auto extreme_of = [](bool greatest) -> function {
    return [=](limits& run, const value& v, b a) { return extreme(run, v, a, greatest); };
  };
  return {
      {"abs",
       {},
       [](limits& run, const value& v, b) {
         const auto x = as_real(v);
         if (!x) refuse_type(run, "abs", v, "a number");
         return *x < 0 ? arithmetic(run, "*", v, std::int64_t{-1}) : v.flag() ? value(*as_integer(v)) : v;
       }},
      {"attr",
       {"name"},
       [](limits& run, const value& v, b a) {
         return v.dict() ? method(run, v, a.text(0)).value_or(missing(v, a.text(0))) : attribute(run, v, a.text(0));
       }},
      {"batch", {"linecount", "fill_with"}, [](limits& run, const value& v, b a) { return grouped(run, v, a, true); }},
      {"capitalize", {}, keeps_safe(cased(letter_case::title, true))},
      {"center", {"width"}, of_text([](limits& run, const std::string& s, b a) {
         return padded(run, s, a.integer(0, 80), " ", 0.5);
       })},
      {"count", {}, size},
      {"d", {"default_value", "boolean"}, defaulted},
      {"default", {"default_value", "boolean"}, defaulted},
      {"dictsort", {"case_sensitive", "by", "reverse"}, sorted_dict},
      {"e", {}, escape},
      {"escape", {}, escape},
      {"first", {}, plain(first_of)},
      {"float", {"default"}, as_float},
      {"indent", {"width", "first", "blank"}, of_text(indented)},
      {"int", {"default", "base"}, as_int},
      {"items",
       {},
       [](limits& run, const value& v, b) {
         if (v.is_undefined()) return run.list({}, sequence::kind::generator);
         if (!v.dict()) refuse_type(run, "items", v, "a dict");
         return run.list(items_of(run, call_of_dict(run, v, "items", {})), sequence::kind::generator);
       }},
      {"join",
       {"d", "attribute"},
       [](limits& run, const value& v, b a) {
         std::vector<value> items = items_of(run, v);
         if (a.has(1) && !a[1].is_none())
           for (value& one : items) one = by_path(run, one, a[1]);
         return joined(run, items, a.has(0) ? to_text(run, a[0]) : "");
       }},
      {"last", {}, plain(last_of)},
      {"length", {}, size},
      {"list", {}, plain([](limits& run, const value& v) { return run.list(items_of(run, v)); })},
      {"lower", {}, keeps_safe(cased(letter_case::lower, false))},
      {"max", {"case_sensitive", "attribute"}, extreme_of(true)},
      {"min", {"case_sensitive", "attribute"}, extreme_of(false)},
      {"replace", {"old", "new", "count"}, of_text([](limits& run, const std::string& s, b a) {
         return run.text(replaced(run, s, to_text(run, a[0]), to_text(run, a[1]), a.integer(2, -1)));
       })},
      {"reverse", {}, plain(reversed)},
      {"round", {"precision", "method"}, rounded},
      {"safe", {}, plain([](limits& run, const value& v) { return as_safe(run.text(to_text(run, v))); })},
      {"slice", {"slices", "fill_with"}, [](limits& run, const value& v, b a) { return grouped(run, v, a, false); }},
      {"sort", {"reverse", "case_sensitive", "attribute"}, sorted},
      {"string", {}, keeps_safe(as_text)},
      {"sum", {"attribute", "start"}, summed},
      {"title", {}, of_text([](limits& run, const std::string& s, b) { return titled(run, s); })},
      {"tojson", {"ensure_ascii", "indent", "separators", "sort_keys"}, json_of},
      {"trim", {"chars"}, keeps_safe(of_text([](limits& run, const std::string& s, b a) {
         return run.text(std::string(stripped(s, a.text_or_none(0))));
       }))},
      {"unique", {"case_sensitive", "attribute"}, unique},
      {"upper", {}, keeps_safe(cased(letter_case::upper, false))},
  };
}
inline const named_filter* find_filter(std::string_view name) {
  static const std::vector<named_filter> all = make_filters();
  const auto at = std::find_if(all.begin(), all.end(), [&](const named_filter& f) { return f.name == name; });
  return at == all.end() ? nullptr : &*at;
}
inline bool filters_by_name(const std::string& name) {
  return is_any(name, {"map", "select", "reject", "selectattr", "rejectattr"});
}

}  // namespace detail

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
